"""The answer of one ASGI request: its head waits for the verdict, its body only while it may still be edited.

A head of stated length waits for its first body message, so that one look at both decides; another is looked at as it
comes. The body is held if its first message is the whole of it, or if the head states a length within the engine's limit.
"""

WANT_BODY = 2
#: Other messages that may be the last one, with the member that says there is more.
ENDS = {
    "http.response.pathsend": "more_body",
    "http.response.trailers": "more_trailers",
    "http.response.zerocopysend": "more_body",
}


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
        #: The first message, while it is held.
        self._head = None
        self._verdict = None
        #: What is held of the body.
        self._parts = None
        self._status = self._size = 0
        self._judged = self._complete = self._gone = self._trailers = self._ended = False

    def send(self, message):
        """The application's send; not a coroutine function itself, because each one costs."""
        kind = message["type"]
        if kind == "http.response.body":
            return self._body(message) if self._head is None else self._held_body(message)
        if kind == "http.response.start" and self._status == 0:
            return self._start(message)
        return self._other(kind, message)

    async def _start(self, message):
        headers = message.get("headers", ())
        if not isinstance(headers, list):
            # Once read it may be used up.
            headers = list(headers)
            message = {**message, "headers": headers}
        self._head = message
        self._status = message["status"]
        self._trailers = message.get("trailers", False)
        if _stated_length(headers) is None and not self._wants_body():
            await self._release()

    async def _held_body(self, message):
        part, more = message.get("body", b""), message.get("more_body", False)
        if self._parts is not None:
            self._parts.append(part)
            self._size += len(part)
            if more:
                return None if self._size <= self._verdict.body_limit else await self._release()
            part, self._parts = b"".join(self._parts), None
            message = {**message, "body": part}
        elif more:
            if self._wants_body() and (_stated_length(self._head["headers"]) or 1 << 60) <= self._verdict.body_limit:
                self._parts, self._size = [part], len(part)
                return None
            await self._release()
            return await self._body(message)
        verdict = self._judge(part)
        if verdict is not None and verdict.body is not None:
            message = {**message, "body": verdict.body}
        await self._release()
        await self._body(message)

    async def _body(self, message):
        self._size += len(message.get("body", b""))
        if not message.get("more_body", False) and not self._trailers:
            return await self._last(message)
        await self._forward(message)

    async def _other(self, kind, message):
        if self._head is not None and kind != "http.response.debug":
            await self._release()
        more = {
            "http.response.trailers": "more_trailers",
            "http.response.pathsend": "",
            "http.response.zerocopysend": "more_body",
        }
        if (
            kind in more
            and not message.get(more[kind], False)
            and (not self._trailers or kind == "http.response.trailers")
        ):
            return await self._last(message)
        await self._forward(message)

    def _wants_body(self):
        if not self._judged:
            self._judge(None)
        return self._verdict is not None and self._verdict.action == WANT_BODY

    def _judge(self, body):
        """Asks the engine about the head, with the body if there is one. What fails here passes."""
        head, scope = self._head, self.scope
        self._judged = True
        path = getattr(scope.get("route"), "path", None)
        route = scope.get("root_path", "")[len(self._root) :] + path if isinstance(path, str) else None
        try:
            if self.exchange is not None:
                self._verdict = self.exchange.on_response(self._status, head["headers"], route, body)
            else:
                begun = self._forge.engine.on_response_late(*self._request, self._status, head["headers"], route, body)
                self.exchange, self._verdict = begun or (None, None)
        except Exception:
            self._forge._count_unread("an answer passed unchanged")
            self._verdict = None
        return self._verdict

    async def _release(self):
        """Sends the head as the last verdict wants it, then what was held of the body."""
        if not self._judged:
            self._judge(None)
        head, parts, verdict = self._head, self._parts, self._verdict
        self._head = self._parts = None
        self._size = 0
        if verdict is not None and verdict.headers is not None:
            head = {**head, "headers": verdict.headers}
        await self._forward(head)
        if parts is not None:
            await self._body({"type": "http.response.body", "body": b"".join(parts), "more_body": True})

    async def _forward(self, message):
        try:
            await self._send(message)
        except OSError:
            self._gone = True
            raise

    async def _last(self, message):
        """Sends the last message. Background tasks of the application may still run, so the exchange ends here."""
        self._complete = True
        self._gone = self._gone or _has_gone(self._receive, self._send)
        await self._forward(message)
        self._end("aborted" if self._gone else "delivered", self._status)

    async def reply(self, verdict):
        """Answers in the application's place."""
        self._status = verdict.http_status
        headers = [(name.lower().encode(), value) for _, name, value in verdict.edits]
        await self._forward({"type": "http.response.start", "status": self._status, "headers": headers})
        await self._body({"type": "http.response.body", "body": verdict.body})

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
            self._end("aborted" if self._gone else "unknown", self._status)
        elif self._gone or not isinstance(error, Exception):
            self._end("aborted", self._status)
        else:
            self._end("failed", self._status or 500)

    def _end(self, outcome, status):
        if not self._ended and self.exchange is not None:
            self._ended = True
            self.exchange.end(outcome, status, self._size)
            self._forge._pulse()


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
