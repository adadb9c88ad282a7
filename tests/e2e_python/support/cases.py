"""The conformance cases as data, read strictly: an unknown key is a fault. The shape is tests/conformance/README.md."""

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "conformance"
DEFAULTS = {"api_key": "ffk_test_0123456789abcdef", "public_url": "https://api.example.com", "strict": True}


@dataclass
class Message:
    """A request or a response; headers and body are values, turned into bytes when the placeholders are known."""

    head: dict
    _headers: list
    _body: object

    def headers(self, fill):
        return [(name.encode(), value(inner, fill)) for name, inner in self._headers]

    def body(self, fill):
        return value(self._body, fill)


@dataclass
class Case:
    file: str
    id: str
    title: str
    options: dict
    before: list
    request: Message
    response: Message
    expect: dict
    has_own_id: bool

    def __str__(self):
        return f"{self.file}#{self.id}"


@dataclass
class Fill:
    """What the placeholders stand for."""

    own_id: str | None = None
    id: str | None = None
    extra: dict = field(default_factory=dict)


def files():
    others = ("texts.json", "ids.json", "requests.json")
    return sorted(path.name for path in FOLDER.glob("*.json") if path.name not in others)


def load_all():
    return [read(name, case) for name in files() for case in load(name)]


def load(name):
    return json.loads((FOLDER / name).read_text("utf-8"))


def read(file, case):
    keys = {"id", "title", "why", "fixture", "options", "before", "request", "response", "oracle", "expect"}
    only(case, keys, case.get("id"))
    only(case["expect"], {"edits", "body", "id", "want_body", "first_edits", "verdict"}, case["id"])
    assert case["why"] and case.get("oracle", "no") == "no" and case["expect"].get("verdict", "nothing") == "nothing"
    return Case(
        file=file,
        id=case["id"],
        title=case["title"],
        options=options_of(case),
        before=before_of(case),
        request=request(case["request"]),
        response=response(case["response"]),
        expect=case["expect"],
        has_own_id="{{own_id}}" in json.dumps(case),
    )


def options_of(case):
    return {name: inner for name, inner in {**DEFAULTS, **case.get("options", {})}.items() if inner is not None}


def before_of(case):
    before = []
    for pair in case.get("before", ()):
        only(pair, {"request", "response"}, case["id"])
        before.append((request(pair["request"]), response(pair["response"])))
    return before


def request(given):
    only(given, {"method", "target", "headers", "body"}, given)
    return Message({"method": given["method"], "target": given["target"]}, given["headers"], given.get("body", ""))


def response(given):
    only(given, {"status", "headers", "body"}, given)
    return Message({"status": given["status"]}, given["headers"], given.get("body", ""))


def only(given, keys, where):
    assert set(given) <= keys, f"{where}: unknown keys {set(given) - keys}"


def edits(listed, fill):
    made = []
    for edit in listed:
        assert (edit[0], len(edit)) in (("set", 3), ("add", 3), ("remove", 2)), edit
        made.append((edit[0], edit[1], value(edit[2], fill) if len(edit) == 3 else b""))
    return made


def value(given, fill):
    """The bytes of a value; placeholders are replaced before base64 is made."""
    if isinstance(given, str):
        for name, text in (("{{own_id}}", fill.own_id), ("{{id}}", fill.id)):
            given = given.replace(name, text or "(no id)")
        return given.encode("utf-8", "surrogatepass")
    if isinstance(given, list):
        return b"".join(value(part, fill) for part in given)
    keys = sorted(given)
    if keys == ["repeat"]:
        unit, times = given["repeat"]
        return value(unit, fill) * times
    if keys == ["base64_of"]:
        return base64.b64encode(value(given["base64_of"], fill))
    if keys == ["hex"]:
        return bytes.fromhex(given["hex"])
    assert keys in (["text"], ["rate", "text"]), f"not a value: {given}"
    text = TEXTS[given["text"]]
    if "rate" in given:
        text = json.loads(json.dumps(text).replace("{{rate}}", given["rate"]))
    return value(text, fill)


TEXTS = load("texts.json")


def applied(head, listed):
    """Step 5 of the README: the lines that keep their place, and those at the end, in any order."""
    lines = [(True, line) for line in head]
    for op, name, new in listed:
        lower = name.lower().encode()
        at = next((at for at, (_, line) in enumerate(lines) if line[0].lower() == lower), None)
        if op == "remove":
            lines = [entry for entry in lines if entry[1][0].lower() != lower]
        elif op == "set" and at is not None:
            lines[at] = (lines[at][0], (lines[at][1][0], new))
            lines = lines[: at + 1] + [entry for entry in lines[at + 1 :] if entry[1][0].lower() != lower]
        else:
            lines.append((False, (name.encode(), new)))
    return [line for old, line in lines if old], sorted(line for old, line in lines if not old)
