"""The real ag402 gateway and client with forge-x402 around the gateway: open402 as it is spoken in the field."""

import json
import time

import httpx
import open402 as theirs
import pytest
from forge_x402 import client, open402
from open402.headers import build_authorization, build_www_authenticate, parse_authorization, parse_www_authenticate
from open402.spec import X402PaymentChallenge, X402PaymentProof
from support.ag402 import PAYER, PRICE, SELLER, Gateway, Service, buy

V1 = {"Accept-x402-Version": "v1.0"}
RATE = "https://api.example.com/feedback/rate"


@pytest.fixture
def service():
    service = Service()
    yield service
    service.close()


@pytest.fixture
def sides(service, tmp_path, make_forge, backend):
    """Opens two gateways that differ only in our middleware."""
    opened = []

    def open_sides(gateway=None, **options):
        forge = make_forge(backend_url=backend.url, **options)
        for wrap in (lambda app: app, forge.asgi):
            opened.append(Gateway(service, tmp_path, wrap, **(gateway or {})).__enter__())
        return opened[-2:]

    yield open_sides
    for gateway in opened:
        gateway.__exit__()


@pytest.fixture(autouse=True)
def test_mode(monkeypatch):
    monkeypatch.setenv("X402_MODE", "test")


def proof_of(tx_hash, nonce="n-1", at=None):
    proof = open402.build_proof(tx_hash=tx_hash, payer_address=PAYER, chain="solana", request_id="r-1")
    return {"Authorization": proof, "X-x402-Timestamp": f"{at or time.time():.3f}", "X-x402-Nonce": nonce}


def test_the_client_pays_and_is_told_how_to_rate(sides, tmp_path, backend, service):
    bare, ours = sides()
    [plain] = buy(bare, tmp_path)
    assert plain.status_code == 200 and plain.payment_made
    [result] = buy(ours, tmp_path, headers={"X-Agent-ID": "agent-001"})
    assert (result.status_code, result.payment_made, result.amount_paid, result.error) == (200, True, 0.05, "")

    feedback_id = result.headers["forge-feedback-id"]
    assert result.body.startswith(plain.body[:-1] + b',"feedback_id":"'), "the service's own bytes come first"
    body = json.loads(result.body)
    assert body["feedback_id"] == feedback_id
    assert body["feedback_url"] == f"{RATE}?feedback_id={feedback_id}&outcome="
    assert [path for path, _ in service.seen] == ["/weather", "/weather"]

    [challenge] = backend.wait_for(type="challenge")
    assert challenge["dialect"] == "open402"
    [event] = backend.wait_for(type="interaction")
    told = {
        name: event.get(name) for name in ("dialect", "feedback_id", "payer", "network", "amount", "asset", "status")
    }
    assert told == {
        "dialect": "open402",
        "feedback_id": feedback_id,
        "payer": PAYER,
        "network": "solana",
        "amount": PRICE,
        "asset": "USDC",
        "status": 200,
    }
    assert event["transaction"] == result.tx_hash
    assert event["request_headers"]["x-agent-id"] == "agent-001"


@pytest.mark.parametrize("version", [None, "v9.9", "V1.0", "v1.0, v2.0"])
def test_without_the_version_that_has_extensions_the_challenge_keeps_every_byte(sides, version):
    headers = {} if version is None else {"Accept-x402-Version": version}
    bare, ours = [httpx.get(f"{side.url}/weather", headers=headers) for side in sides()]
    assert bare.status_code == ours.status_code == 402
    assert raw(bare) == raw(ours)
    assert bare.content == ours.content


