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

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "conformance"
DEFAULTS = {"api_key": "ffk_test_0123456789abcdef", "public_url": "https://api.example.com", "strict": True}
ID = "{{id}}"
OWN_ID = "{{own_id}}"

# ---- wording ------------------------------------------------------------------------------------------------

ISSUES = ["wrong_output", "unmet_expectation", "schema_mismatch", "slow", "unclear_docs", "too_expensive"]
OUTCOMES = ["fully", "partially", "no"]
MEDIUM = (
    "After your call, please rate this service for other agents: GET {rate}?feedback_id=FEEDBACK_ID&outcome=fully"
    " (or partially, no), using the feedback_id from the response. Free, one request."
)
ISSUE_HINT = (
    " If it wasn't fully, please also add &issue= with wrong_output, unmet_expectation, schema_mismatch, slow,"
    " unclear_docs or too_expensive, so the merchant knows what to fix."
)
SENTENCE = MEDIUM + ISSUE_HINT
SHORT = (
    "After your call, please rate it for other agents: GET {rate}?feedback_id=FEEDBACK_ID&outcome=fully."
    " Free, one request."
)
ASK = {
    "default": "After your call, please rate this service for other agents. Free, one request. When the outcome is"
    " not fully, the issue field tells the merchant what to fix.",
    "lifecycle": "Steps: 402 challenge, pay, response, rate this service for other agents. Free, one request. When"
    " the outcome is not fully, the issue field tells the merchant what to fix.",
}
FLOW = ["402 challenge", "pay", "response", "rate"]


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def extension(rate, tone, feedback_id=None, small=False):
    named = feedback_id or "FEEDBACK_ID"
    link = f"GET {rate}?feedback_id={named}&outcome=fully"
    if small:
        return compact({"info": {"protocol": "forge-feedback/0", "rate": link, "outcome": OUTCOMES}})
    issue = {"when": "The outcome is not fully. Tells the merchant what to fix.", "values": ISSUES}
    payment = "None. Plain GET, not an x402 endpoint."
    info = {"protocol": "forge-feedback/0", "ask": ASK[tone]}
    if feedback_id:
        info |= {"feedback_id": feedback_id, "rate": link, "outcome": OUTCOMES, "issue": issue, "payment": payment}
    else:
        where = "In the paid response body (feedback_id) and the Forge-Feedback-Id header."
        info |= {"rate": link, "outcome": OUTCOMES, "issue": issue, "feedback_id": where, "payment": payment}
    if tone == "lifecycle":
        info["flow"] = FLOW
    return compact({"info": info})


def body_fields(rate, feedback_id, options):
    url = f"{rate}?feedback_id={feedback_id}&outcome="
    fields = {"feedback_id": feedback_id, "feedback_url": url}
    if options.get("rate_hint", True):
        fields["rate_this_call"] = (
            f"Please rate this service for other agents: GET {url} with fully, partially or no appended (e.g. {url}fully)."
            " Free, one request." + ISSUE_HINT
        )
    return {"forge_feedback": fields} if options.get("body_layout") == "nested" else fields


# ---- JSON by position ---------------------------------------------------------------------------------------

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


# ---- envelope, head -----------------------------------------------------------------------------------------


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


def filled(raw):
    return raw.replace(ID.encode(), b"0" * 22).replace(OWN_ID.encode(), b"0" * 22)


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
    if len(lengths) > 1 or (lengths and (not re.fullmatch(rb"[0-9]+", lengths[0]) or int(lengths[0]) != len(filled(body)))):
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


# ---- challenges ---------------------------------------------------------------------------------------------


def rate_url(options, resource):
    path = options.get("base_path", "/feedback") + "/rate"
    if options.get("public_url"):
        return options["public_url"].rstrip("/") + path
    host = r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*|\[[0-9a-fA-F:.]+\])"
    found = re.match(rf"https?://{host}(?::[0-9]{{1,5}})?(?=[/?#]|$)", resource or "")
    return (found.group(0) if found and len(found.group(0)) <= 256 else "") + path


def already_there(description, rate):
    return (rate + "?feedback_id=" if rate.startswith("/") else rate) in description


