"""A paid 2xx: payment, receipt, id, body."""

import base64

from .head import (
    HEAD_ZONES,
    VALUE_ZONES,
    apply,
    base64_marked,
    body_edits,
    body_may_change,
    cap,
    decode_marked,
    lines,
    marked_size,
    media_type,
    size,
)
from .json_text import insert, last_member, parse, text_of
from .messages import payment_of, rate_url, receipt_of
from .values import ID, OWN_ID, filled
from .wording import body_fields, compact, extension


def receipt_rungs(root, rate, options, feedback_id):
    held = root.all("extensions")
    if len(held) > 1 or not options.get("receipt_extension", True):
        return []
    tone, schema = options.get("tone", "default"), options.get("extension_schema", False)
    values = [extension(rate, tone, feedback_id, small, schema) for small in (False, True)]
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
    for rung in [*(receipt_rungs(parsed[1], rate, options, new_id) if parsed and room else []), None]:
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
