"""The request side of ASGI: a body read ahead, and the same messages again."""

from collections import deque


async def read_body(receive, limit):
    """The messages read, and the body they hold: whole, or the start of it once that is longer than `limit`.

    `None` for a client that has gone before the end."""
    messages, parts, size = [], [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            messages.append(message)
            return messages, None
        part, more = message.get("body", b""), message.get("more_body", False)
        if part or not more:
            messages.append(message)
            parts.append(part)
            size += len(part)
        if not more or size > limit:
            return messages, b"".join(parts)


class Replay:
    """A receive that gives the messages read ahead, then the server's own."""

    def __init__(self, receive, messages):
        self._receive = receive
        self._messages = deque(messages)

    async def __call__(self):
        return self._messages.popleft() if self._messages else await self._receive()
