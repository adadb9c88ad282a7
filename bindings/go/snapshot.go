//go:build cgo

package forgex402

import (
	"encoding/binary"
	"maps"
	"net/http"
)

// snapshot is a response's header as it stood when the handler let it go, in the block that is shown to the engine anyway:
// what a handler changes afterwards must not reach the head, but may be a trailer.
type snapshot struct {
	*head
	// Keys without values: net/http leaves out what it would add by itself.
	empty []string
}

func snapshotOf(status int, route string, header http.Header) snapshot {
	s := snapshot{head: responseHead(status, bodyUnread, route, header)}
	for key, values := range header {
		if len(values) == 0 {
			s.empty = append(s.empty, key)
		}
	}
	return s
}

// isOf says whether header is still what it was.
func (s snapshot) isOf(header http.Header) bool {
	names, left := 0, 0
	var values []string
	same := s.each(func(name, value []byte) bool {
		if left == 0 {
			values = header[string(name)]
			names, left = names+1, len(values)
		}
		if left == 0 || string(value) != values[len(values)-left] {
			return false
		}
		left--
		return true
	})
	for _, key := range s.empty {
		values, is := header[key]
		same = same && is && len(values) == 0
	}
	return same && left == 0 && names+len(s.empty) == len(header)
}

// restore makes header what it was.
func (s snapshot) restore(header http.Header) {
	clear(header)
	s.each(func(name, value []byte) bool {
		header[string(name)] = append(header[string(name)], string(value))
		return true
	})
	for _, key := range s.empty {
		header[key] = nil
	}
}

// each calls visit with every line until it says no; whether it never did. The lines of a name stand together.
func (s snapshot) each(visit func(name, value []byte) bool) bool {
	block, at := s.block, sizesLen
	for field := 2; field < 8; field++ {
		at += int(binary.NativeEndian.Uint32(block[4*field:]))
	}
	for at < len(block) {
		name := at + 8
		value := name + int(binary.NativeEndian.Uint32(block[at:]))
		at = value + int(binary.NativeEndian.Uint32(block[at+4:]))
		if !visit(block[name:value], block[value:at]) {
			return false
		}
	}
	return true
}

func become(header, other http.Header) {
	clear(header)
	maps.Copy(header, other)
}
