"""What a type checker sees of the package; checked by mypy, never run."""

from collections.abc import Callable, Iterable
from typing import Any

from forge_x402 import Forge, ForgeMiddleware, ForgeWSGI


def wsgi_app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [])
    return [b""]


async def asgi_app(scope: Any, receive: Any, send: Any) -> None: ...


forge = Forge(
    api_key="ffk_example", public_url="https://api.example.com", openapi={"paths": ["/openapi.json"]}, tone="lifecycle"
)
one: ForgeMiddleware = forge.asgi(asgi_app)
two: ForgeWSGI = ForgeWSGI(wsgi_app, api_key="ffk_example", diagnostics={"attempts": 5})
three: ForgeMiddleware = ForgeMiddleware(asgi_app, forge=forge)
lines: list[str] = forge.diagnostics()
done: bool = forge.flush(1.5) and forge.shutdown()
if forge.engine is not None:
    begun = forge.engine.on_request("GET", b"/", [(b"a", b"b")], None)
    if begun is not None:
        exchange, verdict = begun
        body: bytes | None = verdict.body
        exchange.end("delivered", 200, 0)

Forge(tone="angry")  # type: ignore[arg-type]
Forge(no_such_option=1)  # type: ignore[call-arg]
