"""What a payment, a receipt and a rate URL are."""

import re

from .head import decode, lines
from .json_text import parse, text_of


def version(text, root):
    node = root.one("x402Version") if root.kind == "object" else None
    return node.kind if node is not None else None


def rate_url(options, resource):
    path = options.get("base_path", "/feedback") + "/rate"
    if options.get("public_url"):
        return options["public_url"].rstrip("/") + path
    host = r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*|\[[0-9a-fA-F:.]+\])"
    found = re.match(rf"https?://{host}(?::[0-9]{{1,5}})?(?=[/?#]|$)", resource or "")
    return (found.group(0) if found and len(found.group(0)) <= 256 else "") + path


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
