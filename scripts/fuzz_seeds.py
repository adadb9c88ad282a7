#!/usr/bin/env python3
"""Writes the seeds of every fuzz target below a folder, out of the captured messages and the conformance cases.

Usage: fuzz_seeds.py FOLDER. The first byte of a seed is the target's choice of engine and form (fuzz/src/).
"""

import base64
import json
import pathlib
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests/fixtures"
LARGEST = 64 * 1024


def write(folder, seeds):
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(dict.fromkeys(seeds)):
        if len(seed) <= LARGEST:
            (folder / f"{number:04}").write_bytes(seed)


def heads_and_bodies():
    """The captured answers as "status, header lines, body"."""
    for path in sorted(FIXTURES.glob("v?-*.raw.txt")):
        head, _, body = path.read_bytes().replace(b"\r\n", b"\n").partition(b"\n\n")
        start, _, lines = head.partition(b"\n")
        yield start, lines, body


def pack(lines):
    packed = b""
    for line in lines.split(b"\n"):
        name, _, value = line.partition(b": ")
        packed += struct.pack("=II", len(name), len(value)) + name + value
    return packed


def main(target):
    texts = [path.read_bytes() for path in sorted(FIXTURES.glob("*.json"))]
    small = [text for text in texts if len(text) < 8_192]
    challenges = [path.read_bytes() for path in sorted(FIXTURES.glob("*402*.json"))]
    receipts = [path.read_bytes() for path in sorted(FIXTURES.glob("*payment-response*.json"))]
    documents = [path.read_bytes() for path in sorted((ROOT / "tests/openapi/documents").glob("*.json"))]
    deep = b'{"a":' + b"[" * 200 + b"]" * 200 + b"}"
    odd = [b"{}", b'{ "a" : [1.50, -0, 1e400, "\\ud800", {"":null}] }', deep]
    choices = [bytes([choice]) for choice in range(4)]
    messages = list(heads_and_bodies())
    options = [
        json.dumps({"api_key": "ffk_fuzz_fake", option["name"]: option["default"]}).encode()
        for option in json.loads((ROOT / "options.json").read_text())
    ]
    write(target / "splice", [choice + text for choice in choices for text in small + odd])
    write(
        target / "challenge",
        [bytes([4 + choice]) + text for choice in range(8) for text in challenges]
        + [choice + base64.b64encode(text) for choice in choices for text in challenges],
    )
    write(target / "receipt", [choice + text for choice in choices for text in receipts])
    write(
        target / "body",
        [
            bytes([choice, int(b"402" in start)]) + lines + b"\n\n" + body
            for choice in (0, 4, 5, 14, 22, 36, 102)
            for start, lines, body in messages
        ],
    )
    write(target / "options", options + [b"{}"])
    write(target / "packed_headers", [pack(lines) for _, lines, _ in messages] + [b"\0" * 8])
    write(target / "openapi", [choice + text for choice in choices for text in documents])
    context = b'"agent_context":{"agent_type":"Claude Code","client":"awal","search_query":"weather api"}'
    write(
        target / "agent_context",
        [
            bytes([choice]) + b"/w?agent_type=claude&city=Oslo&agent_search_query=a+b%20c\n" + body
            for choice in range(16)
            for body in (b"{%s}" % context, b'{"a":1, %s , "b":[2]}' % context, b'{"a":1}', b"")
        ],
    )


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
