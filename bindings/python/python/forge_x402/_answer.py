"""What is awaited for an answer. What is sent, and when, is decided by `_native.Answer`.

Coroutines written in Python on purpose: one in the extension module took 3 us more of a server's time, because the
interpreter's own code is in the processor's caches anyway, and ours is not.
"""


async def nothing():
    """Of a message that is held."""


async def send_all(answer, receive, send, messages, last):
    """Sends messages in order; `last` is the last one of the answer, or None."""
    try:
        for message in messages:
            await send(message)
        if last is not None:
            # uvicorn and hypercorn drop in silence what is sent to a client that has gone; their own objects know.
            gone = getattr(getattr(receive, "__self__", None), "disconnected", None)
            if gone is None:
                gone = getattr(getattr(send, "__self__", None), "closed", None)
            answer.completes(gone is True)
            await send(last)
    except OSError:
        answer.send_failed()
        raise
    if last is not None:
        answer.end()


async def close(answer, error):
    """The application has returned (None) or raised: what is still held goes out, then the exchange ends."""
    while (sending := answer.close(error)) is not None:
        await sending


def watched(answer, receive):
    """The application's receive, noticing a client that goes away."""

    async def watched():
        message = await receive()
        if message["type"] == "http.disconnect":
            answer.disconnected()
        return message

    return watched
