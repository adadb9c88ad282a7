"""JSON by position: where values stand, and insertion; nothing is ever written anew."""

import json
import re

TOKEN = re.compile(
    r'[ \t\n\r]*(?:([{}\[\],:])|("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")'
    r"|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9.eE+-])|true|false|null))"
)


class NotJson(Exception):
    pass


class Node:
    """A value and where it stands; of an object also its members, in order, with their unescaped keys."""

    def __init__(self, kind, start):
        self.kind, self.start, self.end, self.members, self.items = kind, start, start, [], []

    def all(self, key):
        return [value for name, value in self.members if name == key]

    def one(self, key):
        found = self.all(key)
        return found[0] if len(found) == 1 else None


def scan(text):
    """The root value of `text`, checked to the last character, without recursion."""
    root, stack, position, expect, key = None, [], 0, "value", None
    while True:
        found = TOKEN.match(text, position)
        if not found:
            break
        mark, string, _scalar = found.groups()
        start, position = found.start(found.lastindex), found.end()
        if mark in ("}", "]"):
            closes = "object" if mark == "}" else "array"
            if not stack or stack[-1].kind != closes or expect not in ("comma", "first"):
                raise NotJson
            node = stack.pop()
            node.end = position
            expect = "comma" if stack else "end"
        elif mark == ",":
            if expect != "comma":
                raise NotJson
            expect = "key" if stack[-1].kind == "object" else "value"
        elif mark == ":":
            if expect != "colon":
                raise NotJson
            expect = "value"
        elif expect in ("key", "first") and stack and stack[-1].kind == "object":
            if string is None:
                raise NotJson
            key, expect = json.loads(string), "colon"
        elif expect in ("value", "first"):
            kind = {"{": "object", "[": "array"}.get(mark) or ("string" if string else text[start:position])
            node = Node(kind, start)
            node.end = position
            if root is None:
                root = node
            elif stack[-1].kind == "object":
                stack[-1].members.append((key, node))
            else:
                stack[-1].items.append(node)
            if mark:
                stack.append(node)
                expect = "first"
            else:
                expect = "comma" if stack else "end"
        else:
            raise NotJson
        if expect == "end":
            break
    if expect != "end" or text[position:].strip(" \t\n\r"):
        raise NotJson
    return root


def parse(raw):
    """(text, root) of UTF-8 JSON, or None."""
    try:
        text = raw.decode("utf-8")
        return text, scan(text)
    except (UnicodeDecodeError, NotJson):
        return None


def text_of(text, node):
    return json.loads(text[node.start : node.end])


def insert(text, edits):
    """Every edit is (start, end, new); applied from the back so that positions stay true."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def last_member(node, member):
    return node.end - 1, node.end - 1, ("," if node.members else "") + member


def utf16(text):
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
