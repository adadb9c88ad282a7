// Paid bodies byte by byte: what a rewriting middleware must keep, and what it must leave alone.

export const BODIES = {
  // Spellings that a parser would change.
  spellings: json('{"a":1.10,"b":1e2,"c":123456789012345678901234567890,"d":-0,"e":18446744073709551616,"f":1e400,"g":1,"g":2,"h":"\\/\\u00e9\\u003c","i":"caf\u00e9 \u{1F324}","2":0,"1":0}'),
  pretty: json('{\n    "a": 1.10,\n    "b": [ 1, 2 ]\n}\n'),
  empty_object: json("{}"),
  spaced_empty_object: json("{ }"),
  lone_surrogate: json('{"a":"\\ud83d"}'),
  with_charset: { type: "application/json; charset=UTF-8", bytes: Buffer.from('{"a":1}') },

  // Not a UTF-8 JSON object, or not ours to edit.
  array: json("[1,2,3]"),
  string: json('"text"'),
  number: json("42"),
  null: json("null"),
  empty: json(""),
  nan: json('{"a":NaN}'),
  cut_off: json('{"a":1'),
  two_objects: json('{"a":1}{"b":2}'),
  invalid_utf8: { type: "application/json", bytes: Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]) },
  latin1: { type: "application/json; charset=iso-8859-1", bytes: Buffer.from('{"a":"\u00e9"}', "latin1") },
  utf16: { type: "application/json; charset=utf-16", bytes: Buffer.from('{"a":1}', "utf16le") },
  html_as_json: json("<!doctype html><p>{}</p>"),
  problem: { type: "application/problem+json", bytes: Buffer.from('{"title":"x"}') },
  vendor: { type: "application/vnd.api+json", bytes: Buffer.from('{"data":[]}') },
  ld: { type: "application/vc+ld+json", bytes: Buffer.from('{"@context":[]}') },
  stream_json: { type: "application/stream+json", bytes: Buffer.from('{"n":1}\n{"n":2}\n') },
  jsonp: { type: "text/javascript", bytes: Buffer.from('callback({"a":1});') },
  no_type: { type: undefined, bytes: Buffer.from('{"a":1}') },
  text: { type: "text/plain; charset=utf-8", bytes: Buffer.from("plain text") },
  multipart: { type: "multipart/mixed; boundary=x", bytes: Buffer.from('--x\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n--x--\r\n') },
  deep: json("[".repeat(100_000).replace(/^/, '{"a":') + "]".repeat(100_000) + "}"),
};

function json(text) {
  return { type: "application/json", bytes: Buffer.from(text, "utf8") };
}
