//go:build cgo

package forgex402

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A conformance case as data, read strictly: an unknown key is a fault. tests/conformance/README.md is the contract.

const conformance = "../../tests/conformance"

type testCase struct {
	ID      string                      `json:"id"`
	Title   string                      `json:"title"`
	Why     string                      `json:"why"`
	Fixture string                      `json:"fixture"`
	Oracle  string                      `json:"oracle"`
	Options map[string]*json.RawMessage `json:"options"`
	Before  []testExchange              `json:"before"`
	Request testRequest                 `json:"request"`
	Answer  testResponse                `json:"response"`
	Expect  testExpect                  `json:"expect"`
	file    string
	hasOwn  bool
}

type testExchange struct {
	Request testRequest  `json:"request"`
	Answer  testResponse `json:"response"`
}

type testRequest struct {
	Method  string  `json:"method"`
	Target  string  `json:"target"`
	Headers [][]any `json:"headers"`
	Body    any     `json:"body"`
}

type testResponse struct {
	Status  int     `json:"status"`
	Headers [][]any `json:"headers"`
	Body    any     `json:"body"`
}

type testExpect struct {
	Edits      [][]any  `json:"edits"`
	Body       any      `json:"body"`
	ID         string   `json:"id"`
	WantBody   *bool    `json:"want_body"`
	FirstEdits *[][]any `json:"first_edits"`
	Verdict    string   `json:"verdict"`
}

type line struct{ name, value string }

// fill is what the placeholders stand for, known only while a case runs.
type fill struct{ ownID, id string }

func loadCases(t testing.TB) []testCase {
	files, err := filepath.Glob(filepath.Join(conformance, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	var all []testCase
	for _, file := range files {
		name := filepath.Base(file)
		if name == "texts.json" || name == "ids.json" || name == "requests.json" {
			continue
		}
		var raw []json.RawMessage
		strictly(t, readFile(t, name), &raw)
		for _, one := range raw {
			read := testCase{file: name, hasOwn: bytes.Contains(one, []byte("{{own_id}}"))}
			strictly(t, one, &read)
			if read.Oracle != "" && read.Oracle != "no" || read.Expect.Verdict != "" && read.Expect.Verdict != "nothing" || read.Why == "" {
				t.Fatalf("%s %s: not a case", name, read.ID)
			}
			all = append(all, read)
		}
	}
	if len(all) < 450 {
		t.Fatalf("only %d cases", len(all))
	}
	return all
}

func readFile(t testing.TB, name string) []byte {
	text, err := os.ReadFile(filepath.Join(conformance, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func strictly(t testing.TB, text []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
}

// options are the case's, over the defaults; null takes a default away.
func (c *testCase) options() []byte { return optionsOver(c.Options) }

func optionsOver(given map[string]*json.RawMessage) []byte {
	all := map[string]json.RawMessage{
		"api_key":    json.RawMessage(`"ffk_test_0123456789abcdef"`),
		"public_url": json.RawMessage(`"https://api.example.com"`),
		"strict":     json.RawMessage(`true`),
	}
	for name, value := range given {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = *value
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return text
}

var texts map[string]any

func (f fill) bytes(value any) []byte {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return []byte(strings.NewReplacer("{{own_id}}", f.ownID, "{{id}}", f.id).Replace(v))
	case []any:
		var all []byte
		for _, part := range v {
			all = append(all, f.bytes(part)...)
		}
		return all
	case map[string]any:
		return f.form(v)
	}
	panic(fmt.Sprintf("not a value: %v", value))
}

func (f fill) form(form map[string]any) []byte {
	allowed := 1
	defer func() {
		if len(form) != allowed {
			panic(fmt.Sprintf("not a value: %v", form))
		}
	}()
	if unit, is := form["repeat"].([]any); is {
		times, err := unit[1].(json.Number).Int64()
		if err != nil || len(unit) != 2 {
			panic(fmt.Sprintf("not a value: %v", form))
		}
		return bytes.Repeat(f.bytes(unit[0]), int(times))
	}
	if inner, is := form["base64_of"]; is {
		return []byte(base64.StdEncoding.EncodeToString(f.bytes(inner)))
	}
	if digits, is := form["hex"].(string); is {
		out, err := hex.DecodeString(digits)
		if err != nil {
			panic(err)
		}
		return out
	}
	name, is := form["text"].(string)
	text, known := texts[name]
	if !is || !known {
		panic(fmt.Sprintf("not a value: %v", form))
	}
	if rate, has := form["rate"].(string); has {
		allowed = 2
		text = withRate(text, rate)
	}
	return f.bytes(text)
}

func withRate(value any, rate string) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, "{{rate}}", rate)
	case []any:
		out := make([]any, len(v))
		for i, part := range v {
			out[i] = withRate(part, rate)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, part := range v {
			out[key] = withRate(part, rate)
		}
		return out
	}
	return value
}

func (f fill) lines(headers [][]any) []line {
	out := make([]line, 0, len(headers))
	for _, header := range headers {
		if len(header) != 2 {
			panic(fmt.Sprintf("not a header line: %v", header))
		}
		out = append(out, line{header[0].(string), string(f.bytes(header[1]))})
	}
	return out
}

// outcome is a final head in two parts, because the order of appended lines is no part of the contract.
type outcome struct {
	kept     []line
	appended map[line]int
}

func asCame(lines []line) outcome {
	return outcome{kept: append([]line(nil), lines...), appended: map[line]int{}}
}

func (o *outcome) apply(x *exchange) {
	for _, e := range x.edits(nil) {
		o.edit(e.op, e.name.given, e.value)
	}
}

func (o *outcome) edit(op uint32, name, value string) {
	named := func(l line) bool { return strings.EqualFold(l.name, name) }
	switch op {
	case editAdd:
		o.appended[line{name, value}]++
		return
	case editSet:
		for i := range o.kept {
			if named(o.kept[i]) {
				o.kept[i].value = value
				rest := asCame(o.kept[i+1:])
				rest.edit(editRemove, name, "")
				o.kept = append(o.kept[:i+1], rest.kept...)
				return
			}
		}
		o.edit(editRemove, name, "")
		o.appended[line{name, value}]++
	case editRemove:
		kept := []line{}
		for _, l := range o.kept {
			if !named(l) {
				kept = append(kept, l)
			}
		}
		o.kept = kept
		for l := range o.appended {
			if named(l) {
				delete(o.appended, l)
			}
		}
	default:
		panic(fmt.Sprintf("op %d", op))
	}
}

func (o outcome) String() string {
	return fmt.Sprintf("%q + %q", o.kept, o.appended)
}

// expected is what the expected edits make of a head.
func (f fill) expected(lines []line, edits [][]any) outcome {
	o := asCame(lines)
	for _, edit := range edits {
		ops := map[string]uint32{"set": editSet, "add": editAdd, "remove": editRemove}
		op, known := ops[edit[0].(string)]
		if !known || (op == editRemove) != (len(edit) == 2) {
			panic(fmt.Sprintf("not an edit: %v", edit))
		}
		value := ""
		if op != editRemove {
			value = string(f.bytes(edit[2]))
		}
		o.edit(op, edit[1].(string), value)
	}
	return o
}