def described(text, node, sentence):
    """The edit that appends the sentence to a description that is a string."""
    before = text_of(text, node)
    space = "" if before == "" or before[-1].isspace() else " "
    return node.end - 1, node.end - 1, space + sentence


def v2_rungs(text, root, options):
    """(rate, edits of each rung, largest first) of a v2 challenge; None where it is not ours to touch."""
    accepts, error = root.one("accepts"), root.all("error")
    if accepts is None or accepts.kind != "array" or not accepts.items or any(node.kind != "string" for node in error):
        return None
    if any(len(root.all(key)) > 1 for key in ("x402Version", "resource", "extensions", "error")):
        return None
    resource, extensions = root.one("resource"), root.one("extensions")
    named = resource is not None and resource.kind == "object"
    if named and (len(resource.all("description")) > 1 or len(resource.all("url")) > 1):
        return None
    if extensions is not None and extensions.kind == "object" and extensions.all("forge-feedback"):
        return None
    url = resource.one("url") if named else None
    rate = rate_url(options, text_of(text, url) if url is not None and url.kind == "string" else None)
    description = resource.one("description") if named else None
    before = text_of(text, description) if description is not None and description.kind == "string" else ""
    if already_there(before, rate):
        return None

    def sentence_edit(sentence):
        if not named or (description is not None and description.kind != "string"):
            return []
        if description is None:
            edit, after = last_member(resource, f'"description":"{sentence}"'), sentence
        else:
            edit = described(text, description, sentence)
            after = before + edit[2]
        return [edit] if utf16(after) <= options.get("max_description", 500) else []

    def extension_edit(value):
        if len(value) >= 1024:
            return []
        if extensions is None:
            return [last_member(root, f'"extensions":{{"forge-feedback":{value}}}')]
        if extensions.kind == "null":
            return [(extensions.start, extensions.end, f'{{"forge-feedback":{value}}}')]
        return [last_member(extensions, f'"forge-feedback":{value}')] if extensions.kind == "object" else []

    says = [sentence_edit(one.format(rate=rate)) for one in (SENTENCE, MEDIUM, SHORT)]
    if not options.get("describe_challenges", True):
        says = []
    says = [edit for edit in says if edit]
    full = extension_edit(extension(rate, options.get("tone", "default")))
    small = extension_edit(extension(rate, "default", small=True))
    if not options.get("challenge_extension", True):
        full = small = []
    rungs = [say + full for say in says if full]
    rungs += [full] if full and not says else []
    rungs += [says[-1] + small] if says and small else []
    rungs += [small] if small else []
    rungs += [] if full or small else says
    return rate, rungs


def v1_edits(text, root, options):
    accepts = root.one("accepts")
    if accepts is None or accepts.kind != "array" or not accepts.items or not options.get("describe_challenges", True):
        return None
    first = accepts.items[0].one("resource") if accepts.items[0].kind == "object" else None
    rate = rate_url(options, text_of(text, first) if first is not None and first.kind == "string" else None)
    edits = []
    for entry in accepts.items:
        if entry.kind != "object":
            continue
        found = entry.all("description")
        if len(found) > 1:
            return None
        if not found:
            edits.append(last_member(entry, f'"description":"{SENTENCE.format(rate=rate)}"'))
        elif found[0].kind == "string":
            if already_there(text_of(text, found[0]), rate):
                return None
            edits.append(described(text, found[0], SENTENCE.format(rate=rate)))
    return rate, edits


def version(text, root):
    node = root.one("x402Version") if root.kind == "object" else None
    return node.kind if node is not None else None


def challenge(options, head, body):
    """(edits of the head, new body or None, rate URL or None) of a 402."""
    edits, new_body, rate = [], None, None
    values = lines(head, "payment-required")
    raw = decode(values[0]) if len(values) == 1 else None
    found = parse(raw) if raw is not None else None
    if found and version(*found) == "2" and (plan := v2_rungs(*found, options)):
        rate = plan[0]
        room, whole = cap(len(values[0]), VALUE_ZONES), cap(size(head), HEAD_ZONES)
        for rung in plan[1] if room and whole else []:
            value = base64.b64encode(insert(found[0], rung).encode())
            edit = ["set", "PAYMENT-REQUIRED", value]
            if len(value) <= room and size(apply(head, [edit])) <= whole:
                edits.append(edit)
                break
    invites = receipt_of(head)[0] != "false" and media_type(head, ["application/json"])
    found = parse(body) if invites and body_may_change(head, body) else None
    if found:
        plan = None
        if version(*found) == "1" and (plan := v1_edits(*found, options)):
            rate, rung = plan
        if version(*found) == "2" and (plan := v2_rungs(*found, options)):
            rate, rung = plan[0], (plan[1] or [[]])[0]
        if plan and rung:
            new_body = insert(found[0], rung).encode()
            edits += body_edits(head, new_body)
    return edits, new_body, rate


