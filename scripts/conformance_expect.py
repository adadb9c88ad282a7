#!/usr/bin/env python3
"""The oracle of tests/conformance: what the protocol text says must come out, in Python, apart from the engine.

It reads the inputs of every case and works out the final head and body with its own JSON scanner and plain
string insertion. It shares no code, no data and no order of steps with the engine, so that the two can
disagree. When they do, the protocol text decides, and the one that is wrong is repaired.

  conformance_expect.py --check   every recorded expectation agrees with the oracle (exit 1 if not)
  conformance_expect.py --write   fills in `expect` where a case has none

Not known here on purpose: rating routes, agent context, OpenAPI, diagnostics, the open402 dialect. A case that
uses what the oracle does not know says `"oracle": "no"` and its expectation is written by hand.
"""

import base64
import json
import re
import sys
from pathlib import Path

from conformance_oracle.challenge import challenge
from conformance_oracle.head import MARK, apply, decode, decode_marked, lines
from conformance_oracle.messages import payment_of, rate_url
from conformance_oracle.paid import paid
from conformance_oracle.values import ID, OWN_ID, TEXTS, evaluate, filled, head_of

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "conformance"
DEFAULTS = {"api_key": "ffk_test_0123456789abcdef", "public_url": "https://api.example.com", "strict": True}


def outcome(case):
    memory = {"receipted": set(), "challenged": set()}
    for earlier in case.get("before", []):
        one({**case, **earlier}, memory)
    return one(case, memory)


def one(case, memory):
    options = {**DEFAULTS, **case.get("options", {})}
    options = {key: value for key, value in options.items() if value is not None}
    request = {**case["request"], "headers": head_of(case["request"].get("headers", []))}
    head, body = head_of(case["response"]["headers"]), evaluate(case["response"].get("body", ""))
    status, none = case["response"]["status"], ([], None, None)
    if not options.get("feedback", True) or lines(head, "forge-feedback-id"):
        return none
    if status == 402:
        edits, new_body, rate = challenge(options, head, body)
        if rate:
            memory["challenged"].add(rate)
        return edits, new_body, None
    if 200 <= status < 300 and payment_of(request):
        edits, new_body, _, feedback_id = paid(case, memory, options, request, head, body)
        return edits, new_body, feedback_id
    return none


def shown(raw, rates):
    """`raw` as a value a person can read: known texts by name, base64 by what it holds."""
    if raw.startswith(MARK):
        return {"base64_of": shown(raw.removeprefix(MARK), rates)}
    inner = decode(raw) if len(raw) > 60 else None
    if inner is not None:
        return {"base64_of": shown(inner, rates)}
    try:
        parts = [raw.decode("utf-8")]
    except UnicodeDecodeError:
        return {"hex": raw.hex()}
    for name, value in TEXTS.items():
        for rate in rates if "{{rate}}" in json.dumps(value) else [""]:
            reference = {"text": name, "rate": rate} if rate else {"text": name}
            text = evaluate(reference).decode()
            split = []
            for part in parts:
                if not isinstance(part, str) or text not in part:
                    split.append(part)
                    continue
                pieces = part.split(text)
                for at, piece in enumerate(pieces):
                    split += ([reference] if at else []) + ([piece] if piece else [])
            parts = split
    parts = [run for part in parts for run in (runs(part) if isinstance(part, str) else [part])]
    return parts[0] if len(parts) == 1 else parts


def runs(text):
    """A long run of a few characters as a repeat."""
    out, position = [], 0
    for found in re.finditer(r"(.{1,5}?)\1{63,}", text, re.DOTALL):
        out += [text[position : found.start()]] if found.start() > position else []
        unit = found.group(1)
        out.append({"repeat": [unit, len(found.group(0)) // len(unit)]})
        position = found.end()
    return out + ([text[position:]] if position < len(text) or not out else [])


def expectation(case):
    edits, body, feedback_id = outcome(case)
    options = {**DEFAULTS, **case.get("options", {})}
    rates = sorted({match.decode() for match in re.findall(rb"GET ([^ ?]*/rate)\?", everything(edits, body))})
    rates += [rate for rate in [rate_url(options, None)] if rate not in rates]
    expect = {"edits": [[op, name, shown(value, rates)] if op != "remove" else [op, name] for op, name, value in edits]}
    if body is not None:
        expect["body"] = shown(body, rates)
    if feedback_id:
        expect["id"] = {ID: "new", OWN_ID: "own"}[feedback_id]
    return expect


def everything(edits, body):
    values = [value for _, _, value in edits]
    return b"\n".join([*values, *(decode(value) or b"" for value in values), body or b""])


def final(case, edits, body):
    head = head_of(case["response"]["headers"])
    resolved = [(op, name, resolve(value)) for op, name, value in edits]
    after = [(name, filled(value)) for name, value in apply(head, resolved)]
    return (
        after[: len(head)],
        sorted(after),
        filled(body if body is not None else evaluate(case["response"].get("body", ""))),
    )


def resolve(value):
    return base64.b64encode(filled(decode_marked(value))) if value.startswith(MARK) else filled(value)


def recorded(case):
    expect = case["expect"]
    edits = [(edit[0], edit[1], evaluate(edit[2]) if len(edit) > 2 else b"") for edit in expect["edits"]]
    return edits, evaluate(expect["body"]) if "body" in expect else None


def files():
    return [path for path in sorted(FOLDER.glob("*.json")) if path.name not in ("texts.json", "ids.json", "requests.json")]


def written(document):
    """JSON with one line per key of a case: long enough to read, short enough to review."""
    out = ["[\n"]
    for at, case in enumerate(document):
        rows = [f"    {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in case.items()]
        out.append("  {\n" + ",\n".join(rows) + "\n  }" + (",\n" if at + 1 < len(document) else "\n"))
    return "".join([*out, "]\n"])


def main():
    TEXTS.update(json.loads((FOLDER / "texts.json").read_text()))
    write, wrong, count = "--write" in sys.argv, 0, 0
    for path in files():
        document = json.loads(path.read_text())
        for case in document:
            count += 1
            if case.get("oracle") == "no":
                continue
            if write and "expect" not in case:
                case["expect"] = expectation(case)
            edits, body, _ = outcome(case)
            if "expect" not in case or final(case, edits, body) != final(case, *recorded(case)):
                wrong += 1
                print(f"{path.name} {case['id']}: recorded and oracle differ\n  {expectation(case)}", file=sys.stderr)
        if write:
            path.write_text(written(document))
    print(f"{count} cases, {wrong} differ from the oracle")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
