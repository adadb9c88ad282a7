"""ASGI: carries requests and answers between the server, the engine and the application; decides nothing.

Pure ASGI: the application runs in the caller's task, with its own context variables; on asyncio and on trio. What is not
an HTTP request, and every message this file does not know, goes through as it is.
"""

from ._answer import Answer
from ._forge import Forge
from ._offloop import off_loop
from ._request import Replay, read_body, target_of

WANT_BODY, WAIT, REPLY = 2, 3, 1
#: In a scope: a layer of ours has it, another one passes.
MARK = "forge_x402"
#: Milliseconds for which an agent that rates may wait for the backend.
WAIT_LIMIT_MS = 3_000


class ForgeMiddleware:
    """ASGI middleware: `app.add_middleware(ForgeMiddleware, api_key=…)`, or around an application, or with `forge=` given.

    It belongs outside the payment middleware: with `add_middleware`, add it last."""

    def __init__(self, app, forge=None, **options):
        self.app = app
        self.forge = Forge(**options) if forge is None else forge

    async def __call__(self, scope, receive, send):
        engine = self.forge.engine
        if scope["type"] != "http" or engine is None or MARK in scope:
            if scope["type"] == "lifespan":
                send = self._flushing(send)
            return await self.app(scope, receive, send)
        if not self.forge._routes_seen:
            self.forge._look_at_routes(scope.get("app", self.app))
        client = scope.get("client")
        request = (scope["method"], target_of(scope), scope["headers"], client[0] if client else None)
        try:
            begun = engine.on_request(*request)
        except Exception:
            self.forge._count_unread("a request passed unread")
            return await self.app(scope, receive, send)
        scope[MARK] = True
        if begun is not None:
            return await self._exchange(begun, request, scope, receive, send)

        # Nothing to do, unless the answer turns out to be a challenge.
        answer = None

        def watch(message):
            nonlocal answer
            if answer is None:
                if message.get("status") != 402:
                    return send(message)
                answer = Answer(self.forge, None, request, scope, receive, send)
            return answer.send(message)

        try:
            await self.app(scope, receive, watch)
        except BaseException as error:
            if answer is not None:
                await answer.close(error)
            raise
        if answer is not None:
            await answer.close(None)

    async def _exchange(self, begun, request, scope, receive, send):
        exchange, verdict = begun
        answer = Answer(self.forge, exchange, request, scope, receive, send)
        try:
            target, headers = verdict.target, None
            if verdict.action == WANT_BODY:
                limit = verdict.body_limit
                messages, body = await read_body(receive, limit)
                if body is not None:
                    verdict = exchange.on_request_body(body[: limit + 1], scope["headers"])
                    headers = verdict.headers
                    if verdict.body is not None:
                        messages = [{"type": "http.request", "body": verdict.body, "more_body": False}]
                receive = Replay(receive, messages)
            if verdict.action == WAIT:
                # The thread that waits owns the exchange, whatever becomes of this task.
                answer.exchange = None
                verdict = await off_loop(exchange.wait, WAIT_LIMIT_MS)
                answer.exchange = exchange
            if verdict.action == REPLY:
                await answer.reply(verdict)
            elif target is None and headers is None:
                await self.app(scope, answer.watched(receive), answer.send)
            else:
                await self._edited(target, headers, scope, answer.watched(receive), answer)
        except BaseException as error:
            await answer.close(error)
            raise
        await answer.close(None)

    async def _edited(self, target, headers, scope, receive, answer):
        """Runs the application with a changed request; what it adds to the scope is seen outside as without us."""
        inner = answer.scope = dict(scope)
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
