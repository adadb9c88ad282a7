"""Types of the public names. Options are those of options.json."""

import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, TypedDict, Unpack, overload

from ._native import Engine

__all__ = ["Forge", "ForgeMiddleware", "ForgeWSGI"]

_Scope = Any
_ASGIApp = Callable[[_Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
_WSGIApp = Callable[..., Iterable[bytes]]

class OpenAPI(TypedDict, total=False):
    paths: list[str]
    document: str | dict[str, Any]

class Diagnostics(TypedDict, total=False):
    attempts: int
    min_age_ms: int
    count_private_ips: bool
    header: bool

class Options(TypedDict, total=False):
    api_key: str | None
    """The project key. Signs feedback ids and authorises calls to the backend. This or api_key_file."""
    api_key_file: str | os.PathLike[str] | None
    """Path of a file with the key; one trailing newline is trimmed."""
    previous_api_keys: list[str]
    """Keys in use before a rotation: their ids stay valid for their time to live."""
    backend_url: str | None
    """Where events and ratings go. Without it there is no telemetry and rating routes answer 503."""
    public_url: str | None
    """Origin agents reach this server at, such as https://api.example.com; no path, at most 256 bytes."""
    feedback: bool
    """Ask agents to rate: challenge, receipt, body, header and rating routes."""
    base_path: str
    """Where the rating routes stand on the merchant's origin."""
    tone: Literal["default", "lifecycle"]
    """Voice of the extension's ask; lifecycle names the steps of a call."""
    body_layout: Literal["flat", "nested"]
    """Three members in a paid JSON body, or the same in one forge_feedback object."""
    describe_challenges: bool
    """Add the sentence to challenge descriptions."""
    challenge_extension: bool
    """Add the forge-feedback extension to v2 challenges."""
    receipt_extension: bool
    """Add the forge-feedback extension to successful v2 receipts."""
    inject_body: bool
    """Add the id and rating link to paid JSON object bodies."""
    rate_hint: bool
    """Add rate_this_call beside the id and link."""
    inject_text: bool
    """Add the id and link behind paid text/plain bodies."""
    extension_schema: bool
    """Add an object schema beside the extension's info, as the v2 text asks."""
    max_description: int
    """UTF-16 units at which a v2 description ends at the latest, 0 to 500."""
    require_settlement: bool
    """Give an id only when a successful receipt is seen."""
    json_types: list[str]
    """Media types whose bodies are JSON that may take members."""
    agent_context: Literal["off", "read", "ask", "required"]
    """Read, ask for, or require what the agent says of itself; off touches nothing of the request."""
    search_query: bool
    """Ask for (and in required mode require) the search query beside the agent type."""
    openapi: OpenAPI | bool
    """Enrich the OpenAPI document on these paths; a document given here makes its rules hold from the first response."""
    discovery: bool
    """Serve /.well-known/forge-feedback.json and add the rating line to /.well-known/x402."""
    diagnostics: Diagnostics | bool
    """Tell a client whose payments keep failing why, and when to stop."""
    service_description: str | None
    """Description whose SHA-256 is sent as X-Service-Hash on open402 answers."""
    replay_guard: bool
    """Refuse an open402 nonce that has been used for a paid answer."""
    replay_window_s: int
    """Seconds for which a nonce is remembered and a timestamp accepted, 1 to 86400."""
    rate_limit_per_minute: int
    """Paid open402 requests a minute for one payer; 0 is no limit."""
    visits: bool
    """Report other requests of non-browser clients, at most 120 a minute."""
    telemetry: bool
    """Send events to the backend."""
    ttl_ms: int
    """Milliseconds for which a feedback id can be used, 1000 to 31536000000."""
    flush_interval_ms: int
    """Milliseconds between two batches of events, 100 to 60000."""
    max_waits: int
    """Rating and summary calls that may wait for the backend at once, 1 to 64."""
    tls_ca_file: str | os.PathLike[str] | None
    """PEM file of the certificate authorities to trust for the backend, instead of the public ones."""
    proxy: str | None
    """Proxy for calls to the backend, such as http://127.0.0.1:3128. Never read from the environment."""
    strict: bool
    """Fail to open on a bad option instead of letting traffic pass with everything off."""

class Forge:
    """An engine and its adapters. A bad option turns everything off, with the reason in the log; with `strict` it raises
    ValueError."""

    engine: Engine | None
    """The engine itself; `None` where the extension module did not load."""

    def __init__(self, **options: Unpack[Options]) -> None: ...
    def asgi(self, app: _ASGIApp) -> ForgeMiddleware:
        """The ASGI application with this engine around it."""
    def wsgi(self, app: _WSGIApp) -> ForgeWSGI:
        """The WSGI application with this engine around it."""
    def stats(self) -> dict[str, Any]:
        """What has happened in this process so far: counters by name, and `skips` by reason."""
    def flush(self, timeout: float = 2.0) -> bool:
        """Waits until the events handed in so far are sent or dropped. BLOCKS for `timeout` seconds at most."""
    def shutdown(self, timeout: float = 0.8) -> bool:
        """Sends what there is and stops reporting. BLOCKS for `timeout` seconds at most. Called at exit by itself."""
    def diagnostics(self) -> list[str]:
        """Takes the lines that would go to the logger `forge_x402`."""

class ForgeMiddleware:
    """ASGI middleware; belongs outside the payment middleware."""

    app: _ASGIApp
    forge: Forge

    @overload
    def __init__(self, app: _ASGIApp, forge: Forge) -> None: ...
    @overload
    def __init__(self, app: _ASGIApp, forge: None = None, **options: Unpack[Options]) -> None: ...
    async def __call__(
        self, scope: _Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None: ...

class ForgeWSGI:
    """WSGI middleware; belongs outside the payment middleware."""

    app: _WSGIApp
    forge: Forge

    @overload
    def __init__(self, app: _WSGIApp, forge: Forge) -> None: ...
    @overload
    def __init__(self, app: _WSGIApp, forge: None = None, **options: Unpack[Options]) -> None: ...
    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]: ...
