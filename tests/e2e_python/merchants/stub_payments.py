"""A payment layer that asks nobody, in plain ASGI: a challenge without a payment, a receipt with one."""

from support import payments


class StubPayments:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or not scope["path"].startswith("/paid/") or scope["method"] == "OPTIONS":
            return await self.app(scope, receive, send)
        if not any(name == b"payment-signature" for name, _ in scope["headers"]):
            headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
            headers.append((b"payment-required", payments.CHALLENGE_HEADER))
            await send({"type": "http.response.start", "status": 402, "headers": headers})
            return await send({"type": "http.response.body", "body": b"{}"})

        async def with_receipt(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"payment-response", payments.RECEIPT_HEADER)]
            await send(message)

        await self.app(scope, receive, with_receipt)