def test_under_v1_the_body_alone_is_decorated(sides):
    bare, ours = [httpx.get(f"{side.url}/weather", headers=V1) for side in sides()]
    assert raw(bare, b"content-length") == raw(ours, b"content-length", b"accept-ranges")
    assert ours.content.startswith(bare.content[:-1] + b',"')
    body = json.loads(ours.content)
    added = {name: value for name, value in body.items() if name not in json.loads(bare.content)}
    assert list(added) == ["extensions", "description"] or list(added) == ["description", "extensions"]
    assert added["description"].startswith(f"After your call, please rate this service for other agents: GET {RATE}?")
    assert added["extensions"]["forge-feedback"]["info"]["rate"].startswith(f"GET {RATE}?")
    # What the client of the field reads is what it read before, and ours reads the same.
    value = ours.headers["www-authenticate"]
    found = parse_www_authenticate(value)
    assert (found.chain, found.token, found.amount, found.address) == ("solana", "USDC", PRICE, SELLER)
    [offer] = client.parse_challenge(402, ours.headers, ours.content)["offers"]
    assert (offer["amount"], offer["unit"], offer["payTo"]) == (PRICE, "token", SELLER)


def test_the_service_hash_stands_in_challenge_and_paid_answer(sides):
    _, ours = sides(service_description="Weather for a city")
    expected = open402.service_hash("Weather for a city")
    assert expected.startswith("sha256:") and len(expected) == 71
    assert httpx.get(f"{ours.url}/weather").headers["x-service-hash"] == expected
    paid = httpx.get(f"{ours.url}/weather", headers=proof_of(ours.pay()))
    assert (paid.status_code, paid.headers["x-service-hash"]) == (200, expected)


def test_both_spellings_of_a_payment_make_a_paid_call(sides, backend):
    _, ours = sides()
    for nonce, spelled in (
        ("n-1", "x402 {}"),
        ("n-2", 'x402 tx_hash="{}"'),
        ("n-3", 'X402  tx_hash="{}" chain="solana"'),
    ):
        tx_hash = ours.pay()
        answer = httpx.get(
            f"{ours.url}/weather", headers={**proof_of(tx_hash, nonce), "Authorization": spelled.format(tx_hash)}
        )
        assert answer.status_code == 200, spelled
        assert answer.json()["feedback_id"] == answer.headers["forge-feedback-id"]
        [event] = backend.wait_for(type="interaction", transaction=tx_hash)
        assert "payer" not in event and event["dialect"] == "open402"


def test_the_replay_guard_refuses_what_was_answered_and_never_a_slow_payer(sides):
    _, ours = sides(replay_guard=True)
    request = proof_of(ours.pay(), "nonce-of-one-call", at=time.time() - 900)
    assert httpx.get(f"{ours.url}/weather", headers=request).status_code == 200, "paying took a quarter of an hour"
    reached = ours.requests_seen()
    refused = httpx.get(f"{ours.url}/weather", headers=request)
    assert (refused.status_code, ours.requests_seen()) == (403, reached), "the gateway is not asked again"
    assert refused.content == b'{"error":"Replay rejected","detail":"Duplicate nonce (possible replay)"}'
    assert 0 < int(refused.headers["retry-after"]) <= 300
    for broken, detail in (
        ({"X-x402-Nonce": None}, "Missing X-x402-Nonce header"),
        ({"X-x402-Timestamp": None}, "Missing X-x402-Timestamp header"),
        ({"X-x402-Nonce": "n" * 129}, "Nonce too long"),
        ({"X-x402-Timestamp": "soon"}, None),
    ):
        headers = {name: value for name, value in {**proof_of(ours.pay(), "other"), **broken}.items() if value}
        answer = httpx.get(f"{ours.url}/weather", headers=headers)
        assert answer.status_code == 403 and answer.json()["error"] == "Replay rejected", broken
        assert detail is None or answer.json()["detail"].startswith(detail)


def test_the_replay_guard_lets_the_client_buy_again_and_again(sides, tmp_path):
    _, ours = sides(replay_guard=True)
    # Five a minute are what the client's own budget allows a wallet.
    results = buy(ours, tmp_path, times=5) + buy(ours, tmp_path, times=5)
    assert [(result.status_code, result.error) for result in results] == [(200, "")] * 10
    assert len({result.headers["forge-feedback-id"] for result in results}) == 10


