"""Types of the open402 headers. Every function that reads or writes a header raises ValueError with the rule that is broken."""

from typing import Any, NotRequired, TypedDict

__all__ = [
    "build_challenge",
    "build_proof",
    "json_schema",
    "parse_challenge",
    "parse_proof",
    "replay_headers",
    "service_hash",
]

class Challenge(TypedDict):
    chain: str
    token: str
    amount: str
    """In token units, a plain decimal above zero."""
    address: str
    service_hash: NotRequired[str]
    service_tier: NotRequired[str]
    refund_contract: NotRequired[str]

class Proof(TypedDict):
    tx_hash: str
    payer_address: NotRequired[str]
    """A claim of the client until somebody has looked at the chain."""
    chain: NotRequired[str]
    request_id: NotRequired[str]

def parse_challenge(value: str | bytes) -> Challenge:
    """One WWW-Authenticate value. ValueError for duplicates, smuggled names, a second x402 challenge."""

def build_challenge(
    *,
    chain: str,
    token: str,
    amount: str,
    address: str,
    service_hash: str | None = None,
    service_tier: str | None = None,
    refund_contract: str | None = None,
) -> str:
    """The WWW-Authenticate value. ValueError for an empty field, an unsafe character, an amount that is none."""

def parse_proof(value: str | bytes) -> Proof:
    """One Authorization value: `x402 <tx_hash>` or the structured spelling."""

def build_proof(
    *, tx_hash: str, payer_address: str | None = None, chain: str | None = None, request_id: str | None = None
) -> str:
    """The Authorization value in the structured spelling."""

def json_schema() -> dict[str, Any]:
    """`x402_challenge` and `x402_proof` (draft 2020-12) and `protocol_version`."""

def service_hash(description: str) -> str:
    """The value of X-Service-Hash for a service description."""

def replay_headers(*, now_ms: int | None = None) -> dict[str, str]:
    """X-x402-Timestamp and X-x402-Nonce, one pair for both legs of a call. `now_ms`: unix milliseconds; now."""