# ---- paid answers -------------------------------------------------------------------------------------------


def payment_of(request):
    """(version, resource url) of the payment the request carries, or None."""
    for name in ("payment-signature", "x-payment"):
        values = lines(request["headers"], name)
        raw = decode(values[0]) if len(values) == 1 else None
        found = parse(raw) if raw is not None else None
        if not found:
            continue
        text, root = found
        number = version(text, root)
        kinds = {key: root.one(key).kind for key in ("payload", "accepted", "scheme", "network") if root.one(key)}
        if number == "2" and kinds.get("payload") == "object" and kinds.get("accepted") == "object":
            resource = root.one("resource")
            url = resource.one("url") if resource is not None and resource.kind == "object" else None
            return 2, text_of(text, url) if url is not None and url.kind == "string" else None
        if number == "1" and {"payload", "scheme", "network"} <= kinds.keys():
            return 1, None
    return None


def receipt_of(head):
    """("true" | "false" | None, parsed v2 receipt or None)."""
    settled, parsed = None, None
    for name in ("payment-response", "x-payment-response"):
        values = lines(head, name)
        raw = decode(values[0]) if len(values) == 1 else None
        found = parse(raw) if raw is not None else None
        success = found[1].one("success") if found and found[1].kind == "object" else None
        if success is not None and success.kind in ("true", "false"):
            settled = settled or success.kind
            parsed = found if name == "payment-response" and success.kind == "true" else parsed
    return settled, parsed


def receipt_rungs(found, rate, options, feedback_id):
    text, root = found
    held = root.all("extensions")
    if len(held) > 1 or not options.get("receipt_extension", True):
        return []
    values = [
        extension(rate, options.get("tone", "default"), feedback_id),
        extension(rate, "default", feedback_id, small=True),
    ]
    rungs = []
    for value in values:
        if len(filled(value.encode())) >= 1024:
            continue
        if not held:
            edit = last_member(root, f'"extensions":{{"forge-feedback":{value}}}')
        elif held[0].kind == "null":
            edit = (held[0].start, held[0].end, f'{{"forge-feedback":{value}}}')
        elif held[0].kind == "object":
            edit = last_member(held[0], f'"forge-feedback":{value}')
        else:
            continue
        rungs.append([edit])
    return rungs


def cache_control(head):
    given = b", ".join(lines(head, "cache-control"))
    parts = [part.strip() for part in given.split(b",") if part.strip()]
    names = [part.split(b"=")[0].strip().lower() for part in parts]
    if b"private" in names or b"no-store" in names:
        return []
    parts = [b"private" if name == b"public" else part for name, part in zip(names, parts, strict=True)]
    return [["set", "Cache-Control", b", ".join(parts if b"private" in parts else [*parts, b"private"])]]


def id_edits(request, head, feedback_id):
    edits = [["set", "Forge-Feedback-Id", feedback_id.encode()], *cache_control(head)]
    edits += [["remove", name, b""] for name in ("CDN-Cache-Control", "Surrogate-Control") if lines(head, name)]
    exposed = lines(head, "access-control-expose-headers")
    named = [name.strip().lower() for value in exposed for name in value.split(b",")]
    cross_origin = lines(head, "access-control-allow-origin") or lines(request["headers"], "origin")
    if b"forge-feedback-id" not in named and (exposed or cross_origin):
        edits.append(["set", "Access-Control-Expose-Headers", b", ".join([*exposed, b"Forge-Feedback-Id"])])
    return edits


