"""Types of the agent's half."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal, NotRequired, TypedDict

__all__ = ["Budget", "OverBudget", "decide", "escalation_event", "parse_challenge", "parse_diagnostic"]

Headers = Mapping[str, str] | Iterable[tuple[str | bytes, str | bytes]]
"""A mapping such as `response.headers` of requests or httpx, or pairs."""

Amount = str | int | float | Decimal
"""A plain decimal such as "0.05"; a float counts as its shortest spelling."""

class Offer(TypedDict):
    scheme: str
    network: str
    """CAIP-2 in x402 v2, a name in v1 and open402."""
    asset: str
    amount: str
    """Smallest units ("atomic", a whole number) or the asset itself ("token", a plain decimal)."""
    unit: Literal["atomic", "token"]
    payTo: str
    maxTimeoutSeconds: NotRequired[int]

class Challenge(TypedDict):
    protocol: Literal["x402/2", "x402/1", "open402"]
    error: NotRequired[str]
    resource: NotRequired[str]
    description: NotRequired[str]
    offers: list[Offer]
    """The ways to pay, in the server's order; never empty."""
    extensions: NotRequired[Any]

class Diagnostic(TypedDict):
    code: str
    """One of the six codes, or what stood there."""
    reason: NotRequired[str]
    retry_policy: NotRequired[
        Literal["pay", "retry_new_payment", "retry_same_payment", "retry_with_backoff", "fix_and_retry", "do_not_retry"]
    ]
    retry_after: NotRequired[int]
    attempts: NotRequired[int]
    firstAttempt: NotRequired[str]
    message: NotRequired[str]
    suggestion: NotRequired[str]
    escalate: NotRequired[bool]
    correlation_id: NotRequired[str]
    facilitator_error_code: NotRequired[str]
    client_error_code: NotRequired[str]
    expires_at: NotRequired[int]
    """Unix seconds."""

class Decision(TypedDict):
    action: Literal["pay", "wait", "fix", "stop", "escalate"]
    wait_s: int
    """With "wait": seconds until the next request."""
    send: Literal["nothing", "new_payment", "same_payment"]
    block_endpoint: bool
    tell_operator: bool

class EscalationEvent(TypedDict):
    type: Literal["x402_escalation"]
    endpoint: str
    amount: NotRequired[float]
    currency: NotRequired[str]
    balance: NotRequired[float]
    correlation_id: NotRequired[str]
    diagnostic: Diagnostic
    timestamp: str

def parse_challenge(status: int, headers: Headers = (), body: bytes | str = b"") -> Challenge:
    """What a response asks to be paid: its PAYMENT-REQUIRED header, else its JSON body, else WWW-Authenticate: x402.

    Raises ValueError where there is nothing to pay, or where two readers could see two prices."""

def parse_diagnostic(headers: Headers = (), body: bytes | str = b"") -> Diagnostic | None:
    """What a response says about why payments fail; None where it says nothing. Never raises on what a server sent."""

def decide(
    diagnostic: Diagnostic | None,
    *,
    payments_sent: int = 0,
    last_payment_expired: bool = False,
    waits: int = 0,
    within_budget: bool = False,
    retry_after_s: int | None = None,
) -> Decision:
    """What to do after a refused call, from what the client knows itself. Without `within_budget` nothing is paid.

    Raises ValueError for a member that is unknown or of the wrong kind."""

def escalation_event(
    diagnostic: Diagnostic,
    *,
    endpoint: str,
    amount: Amount | None = None,
    currency: str | None = None,
    balance: Amount | None = None,
    request_id: str | None = None,
    now_ms: int | None = None,
) -> EscalationEvent:
    """The event to hand to the agent's operator. `now_ms`: unix milliseconds; now."""

class OverBudget(Exception):
    """A payment that a budget does not allow. Nothing was booked."""

    limit: Literal["call", "minute", "day"]
    def __init__(self, limit: Literal["call", "minute", "day"]) -> None: ...

class Budget:
    """What an agent may spend, exact to 18 decimals, in a unit of account that the caller chooses. Any threads may use it."""

    def __init__(
        self, *, per_call: Amount | None = None, per_minute: Amount | None = None, per_day: Amount | None = None
    ) -> None:
        """1, 2 and 10 where nothing is said. Raises ValueError for what is no amount, and for a `per_day` above 1,000."""
    def check(
        self, amount: Amount, *, decimals: int | None = None, now_ms: int | None = None
    ) -> Literal["call", "minute", "day"] | None:
        """The limit that a payment would break, or None. With `decimals` the amount is a whole number of smallest units."""
    def spend(self, amount: Amount, *, decimals: int | None = None, now_ms: int | None = None) -> None:
        """Books a payment; call it before you sign. Raises OverBudget where it does not fit."""
    def left_today(self, *, now_ms: int | None = None) -> Decimal:
        """What may still be spent in the 24 hours that end at `now_ms`."""
