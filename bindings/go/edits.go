//go:build cgo

package forgex402

import (
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
)

// edit is one header change of a verdict.
type edit struct {
	op    uint32
	name  headerName
	value string
	// What the header being changed has under that name: a key, and whether there are more.
	key     string
	several bool
}

// applyEdits changes a header map as the verdict says. Names compare without case; the spelling in use stays.
func applyEdits(header http.Header, x *exchange) {
	var room [fewEdits]edit
	edits := x.edits(room[:0])
	// One look at all keys serves every edit.
	for key := range header {
		for i := range edits {
			if e := &edits[i]; isNamed(key, e.name.given) {
				e.several = e.key != ""
				if e.key == "" || key == e.name.canonical {
					e.key = key
				}
			}
		}
	}
	values := make([]string, len(edits))
	for i := range edits {
		e := &edits[i]
		if e.several && e.op != editAdd {
			removeAll(header, e.name.given)
		}
		key := e.key
		if key == "" {
			key = e.name.canonical
		}
		switch e.op {
		case editSet:
			values[i] = e.value
			header[key] = values[i : i+1 : i+1]
		case editAdd:
			header[key] = append(header[key], e.value)
		case editRemove:
			delete(header, key)
		}
	}
}

// fewEdits is what nearly every verdict has at most; beyond it they take memory of their own.
const fewEdits = 8

func removeAll(header http.Header, name string) {
	for key := range header {
		if isNamed(key, name) {
			delete(header, key)
		}
	}
}

func isNamed(key, name string) bool { return len(key) == len(name) && strings.EqualFold(key, name) }

// headerName is a name as the engine spells it and as net/http does.
type headerName struct{ given, canonical string }

// headerNames are those that were met before. The engine edits a dozen, so they are copied and spelled once.
var headerNames atomic.Pointer[map[string]headerName]

// mostNames is more than the engine has; beyond it nothing is remembered.
const mostNames = 64

func headerNameOf(bytes []byte) headerName {
	known := headerNames.Load()
	if known != nil {
		if name, is := (*known)[string(bytes)]; is {
			return name
		}
	}
	name := headerName{given: string(bytes)}
	name.canonical = http.CanonicalHeaderKey(name.given)
	more := map[string]headerName{}
	if known != nil {
		if len(*known) >= mostNames {
			return name
		}
		maps.Copy(more, *known)
	}
	more[name.given] = name
	headerNames.CompareAndSwap(known, &more)
	return name
}
