"""The two headers of open402 / ag402, read and written strictly: what two readers could take for two things is a ValueError."""

import json
import secrets
import time

from . import _native

__all__ = [
    "build_challenge",
    "build_proof",
    "json_schema",
    "parse_challenge",
    "parse_proof",
    "replay_headers",
    "service_hash",
]


def parse_challenge(value):
    """The fields of a `WWW-Authenticate: x402 …` value."""
    return json.loads(_native.open402_parse_challenge(_bytes(value)))


def build_challenge(*, chain, token, amount, address, **optional):
    """The `WWW-Authenticate` value. Optional: service_hash, service_tier, refund_contract."""
    fields = {"chain": chain, "token": token, "amount": amount, "address": address, **optional}
    return _native.open402_build_challenge(json.dumps(fields).encode())


def parse_proof(value):
    """The fields of an `Authorization: x402 …` value, in either spelling."""
    return json.loads(_native.open402_parse_proof(_bytes(value)))


def build_proof(*, tx_hash, **optional):
    """The `Authorization` value. Optional: payer_address, chain, request_id."""
    return _native.open402_build_proof(json.dumps({"tx_hash": tx_hash, **optional}).encode())


def json_schema():
    """The JSON Schema of challenge and proof, as a dict."""
    return json.loads(_native.open402_json_schema())


def service_hash(description):
    """The value of `X-Service-Hash` for a description: "sha256:" and 64 hex digits of its UTF-8."""
    return _native.open402_service_hash(description)


def replay_headers(*, now_ms=None):
    """`X-x402-Timestamp` and `X-x402-Nonce` as a dict: one pair for both legs of a call."""
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    return dict(_native.open402_replay_headers(now_ms, secrets.token_bytes(16)))


def _bytes(value):
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
