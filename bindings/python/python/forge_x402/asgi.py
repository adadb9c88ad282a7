"""ASGI: carries requests and answers between the server, the engine and the application; decides nothing.

Pure ASGI: the application runs in the caller's task, with its own context variables; on asyncio and on trio. What is not
an HTTP request, and every message this file does not know, goes through as it is.
"""

from ._answer import close, nothing, send_all, watched
from ._forge import Forge
from ._offloop import off_loop
from ._request import Replay, read_body

WANT_BODY, WAIT, REPLY = 2, 3, 1
#: Milliseconds for which an agent that rates may wait for the backend.
WAIT_LIMIT_MS = 3_000


class ForgeMiddleware:
    """ASGI middleware: `app.add_middleware(ForgeMiddleware, api_key=…)`, or around an application, or with `forge=` given.

    It belongs outside the payment middleware: with `add_middleware`, add it last."""

    def __init__(self, app, forge=None, **options):
        self.app = app
        self.forge = Forge(**options) if forge is None else forge
        self._begin = _pass
        if self.forge.engine is not None:
            from ._native import Asgi

            self._begin = Asgi(self.forge.engine, self.forge, nothing, send_all, watched).begin

    async def __call__(self, scope, receive, send):
        try:
            answer = self._begin(scope, receive, send)
        except Exception as error:
            self.forge._count_unread("a request passed unread", error)
            answer = None
        if answer is None:
            if scope["type"] == "lifespan":
                send = self._flushing(send)
            return await self.app(scope, receive, send)
        try:
            if not self.forge._routes_seen:
                self.forge._look_at_routes(scope.get("app", self.app))
            if answer.ahead is None:
                await self.app(scope, answer.receive, answer.send)
            else:
                await self._prepared(answer, answer.ahead, scope, receive)
        except BaseException as error:
            await close(answer, error)
            raise
        if (sending := answer.close(None)) is not None:
            await sending
            await close(answer, None)

    async def _prepared(self, answer, verdict, scope, receive):
        """Does what has to be done before the application runs, if it still does."""
        target, headers = verdict.target, None
        if verdict.action == WANT_BODY:
            limit = verdict.body_limit
            messages, body = await read_body(receive, limit)
            if body is not None:
                verdict = answer.on_request_body(body[: limit + 1])
                headers = verdict.headers
                if verdict.body is not None:
                    messages = [{"type": "http.request", "body": verdict.body, "more_body": False}]
            receive = Replay(receive, messages)
        if verdict.action == WAIT:
            verdict = await off_loop(answer.wait, WAIT_LIMIT_MS)
        if verdict.action == REPLY:
            return await answer.reply(verdict)
        receive = watched(answer, receive)
        if target is None and headers is None:
            return await self.app(scope, receive, answer.send)
        # What the application adds to the changed scope is seen outside as without us.
        inner = dict(scope)
        answer.runs_in(inner)
        if target is not None:
            inner["query_string"] = target.partition(b"?")[2]
        if headers is not None:
            inner["headers"] = headers
        try:
            await self.app(inner, receive, answer.send)
        finally:
            for key in inner.keys() - scope.keys():
                scope[key] = inner[key]

    def _flushing(self, send):
        async def flushing(message):
            if message["type"] in ("lifespan.shutdown.complete", "lifespan.shutdown.failed"):
                await off_loop(self.forge.flush, 0.8)
            await send(message)

        return flushing


def _pass(scope, receive, send):
    """Where there is no engine nothing is ours."""
