"""The agent's half and open402 as Python sees them: values in and out, and errors where nothing is to be paid."""

import base64
import hashlib
import json
import threading
from decimal import Decimal

import httpx
import pytest
import requests
from forge_x402 import client, open402

ACCEPTS = [
    {
        "scheme": "exact",
        "network": "eip155:84532",
        "amount": "7",
        "asset": "0xA",
        "payTo": "0xB",
        "maxTimeoutSeconds": 60,
    }
]
OFFER = {**ACCEPTS[0], "unit": "atomic"}
OPEN402 = 'x402 chain="solana" token="USDC" amount="0.05" address="Addr"'
DIAGNOSTIC = {"code": "WALLET_INSUFFICIENT_FUNDS", "escalate": True}
DAY = 86_400_000


def v2(**challenge):
    return base64.b64encode(json.dumps({"x402Version": 2, **challenge}).encode()).decode()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda value: {"payment-required": value},
        lambda value: [("PAYMENT-REQUIRED", value)],
        lambda value: [(b"payment-required", value.encode())],
        lambda value: httpx.Headers({"Payment-Required": value}),
        lambda value: requests.structures.CaseInsensitiveDict({"Payment-Required": value}),
    ],
)
def test_a_challenge_whatever_the_headers_come_in(wrap):
    headers = wrap(v2(resource={"url": "https://api.example.com/w"}, accepts=ACCEPTS))
    expected = {"protocol": "x402/2", "resource": "https://api.example.com/w", "offers": [OFFER]}
    assert client.parse_challenge(402, headers, b"{}") == expected


def test_v1_and_open402_have_the_same_shape():
    entry = {**ACCEPTS[0], "maxAmountRequired": "7"}
    del entry["amount"]
    body = json.dumps({"x402Version": 1, "error": "e", "accepts": [entry]})
    for given in (body, body.encode(), bytearray(body.encode())):
        assert client.parse_challenge(402, body=given) == {"protocol": "x402/1", "error": "e", "offers": [OFFER]}
    [offer] = client.parse_challenge(402, {"www-authenticate": OPEN402})["offers"]
    assert (offer["amount"], offer["unit"]) == ("0.05", "token")


@pytest.mark.parametrize(
    ("status", "headers", "says"),
    [
        (200, {"payment-required": v2(accepts=ACCEPTS)}, "status 200 is no challenge"),
        (65_938, {"payment-required": v2(accepts=ACCEPTS)}, "is no challenge"),
        (402, [("payment-required", v2(accepts=ACCEPTS))] * 2, "stands there twice"),
        (402, httpx.Headers([("payment-required", v2(accepts=ACCEPTS))] * 2), "stands there twice"),
        (402, {"www-authenticate": OPEN402 + ' max-amount="9"'}, "amount: a loose scanner"),
        (402, {"www-authenticate": OPEN402.replace("Addr", "A\u0122 \u0122")}, "address: holds a quote"),
        (402, {}, "without an x402 or open402 challenge"),
    ],
)
def test_where_there_is_nothing_to_pay_it_raises_and_says_why(status, headers, says):
    with pytest.raises(ValueError, match=says):
        client.parse_challenge(status, headers)


def test_a_diagnostic_and_none():
    told = {"code": "PAYMENT_UNVERIFIED", "reason": "signature_invalid", "attempts": 2, "escalate": False}
    assert client.parse_diagnostic(body=json.dumps({"diagnostic": told})) == told
    header = {"payment-required": v2(extensions={"diagnostic": {"info": told}})}
    assert client.parse_diagnostic(header) == told
    for body in ("", "no JSON", "{}", '{"diagnostic":"x"}', '{"diagnostic":{"code":"A"},"diagnostic":{"code":"B"}}'):
        assert client.parse_diagnostic(body=body) is None


