"""The other ends of the bench in one process: takes events, and says yes to payments."""

import json

SUPPORTED = {
    "kinds": [{"x402Version": 2, "scheme": "exact", "network": "eip155:84532"}],
    "extensions": [],
    "signers": {},
}
PAYER = "0x2222222222222222222222222222222222222222"
ANSWERS = {
    "/supported": SUPPORTED,
    "/verify": {"isValid": True, "payer": PAYER},
    "/settle": {"success": True, "transaction": "0x" + "ab" * 32, "network": "eip155:84532", "payer": PAYER},
}
events = 0


async def app(scope, receive, send):
    global events
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if scope["path"].endswith("/events"):
        events += len(json.loads(body)["events"])
    text = json.dumps({"events": events} if scope["path"] == "/count" else ANSWERS.get(scope["path"], {})).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})
