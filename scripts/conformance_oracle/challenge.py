"""A 402: the header and the body, v1 and v2."""

import base64

from .head import HEAD_ZONES, VALUE_ZONES, apply, body_edits, body_may_change, cap, decode, lines, media_type, size
from .json_text import insert, last_member, parse, text_of, utf16
from .messages import rate_url, receipt_of, version
from .wording import MEDIUM, SENTENCE, SHORT, extension


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
    tone, schema = options.get("tone", "default"), options.get("extension_schema", False)
    full = extension_edit(extension(rate, tone, schema=schema))
    small = extension_edit(extension(rate, tone, small=True, schema=schema))
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
