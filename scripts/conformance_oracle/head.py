"""Header lines, sizes, base64 values, and what an edited body does to the head."""

import base64
import re

from .values import filled


def decode(value):
    """Strict base64 of either alphabet, padded or not; canonical last bits."""
    if not re.fullmatch(rb"[A-Za-z0-9+/]*={0,2}|[A-Za-z0-9_-]*={0,2}", value):
        return None
    bare = value.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    if len(bare) % 4 == 1 or (value.endswith(b"=") and len(value) % 4):
        return None
    raw = base64.b64decode(bare + b"=" * (-len(bare) % 4))
    return raw if base64.b64encode(raw).rstrip(b"=") == bare else None


def lines(head, name):
    return [value.strip(b" \t") for line, value in head if line.lower() == name.encode().lower()]


def size(head):
    return 32 + sum(len(name) + len(filled(value)) + 4 for name, value in head)


def apply(head, edits):
    out = list(head)
    for op, name, value in edits:
        places = [at for at, (line, _) in enumerate(out) if line.lower() == name.encode().lower()]
        if op == "set" and places:
            out[places[0]] = (out[places[0]][0], value)
            out = [line for at, line in enumerate(out) if at not in places[1:]]
        elif op == "remove":
            out = [line for at, line in enumerate(out) if at not in places]
        else:
            out.append((name.encode(), value))
    return out


def media_type(head, wanted, charsets=("utf-8", "utf8")):
    values = lines(head, "content-type")
    if len(values) != 1:
        return False
    essence, *parameters = [part.strip().lower() for part in values[0].decode("latin-1").split(";")]
    given = [part.split("=", 1)[1].strip().strip('"') for part in parameters if part.startswith("charset")]
    return essence in wanted and all(charset in charsets for charset in given)


HASHED = ["content-digest", "repr-digest", "digest", "content-md5", "signature-input"]


def body_may_change(head, body):
    if any(lines(head, name) for name in [*HASHED, "content-range", "trailer"]):
        return False
    if any(value.lower() != b"identity" for value in lines(head, "content-encoding")):
        return False
    lengths = lines(head, "content-length")
    if len(lengths) > 1 or (
        lengths and (not re.fullmatch(rb"[0-9]+", lengths[0]) or int(lengths[0]) != len(filled(body)))
    ):
        return False
    return len(filled(body)) <= 1 << 20


def body_edits(head, body):
    edits = [["remove", name, b""] for name in ("ETag", "Last-Modified") if lines(head, name)]
    edits.append(["set", "Accept-Ranges", b"none"])
    if lines(head, "content-length"):
        edits.append(["set", "Content-Length", str(len(filled(body))).encode()])
    return edits


VALUE_ZONES = [(3584, 4096), (6400, 8192), (15360, 16384)]
HEAD_ZONES = [(3840, 4096), (7936, 8192), (15872, 16384)]


def cap(start, zones):
    """The size an answer that starts at `start` may end at; None where nothing may be added."""
    for safe, hard in zones:
        if start <= hard:
            return safe if start <= safe else None
    return None


# A receipt with an id placeholder cannot be base64 yet: it is carried as a marked text until the id is known.
MARK = b"\0base64 of\0"


def base64_marked(text):
    return MARK + text.encode()


def decode_marked(value):
    return value.removeprefix(MARK)


def marked_size(head):
    real = [(n, base64.b64encode(filled(decode_marked(v))) if v.startswith(MARK) else v) for n, v in head]
    return size(real)
