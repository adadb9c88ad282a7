"""The engine, as the extension module has it. Adapters are built on it; an application needs `Forge` only.

Every method returns at once unless it says BLOCKS. Objects may be used from any thread; an exchange from one at a time.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, final

_Headers = Iterable[tuple[bytes, bytes]] | Iterable[tuple[str, str]]

@final
class Verdict:
    """What to do with the message in hand."""

    @property
    def action(self) -> Literal[0, 1, 2, 3]:
        """0: apply the edits and go on. 1: answer the request now. 2: come again with the whole body. 3: call `wait`."""
    @property
    def http_status(self) -> int:
        """The status to answer with; 0 unless `action` is 1."""
    @property
    def body_limit(self) -> int:
        """With action 2: the largest body worth holding, in bytes. Of a larger one, apply this verdict and stream on."""
    @property
    def headers(self) -> list[tuple[Any, Any]] | None:
        """The head that was judged, edited, in the host's own spelling; `None`: it stays. With action 1 see `edits`."""
    @property
    def body(self) -> bytes | None:
        """The whole body to send, or hand on, instead of the one that came."""
    @property
    def target(self) -> bytes | None:
        """The request target to hand on instead of the one that came."""
    @property
    def feedback_id(self) -> str | None:
        """The feedback id that this answer carries."""
    @property
    def edits(self) -> list[tuple[Literal["set", "add", "remove"], str, bytes]]:
        """The changes of the head; with action 1, the headers of the answer."""

@final
class Exchange:
    """One request and its answer."""

    def on_request_body(self, body: bytes, headers: _Headers) -> Verdict:
        """The whole body of the request after action 2, or more than `body_limit` bytes of it. `headers`: the request's."""
    def on_response(
        self, status: int, headers: _Headers, route: str | None = None, body: bytes | None = None, text: bool = False
    ) -> Verdict:
        """The head of the answer; the same head again with the body after action 2. `text`: new lines are `str`."""
    def wait(self, limit_ms: int) -> Verdict:
        """After action 3. BLOCKS for `limit_ms` at most, never longer than 3 s; other Python threads run."""
    def end(self, outcome: Literal["delivered", "aborted", "failed", "unknown"], status: int, body_bytes: int) -> None:
        """Writes the events. Twice is once."""

@final
class Engine:
    """A merchant's engine. Opening it starts no thread and opens no socket; it goes through a fork."""

    def __new__(cls, options_json: bytes) -> Engine:
        """Raises ValueError with the option `strict` and a fault in the options; without it, see `faults`."""
    def faults(self) -> list[str]:
        """Why the engine is off; empty when it is on."""
    def on_request(
        self, method: str, target: bytes, headers: _Headers, client_ip: str | None
    ) -> tuple[Exchange, Verdict] | None:
        """`None`: nothing to do before the answer; if that is a 402, call `on_response_late`."""
    def on_response_late(
        self,
        method: str,
        target: bytes,
        request_headers: _Headers,
        client_ip: str | None,
        status: int,
        headers: _Headers,
        route: str | None = None,
        body: bytes | None = None,
        text: bool = False,
    ) -> tuple[Exchange, Verdict] | None:
        """`None`: let the answer pass."""
    def diagnostics(self) -> str:
        """Takes the lines for the log, as a JSON array of strings."""
    def is_log_due(self) -> bool:
        """Whether it is time, once a second, to look for lines to log. Asked when an exchange ends."""
    def stats(self) -> dict[str, Any]: ...
    def flush(self, limit_ms: int) -> bool:
        """BLOCKS for `limit_ms` at most; other Python threads run."""
    def shutdown(self, limit_ms: int, at_exit: bool = False) -> bool:
        """BLOCKS for `limit_ms` at most; other Python threads run, but for `at_exit`."""
    def enqueue_event(self, json: bytes) -> None:
        """Hands in an event of the host's own: an object with a text `type`, at most 16 KiB. Raises ValueError."""
    def transform_challenge(self, form: Literal["header", "body"], input: bytes) -> bytes | None:
        """A challenge with the ask; `None`: send the original."""
    def enrich_receipt(self, value: bytes, feedback_id: str) -> bytes | None: ...
    def enrich_body(self, body: bytes, feedback_id: str) -> bytes | None: ...
    def enrich_openapi(self, document: bytes) -> bytes | None: ...
    def mint_id(self) -> str: ...
    def verify_id(
        self, feedback_id: str, unix_ms: int | None = None
    ) -> Literal["valid", "malformed", "bad_signature", "expired"]: ...

@final
class Answer:
    """The answer of one ASGI request. One task at a time, any thread."""

    @property
    def ahead(self) -> Verdict | None:
        """What to do before the application runs."""
    @property
    def receive(self) -> Callable[[], Awaitable[Any]]:
        """What the application receives through, where nothing is ahead."""
    def send(self, message: Any) -> Awaitable[None]:
        """The application's send."""
    def close(self, error: BaseException | None) -> Awaitable[None] | None:
        """The application has returned or raised. Await what is given and call again, until it is `None`."""
    def runs_in(self, scope: dict[str, Any]) -> None:
        """The application has another scope than the server's."""
    def completes(self, gone: bool) -> None:
        """The last message is about to be sent. `gone`: the server knows that the client has left."""
    def end(self) -> None:
        """It is sent: writes the events."""
    def send_failed(self) -> None:
        """The server's send has raised OSError."""
    def disconnected(self) -> None:
        """The application has received `http.disconnect`."""
    def on_request_body(self, body: bytes) -> Verdict:
        """As `Exchange.on_request_body`, with the headers of the scope."""
    def wait(self, limit_ms: int) -> Verdict:
        """After action 3. BLOCKS for `limit_ms` at most, never longer than 3 s; other Python threads run."""
    def reply(self, verdict: Verdict) -> Awaitable[None]:
        """Answers in the application's place, after action 1."""

@final
class Asgi:
    """What the answers of one ASGI application share. The functions are those of `_answer.py`."""

    def __new__(
        cls,
        engine: Engine,
        forge: Any,
        nothing: Callable[[], Awaitable[None]],
        send_all: Callable[..., Awaitable[None]],
        watched: Callable[..., Callable[[], Awaitable[Any]]],
    ) -> Asgi: ...
    def begin(
        self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> Answer | None:
        """Looks at a request. `None`: not HTTP, or another layer of ours has it. Raises where it cannot be read."""

class ClientBudget:
    def __init__(self, limits_json: bytes) -> None: ...
    def check(self, now_ms: int, amount: bytes, decimals: int | None) -> Literal["call", "minute", "day"] | None: ...
    def spend(self, now_ms: int, amount: bytes, decimals: int | None) -> Literal["call", "minute", "day"] | None: ...
    def left_today(self, now_ms: int) -> str: ...

def client_parse_challenge(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bytes: ...
def client_parse_diagnostic(headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bytes | None: ...
def client_decide(diagnostic_json: bytes, state_json: bytes) -> bytes: ...
def client_escalation_event(diagnostic_json: bytes, call_json: bytes) -> bytes: ...
def open402_parse_challenge(value: bytes) -> bytes: ...
def open402_build_challenge(json: bytes) -> str: ...
def open402_parse_proof(value: bytes) -> bytes: ...
def open402_build_proof(json: bytes) -> str: ...
def open402_json_schema() -> str: ...
def open402_service_hash(description: str) -> str: ...
def open402_replay_headers(now_ms: int, random: bytes) -> list[tuple[str, str]]: ...
