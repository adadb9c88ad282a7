"""What is asked and answered in the bench, and the application that answers without anything in between."""

import base64
import json
import time


def encoded(value):
    return base64.b64encode(json.dumps(value, separators=(",", ":")).encode())


REQUIREMENT = {
    "scheme": "exact",
    "network": "eip155:84532",
    "amount": "10000",
    "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    "payTo": "0x1111111111111111111111111111111111111111",
    "maxTimeoutSeconds": 300,
    "extra": {"name": "USDC", "version": "2"},
}
RESOURCE = {"url": "http://127.0.0.1/paid", "description": "Weather report.", "mimeType": "application/json"}
CHALLENGE = encoded({"x402Version": 2, "error": "Payment required", "resource": RESOURCE, "accepts": [REQUIREMENT]})
PAYER = "0x2222222222222222222222222222222222222222"
RECEIPT = encoded({"success": True, "transaction": "0x" + "ab" * 32, "network": "eip155:84532", "payer": PAYER})
SMALL = json.dumps({"city": "Oslo", "forecast": [{"day": day, "temperature": day * 1.5} for day in range(6)]}).encode()
LARGE = json.dumps({"rows": [{"id": row, "value": row * 0.5} for row in range(32_000)]}).encode()
JSON = (b"content-type", b"application/json")


def answer(status, body, *headers):
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [JSON, (b"content-length", str(len(body)).encode()), *headers],
    }
    return start, {"type": "http.response.body", "body": body}


def in_pieces(start, body):
    """The same answer as an application sends it that writes its body bit by bit."""
    pieces = [body["body"][at : at + 65_536] for at in range(0, len(body["body"]), 65_536)]
    sent = [{"type": "http.response.body", "body": piece, "more_body": True} for piece in pieces]
    return start, *sent[:-1], {**sent[-1], "more_body": False}


ANSWERS = {
    "/paid": answer(200, SMALL, (b"payment-response", RECEIPT)),
    "/large": answer(200, LARGE, (b"payment-response", RECEIPT)),
    "/pieces": in_pieces(*answer(200, LARGE, (b"payment-response", RECEIPT))),
    "/402": answer(402, b"{}", (b"payment-required", CHALLENGE)),
    "/free": answer(200, SMALL),
}


PAID = ("/paid", "/large", "/pieces")


async def stub(scope, receive, send):
    if scope["type"] != "http":
        return
    for message in ANSWERS[scope["path"]]:
        await send(message)


def answers_of_ours():
    """An application that sends, without deciding anything, what `stub` sends with us around it."""
    import asyncio

    from forge_x402 import Forge

    app = Forge(api_key="ffk_bench", public_url="https://api.example.com").asgi(stub)
    answers = {}
    for path in ANSWERS:
        sent = answers[path] = []

        async def send(message, sent=sent):
            sent.append(message)

        headers = [(b"payment-signature", payment())] if path in PAID else []
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": headers}
        asyncio.run(app(scope, None, send))

    async def same(scope, receive, send):
        if scope["type"] == "http":
            for message in answers[scope["path"]]:
                await send(message)

    return same


def payment():
    """The value of a PAYMENT-SIGNATURE header that any facilitator of the bench takes."""
    authorization = {
        "from": PAYER,
        "to": REQUIREMENT["payTo"],
        "value": REQUIREMENT["amount"],
        "validAfter": "0",
        "validBefore": str(int(time.time()) + 86_400),
        "nonce": "0x" + "11" * 32,
    }
    payload = {"signature": "0x" + "22" * 65, "authorization": authorization}
    return encoded(
        {"x402Version": 2, "payload": payload, "accepted": REQUIREMENT, "resource": RESOURCE, "extensions": {}}
    )