def paid(case, memory, options, request, head, body):
    settled, parsed = receipt_of(head)
    held = parsed[1].one("extensions") if parsed else None
    if held is not None and held.kind == "object" and held.all("forge-feedback"):
        return [], None, None, None
    route = (request["method"], request["target"].split("?")[0])
    unreceipted = settled is None and (request["method"] == "HEAD" or route in memory["receipted"])
    if settled == "true":
        memory["receipted"].add(route)
    if settled == "false" or unreceipted or (options.get("require_settlement") and settled != "true"):
        return [], None, None, None
    claimed = payment_of(request)[1]
    known = rate_url({**options, "public_url": None}, claimed) in memory["challenged"]
    rate = rate_url(options, claimed if known else None)
    new_id, new_body = ID, None
    editable = media_type(head, options.get("json_types", ["application/json"])) and body_may_change(head, body)
    found = parse(body) if editable else None
    root = found[1] if found and found[1].kind == "object" else None
    if root and OWN_ID in [text_of(found[0], node) for node in root.all("feedback_id") if node.kind == "string"]:
        new_id = OWN_ID
    status_fits = case["response"]["status"] not in (204, 205, 206) and request["method"] != "HEAD"
    if root and status_fits and options.get("inject_body", True):
        fields = body_fields(rate, new_id, options)
        taken = {"feedback_id", "feedback_url", "rate_this_call", "forge_feedback"}
        if not taken & {key for key, _ in root.members}:
            new_body = insert(found[0], [last_member(root, compact(fields)[1:-1])]).encode()
    plain = media_type(head, ["text/plain"], ("utf-8", "utf8", "us-ascii")) and body_may_change(head, body)
    if plain and options.get("inject_text") and status_fits and parse_text(body):
        ending = b"" if body.endswith(b"\n") else b"\n"
        url = f"{rate}?feedback_id={new_id}&outcome="
        new_body = body + ending + f"\nfeedback_id: {new_id}\nfeedback_url: {url}\n".encode()
    edits = id_edits(request, head, new_id)
    if new_body is not None:
        edits += body_edits(head, new_body)
    whole, value = cap(size(head), HEAD_ZONES), lines(head, "payment-response")
    room = cap(len(value[0]), VALUE_ZONES) if parsed else None
    for rung in [*(receipt_rungs(parsed, rate, options, new_id) if parsed and room else []), None]:
        receipt = base64_marked(insert(parsed[0], rung)) if rung else None
        tried = edits + ([["set", "PAYMENT-RESPONSE", receipt]] if receipt else [])
        fits = receipt is None or len(base64.b64encode(filled(decode_marked(receipt)))) <= room
        if whole and fits and marked_size(apply(head, tried)) <= whole:
            return tried, new_body, rate, new_id
    return [], None, rate, None


def parse_text(body):
    try:
        return body.decode("utf-8") != ""
    except UnicodeDecodeError:
        return False


# A receipt with an id placeholder cannot be base64 yet: it is carried as a marked text until the id is known.
MARK = b"\0base64 of\0"


def base64_marked(text):
    return MARK + text.encode()


def decode_marked(value):
    return value.removeprefix(MARK)


def marked_size(head):
    real = [(n, base64.b64encode(filled(decode_marked(v))) if v.startswith(MARK) else v) for n, v in head]
    return size(real)


# ---- a case -------------------------------------------------------------------------------------------------


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


def head_of(pairs):
    return [(name.encode(), evaluate(value)) for name, value in pairs]


TEXTS = {}


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


# ---- writing and checking -----------------------------------------------------------------------------------


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
    for name in TEXTS:
        for rate in rates if "{{rate}}" in json.dumps(TEXTS[name]) else [""]:
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
    return after[: len(head)], sorted(after), filled(body if body is not None else evaluate(case["response"].get("body", "")))


def resolve(value):
    return base64.b64encode(filled(decode_marked(value))) if value.startswith(MARK) else filled(value)


def recorded(case):
    expect = case["expect"]
    edits = [(edit[0], edit[1], evaluate(edit[2]) if len(edit) > 2 else b"") for edit in expect["edits"]]
    return edits, evaluate(expect["body"]) if "body" in expect else None


def files():
    return [path for path in sorted(FOLDER.glob("*.json")) if path.name not in ("texts.json", "ids.json")]


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
