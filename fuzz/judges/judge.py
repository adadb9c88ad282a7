"""Says whether what was made of a JSON text reads the same in Python's json. Protocol: fuzz/src/judges.rs."""

import json
import struct
import sys


def refuse(word):
    raise ValueError(word)


def parse(text):
    # Pairs keep duplicates and order, texts keep the spelling of numbers.
    return json.loads(
        text.decode("utf-8"), object_pairs_hook=list, parse_int=str, parse_float=str, parse_constant=refuse
    )


def same(letter, original, made):
    if letter == b"b":
        return made[: len(original)] == original and 1 <= len(made) - len(original) <= 3
    changing = {b"c": {"resource", "accepts", "extensions"}, b"r": {"extensions"}, b"o": None}[letter]
    if changing is None:
        names = [name for name, _ in made]
        return all(name in names for name, _ in original)
    return [pair for pair in original if pair[0] not in changing] == [
        pair for pair in made if pair[0] not in changing
    ]


def answer(letter, original, made):
    try:
        return b"y" if same(letter, parse(original), parse(made)) else b"n"
    except RecursionError:
        return b"s"
    except ValueError:
        return b"n"


while head := sys.stdin.buffer.read(9):
    first, second = struct.unpack("<II", head[1:])
    texts = sys.stdin.buffer.read(first), sys.stdin.buffer.read(second)
    sys.stdout.buffer.write(answer(head[:1], *texts))
    sys.stdout.buffer.flush()
