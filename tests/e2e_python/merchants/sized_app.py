"""An ASGI application whose challenge header has the number of bytes that the path says."""

from support.payments import CHALLENGE, encoded

from merchants import settings


async def bare(scope, receive, send):
    if scope["type"] != "http":
        return
    size = int(scope["path"][1:])
    padding = max(0, (size - len(encoded({**CHALLENGE, "padding": ""}))) * 3 // 4)
    value = encoded({**CHALLENGE, "padding": "x" * padding})
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2"), (b"payment-required", value)]
    await send({"type": "http.response.start", "status": 402, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


app = settings.make_forge().asgi(bare)
