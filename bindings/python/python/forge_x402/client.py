"""The agent's half: what a 402 asks for, why a payment failed, whether to go on, how much may be spent.

Pure functions and one small account; no network, no wallet, nothing blocks. Whatever a server says here can make a client stop or
wait; it cannot make it pay once more.
"""

import json
import time
from decimal import Decimal

from . import _native

__all__ = ["Budget", "OverBudget", "decide", "escalation_event", "parse_challenge", "parse_diagnostic"]


def parse_challenge(status, headers=(), body=b""):
    """What a response asks to be paid, as a dict. ValueError where there is nothing to pay, or where two readers could see two
    prices: then nothing is to be paid."""
    return json.loads(_native.client_parse_challenge(_status(status), _lines(headers), _bytes(body)))


def parse_diagnostic(headers=(), body=b""):
    """What a response says about why payments fail, under the names of the wire; None where it says nothing."""
    found = _native.client_parse_diagnostic(_lines(headers), _bytes(body))
    return None if found is None else json.loads(found)


def decide(diagnostic, **state):
    """What to do after a refused call. ValueError for a state or diagnostic that is none: then nothing is to be paid."""
    return json.loads(_native.client_decide(_text(diagnostic), json.dumps(state).encode()))


def escalation_event(diagnostic, *, endpoint, amount=None, currency=None, balance=None, request_id=None, now_ms=None):
    """The event to hand to the agent's operator, as a dict."""
    call = {
        "endpoint": endpoint,
        "amount": _plain(amount),
        "currency": currency,
        "balance": _plain(balance),
        "request_id": request_id,
        "now_ms": _now(now_ms),
    }
    return json.loads(_native.client_escalation_event(_text(diagnostic), json.dumps(call).encode()))


class OverBudget(Exception):
    """A payment that a budget does not allow. `limit` is "call", "minute" or "day". Nothing was booked."""

    def __init__(self, limit):
        super().__init__(f"over the limit per {limit}")
        self.limit = limit


class Budget:
    """What an agent may spend, exact to 18 decimals: 1 a call, 2 a minute, 10 a day where nothing is said.

    Any threads may use it."""

    def __init__(self, *, per_call=None, per_minute=None, per_day=None):
        limits = {"per_call": _plain(per_call), "per_minute": _plain(per_minute), "per_day": _plain(per_day)}
        self._inner = _native.ClientBudget(json.dumps(limits).encode())

    def check(self, amount, *, decimals=None, now_ms=None):
        """The limit that a payment would break, or None."""
        return self._inner.check(_now(now_ms), _plain(amount).encode(), decimals)

    def spend(self, amount, *, decimals=None, now_ms=None):
        """Books a payment; call it before you sign. OverBudget where it does not fit. An unknown outcome stays booked."""
        limit = self._inner.spend(_now(now_ms), _plain(amount).encode(), decimals)
        if limit is not None:
            raise OverBudget(limit)

    def left_today(self, *, now_ms=None):
        """What may still be spent in the 24 hours that end at `now_ms`, as a Decimal."""
        return Decimal(self._inner.left_today(_now(now_ms)))


def _lines(headers):
    """Pairs of bytes; from a mapping (requests, httpx) or from pairs of text or bytes."""
    for name in ("multi_items", "items"):
        if hasattr(headers, name):
            headers = getattr(headers, name)()
            break
    return [(_bytes(name), _bytes(value)) for name, value in headers]


def _bytes(value):
    # UTF-8, not Latin-1: no character may turn into a quote.
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value or b"")


def _text(diagnostic):
    return b"" if diagnostic is None else json.dumps(diagnostic).encode()


def _status(status):
    return status if 0 <= status <= 65_535 else 0


def _plain(amount):
    """A plain decimal as text; a float counts as its shortest spelling."""
    if amount is None or isinstance(amount, str):
        return amount
    return format(Decimal(str(amount)), "f")


def _now(now_ms):
    return time.time_ns() // 1_000_000 if now_ms is None else now_ms