def test_decide():
    pay = {"action": "pay", "wait_s": 0, "send": "new_payment", "block_endpoint": False, "tell_operator": False}
    assert client.decide(None, within_budget=True) == pay
    assert client.decide(None)["action"] == "stop", "without a budget nothing is paid"
    assert client.decide(DIAGNOSTIC, within_budget=True)["action"] == "escalate"
    waiting = client.decide(
        {"code": "PAYMENT_REQUIRED", "retry_policy": "retry_with_backoff"}, payments_sent=1, retry_after_s=9
    )
    assert (waiting["action"], waiting["wait_s"], waiting["send"]) == ("wait", 9, "same_payment")
    for diagnostic, state in ((None, {"payment_sent": 1}), (None, {"waits": -1}), ({}, {}), ("PAYMENT_REQUIRED", {})):
        with pytest.raises(ValueError, match=r"state|diagnostic"):
            client.decide(diagnostic, **state)


def test_the_operators_event():
    event = client.escalation_event(
        DIAGNOSTIC,
        endpoint="https://api.example.com/w",
        amount=Decimal("0.001"),
        currency="USDC",
        balance=0,
        request_id="r-1",
        now_ms=1_773_100_800_000,
    )
    assert event == {
        "type": "x402_escalation",
        "endpoint": "https://api.example.com/w",
        "amount": 0.001,
        "currency": "USDC",
        "balance": 0,
        "correlation_id": "r-1",
        "diagnostic": DIAGNOSTIC,
        "timestamp": "2026-03-10T00:00:00Z",
    }
    with pytest.raises(ValueError, match="diagnostic: no JSON object"):
        client.escalation_event(None, endpoint="x")


def test_a_budget_keeps_its_limits_exactly():
    budget = client.Budget(per_call="0.2", per_minute=0.3, per_day=Decimal("0.3"))
    now = 1000 * DAY
    assert budget.check("0.21", now_ms=now) == "call"
    budget.spend(0.1, now_ms=now)
    budget.spend(200_000, decimals=6, now_ms=now)
    assert budget.check(Decimal("1E-18"), now_ms=now) == "minute"
    with pytest.raises(client.OverBudget) as caught:
        budget.spend("0.01", now_ms=now + 120_000)
    assert (caught.value.limit, str(caught.value)) == ("day", "over the limit per day")
    assert budget.left_today(now_ms=now) == 0
    assert budget.left_today(now_ms=now + 2 * DAY) == Decimal("0.3")
    assert client.Budget().left_today() == 10
    for bad in ("1e3", "-1", "", "ten", float("nan"), -0.5):
        with pytest.raises(ValueError, match="amount: not a plain decimal"):
            budget.spend(bad)
    with pytest.raises(ValueError, match="above the ceiling"):
        client.Budget(per_day=1000.5)


def test_threads_together_never_spend_more_than_the_limit():
    budget, booked = client.Budget(per_minute=2, per_day=2), []

    def spend():
        for _ in range(200):
            try:
                budget.spend("0.01", now_ms=1)
            except client.OverBudget:
                continue
            booked.append(1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(booked) == 200


def test_open402_headers_are_read_back_and_nothing_is_smuggled():
    fields = {"chain": "solana", "token": "USDC", "amount": "0.05", "address": "Addr"}
    assert open402.build_challenge(**fields) == OPEN402
    assert open402.parse_challenge(f'Bearer realm="x", {OPEN402}') == fields
    assert open402.parse_challenge(OPEN402.encode()) == fields
    assert open402.parse_proof("x402 5Kd3") == {"tx_hash": "5Kd3"}
    for address in ('A" amount="9', "A\r\nX-Evil: 1", "A\\", "A\u0122", ""):
        with pytest.raises(ValueError, match="address: "):
            open402.build_challenge(**{**fields, "address": address})
    with pytest.raises(ValueError, match="no field is called so"):
        open402.build_challenge(**fields, max_amount="9")
    with pytest.raises(ValueError, match="tx_hash: missing"):
        open402.build_proof(tx_hash="")


def test_open402_hash_and_replay_fields():
    assert open402.service_hash("caf\u00e9") == "sha256:" + hashlib.sha256("caf\u00e9".encode()).hexdigest()
    fields = open402.replay_headers(now_ms=1_796_038_177_673)
    assert list(fields) == ["X-x402-Timestamp", "X-x402-Nonce"]
    assert fields["X-x402-Timestamp"] == "1796038177.673" and len(fields["X-x402-Nonce"]) == 32
    assert fields["X-x402-Nonce"] != open402.replay_headers()["X-x402-Nonce"]