def test_an_answer_that_failed_gives_the_nonce_back(sides):
    bare, ours = sides(replay_guard=True)
    for side in (bare, ours):
        request = proof_of(side.pay(), "nonce-of-a-broken-call")
        first, second = [httpx.get(f"{side.url}/broken", headers=request) for _ in range(2)]
        # The gateway's own guard has used the nonce up; ours lets it say so.
        assert (first.status_code, second.status_code, second.json()["detail"]) == (
            500,
            403,
            "Duplicate nonce (possible replay)",
        )
        assert "retry-after" not in second.headers


def test_the_rate_limit_says_when_to_come_again(sides):
    _, ours = sides(rate_limit_per_minute=3)
    answers = [httpx.get(f"{ours.url}/weather", headers=proof_of(ours.pay(), f"n-{turn}")) for turn in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[3].content == b'{"error":"Too Many Requests","detail":"Rate limit exceeded"}'
    assert 0 < int(answers[3].headers["retry-after"]) <= 60
    assert answers[3].headers["content-type"] == "application/json; charset=utf-8"
    assert httpx.get(f"{ours.url}/weather").status_code == 402, "who does not pay yet is not counted"


def test_a_refused_proof_is_diagnosed_in_the_403_and_the_agent_stops(sides):
    bare, ours = sides(diagnostics=True)
    for side in (bare, ours):
        side.answer = httpx.get(f"{side.url}/weather", headers=proof_of("not_a_transaction_of_this_chain"))
        assert (side.answer.status_code, side.answer.json()["error"]) == (403, "Payment verification failed")
    assert ours.answer.content.startswith(bare.answer.content[:-1] + b',"diagnostic":{')
    assert ours.answer.headers["cache-control"] == "no-store"
    told = client.parse_diagnostic(ours.answer.headers, ours.answer.content)
    assert told["code"] == "PAYMENT_UNVERIFIED" and not told["escalate"]
    decision = client.decide(told, payments_sent=1, within_budget=True)
    assert decision["send"] != "new_payment", "the money may have moved"
    # The merchant's own 403 is no failed payment.
    bearer = httpx.get(f"{ours.url}/weather", headers={"Authorization": "Bearer not-a-real-token"})
    assert (
        bearer.content == httpx.get(f"{bare.url}/weather", headers={"Authorization": "Bearer not-a-real-token"}).content
    )


def test_headers_of_ours_are_read_by_the_package_and_the_other_way_round():
    built = open402.build_challenge(chain="solana", token="USDC", amount=PRICE, address=SELLER, service_tier="basic")
    challenge = X402PaymentChallenge("solana", "USDC", PRICE, SELLER, service_tier="basic")
    assert built == build_www_authenticate(challenge)
    assert parse_www_authenticate(built) == challenge
    assert open402.parse_challenge(build_www_authenticate(challenge)) == {
        "chain": "solana",
        "token": "USDC",
        "amount": PRICE,
        "address": SELLER,
        "service_tier": "basic",
    }
    proof = X402PaymentProof("5Kd3", "solana", PAYER, "r-1")
    built = open402.build_proof(tx_hash="5Kd3", payer_address=PAYER, chain="solana", request_id="r-1")
    assert built == build_authorization(proof) and parse_authorization(built) == proof
    assert open402.parse_proof(build_authorization(proof))["request_id"] == "r-1"
    # Where the package's client would pay another amount, ours refuses to read or write.
    smuggled = build_www_authenticate(X402PaymentChallenge("solana", "USDC", PRICE, SELLER)) + ' max-amount="4.99"'
    assert parse_www_authenticate(smuggled).amount == "4.99"
    with pytest.raises(ValueError, match="amount: a loose scanner"):
        open402.parse_challenge(smuggled)


def test_the_schema_is_the_packages_but_for_a_default_outside_its_own_enum():
    mine = open402.json_schema()
    package = json.loads(json.dumps(theirs.get_json_schema()))
    del package["x402_challenge"]["properties"]["service_tier"]["default"]
    assert mine == package


def raw(answer, *but):
    """Header lines as they came, Date apart, in order."""
    return [line for line in answer.headers.raw if line[0].lower() not in (b"date", *but)]
