"""The answer of one ASGI request: its head waits for the verdict, its body only while it may still be edited.

A head of stated length waits for its first body message, so that one look at both decides; another is looked at as it
comes. The body is held if its first message is the whole of it, or if the head states a length within the engine's limit.
"""

from ._forge import logger

WANT_BODY = 2


class Answer:
    def __init__(self, forge, exchange, request, scope, receive, send):
        self._forge = forge
        #: None: the engine has not seen this request but for a look; its answer is a challenge.
        self.exchange = exchange
        self._request = request
        #: The scope the application has, for the route it sets there.
        self.scope = scope
        self._root = scope.get("root_path", "")
        self._receive = receive
        self._send = send
        self._head = self._verdict = self._chunks = None
        self._size = self._bytes = self._status = 0
        self._judged = self._complete = self._gone = self._trailers = self._ended = False

    async def send(self, message):
        kind = message["type"]
        if kind == "http.response.start":
            if self._status == 0:
                return await self._start(message)
        elif kind == "http.response.body":
            if self._head is not None:
                return await self._held_body(message)
            self._bytes += len(message.get("body", b""))
            self._complete = not message.get("more_body", False) and not self._trailers
        elif kind == "http.response.trailers":
            self._complete = not message.get("more_trailers", False)
        elif kind == "http.response.pathsend":
            self._complete = not self._trailers
        elif kind == "http.response.zerocopysend":
            self._complete = not message.get("more_body", False) and not self._trailers
        if self._head is not None and kind != "http.response.debug":
            await self._release()
        await self._forward(message)

    async def _start(self, message):
        headers = message.get("headers", ())
        if not isinstance(headers, list):
            # Once read it may be used up.
            headers = list(headers)
            message = {**message, "headers": headers}
        self._head = message
        self._status = message["status"]
        self._trailers = message.get("trailers", False)
        if _stated_length(headers) is None:
            self._judge(None)
            if self._verdict is None or self._verdict.action != WANT_BODY:
                await self._release()

    async def _held_body(self, message):
        part, more = message.get("body", b""), message.get("more_body", False)
        if self._chunks is not None:
            self._chunks.append(part)
            self._size += len(part)
            if more and self._size <= self._verdict.body_limit:
                return
            if more:
                return await self._release()
            part = b"".join(self._chunks)
            message = {**message, "body": part}
            self._chunks = None
        elif more:
            if not self._judged:
                self._judge(None)
            stated = _stated_length(self._head["headers"])
            if (
                self._verdict is not None
                and self._verdict.action == WANT_BODY
                and (stated is not None and stated <= self._verdict.body_limit)
            ):
                self._chunks, self._size = [part], len(part)
                return
            await self._release()
            self._bytes += len(part)
            return await self._forward(message)
        self._judge(part)
        if self._verdict is not None and self._verdict.body is not None:
            message = {**message, "body": self._verdict.body}
        await self._release()
        self._bytes += len(message["body"]) if "body" in message else 0
        self._complete = not self._trailers
        await self._forward(message)

    def _judge(self, body):
        """Asks the engine about the head, with the body if there is one. What fails here passes."""
        head, route = self._head, self._route()
        self._judged = True
        try:
            if self.exchange is not None:
                self._verdict = self.exchange.on_response(self._status, head["headers"], route, body)
                return
            begun = self._forge.engine.on_response_late(*self._request, self._status, head["headers"], route, body)
            self.exchange, self._verdict = (None, None) if begun is None else begun
        except Exception:
            logger.debug("an answer passed unchanged", exc_info=True)
            self._verdict = None

    async def _release(self):
        """Sends the head as the last verdict wants it, then what was held of the body."""
        if not self._judged:
            self._judge(None)
        head, chunks, verdict = self._head, self._chunks, self._verdict
        self._head = self._chunks = None
        if verdict is not None and verdict.headers is not None:
            head = {**head, "headers": verdict.headers}
        await self._forward(head)
        if chunks is not None:
            body = b"".join(chunks)
            self._bytes += len(body)
            await self._forward({"type": "http.response.body", "body": body, "more_body": True})

    async def _forward(self, message):
        if self._complete and not self._gone:
            self._gone = _has_gone(self._receive, self._send)
        try:
            await self._send(message)
        except OSError:
            self._gone = True
            raise
        if self._complete:
            # Background tasks of the application may still run.
            self._end("aborted" if self._gone else "delivered")

    async def reply(self, verdict):
        """Answers in the application's place."""
        self._status = verdict.http_status
        headers = [(name.lower().encode(), value) for _, name, value in verdict.edits]
        await self._forward({"type": "http.response.start", "status": self._status, "headers": headers})
        self._complete, self._bytes = True, len(verdict.body)
        await self._forward({"type": "http.response.body", "body": verdict.body})

    def watched(self, receive):
        """The application's receive, noticing a client that goes away."""

        async def watched():
            message = await receive()
            if message["type"] == "http.disconnect" and not self._complete:
                self._gone = True
            return message

        return watched

    async def close(self, error):
        """The application has returned or raised."""
        if self._head is not None and (error is None or isinstance(error, Exception)):
            await self._release()
        if error is None:
            self._end("aborted" if self._gone else "delivered" if self._complete else "unknown")
        elif self._gone or not isinstance(error, Exception):
            self._end("aborted")
        else:
            self._end("failed", self._status or 500)

    def _end(self, outcome, status=None):
        if not self._ended and self.exchange is not None:
            self._ended = True
            self.exchange.end(outcome, self._status if status is None else status, self._bytes)
            self._forge._pulse()

    def _route(self):
        path = getattr(self.scope.get("route"), "path", None)
        return self.scope.get("root_path", "")[len(self._root) :] + path if isinstance(path, str) else None


def _stated_length(headers):
    for name, value in headers:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 16 else None
    return None


def _has_gone(receive, send):
    """Whether the server knows that the client has gone: uvicorn and hypercorn drop in silence what is sent then."""
    return (
        getattr(getattr(receive, "__self__", None), "disconnected", False) is True
        or getattr(getattr(send, "__self__", None), "closed", False) is True
    )
