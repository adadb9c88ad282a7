"""Values of a case as bytes, as README.md of tests/conformance defines them."""

import base64

ID = "{{id}}"
OWN_ID = "{{own_id}}"


TEXTS = {}


def filled(raw):
    return raw.replace(ID.encode(), b"0" * 22).replace(OWN_ID.encode(), b"0" * 22)


def evaluate(value):
    """Bytes of a value, as README.md of the conformance folder defines them."""
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, list):
        return b"".join(evaluate(part) for part in value)
    (kind,) = set(value) - {"rate"}
    inner = value[kind]
    if kind == "text":
        return evaluate(TEXTS[inner]).replace(b"{{rate}}", value.get("rate", "").encode())
    if kind == "repeat":
        return evaluate(inner[0]) * inner[1]
    if kind == "base64_of":
        return base64.b64encode(filled(evaluate(inner)))
    if kind == "hex":
        return bytes.fromhex(inner)
    raise ValueError(f"unknown value: {value}")


def head_of(pairs):
    return [(name.encode(), evaluate(value)) for name, value in pairs]
