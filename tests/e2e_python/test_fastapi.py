"""FastAPI with the real payment package, its real client, and real servers; a facilitator that checks every signature.

Each server runs the same merchant twice, without us and with us; what we do not add is the same in both, byte for byte.
"""

import asyncio
import json
import signal
import time

import pytest
from merchants.settings import REPORT
from support import servers
from support.backend import Backend
from support.buyer import Buyer
from support.facilitator import Facilitator
from support.payments import PAYMENT_HEADER, decoded
from support.raw_http import Connection, ask
from support.servers import Server, hypercorn, uvicorn

APP = "merchants.fastapi_app:app"
SERVERS = {
    "uvicorn httptools": (uvicorn, {}),
    "uvicorn h11 asyncio": (uvicorn, {"http": "h11", "loop": "asyncio"}),
    "hypercorn asyncio": (hypercorn, {"worker": "asyncio"}),
    "hypercorn trio": (hypercorn, {"worker": "trio"}),
}


class Pair:
    """The merchant without us and with us."""

    def __init__(self, make, keywords):
        self.facilitator, self.backend = Facilitator(), Backend()
        self.bare = Server(make, APP, facilitator=self.facilitator, **keywords)
        self.ours = Server(make, APP, facilitator=self.facilitator, backend=self.backend, **keywords)
        self.buyer = Buyer()

    def __enter__(self):
        self.bare.__enter__()
        self.ours.__enter__()
        return self

    def __exit__(self, *_):
        for part in (self.bare, self.ours):
            part.stop()
        self.facilitator.close()
        self.backend.close()

    def pay(self, server, method, path, **keywords):
        return asyncio.run(self.buyer.pay(method, server.url + path, **keywords))

    def paid_both(self, method, path, **keywords):
        return [self.pay(server, method, path, **keywords) for server in (self.bare, self.ours)]


@pytest.fixture(scope="module", params=SERVERS.values(), ids=SERVERS.keys())
def pair(request):
    make, keywords = request.param
    with Pair(make, keywords) as pair:
        yield pair


def names(answer):
    return {name.lower() for name in answer.headers}


def check_edited(answer, given):
    feedback_id = answer.headers["forge-feedback-id"]
    assert answer.content.startswith(given.rstrip()[:-1])
    added = json.loads(answer.content)
    assert added["feedback_id"] == feedback_id
    assert added["feedback_url"] == f"https://api.example.com/feedback/rate?feedback_id={feedback_id}&outcome="
    assert answer.headers["content-length"] == str(len(answer.content))
    receipt = decoded(answer.headers["payment-response"])
    assert receipt["success"] and receipt["extensions"]["forge-feedback"]["info"]["feedback_id"] == feedback_id
    return feedback_id


def test_an_unpaid_request_is_a_challenge_with_the_ask(pair):
    bare, ours = (ask(server.port, "GET", "/paid/report") for server in (pair.bare, pair.ours))
    assert (bare.status, ours.status, ours.reason) == (402, 402, bare.reason)
    assert ours.body == bare.body and [name for name, _ in ours.headers] == [name for name, _ in bare.headers]
    before, after = decoded(bare.get("payment-required")), decoded(ours.get("payment-required"))
    assert after["accepts"] == before["accepts"]
    assert after["resource"]["description"].startswith("Weather report. After your call, please rate")
    assert after["extensions"]["forge-feedback"]["info"]["protocol"] == "forge-feedback/0"


def test_a_real_payment_buys_the_same_body_and_the_members(pair):
    bare, ours = pair.paid_both("GET", "/paid/report")
    assert bare.status_code == ours.status_code == 200 and bare.content == REPORT
    feedback_id = check_edited(ours, REPORT)
    assert names(ours) - names(bare) == {"forge-feedback-id", "accept-ranges"}
    assert "private" in ours.headers["cache-control"]
    (event,) = pair.backend.wait_for(feedback_id=feedback_id)
    assert event["payer"] == pair.buyer.account.address and event["settled"] is True
    assert (event["amount"], event["network"], event["dialect"]) == ("10000", "eip155:84532", "x402/2")
    assert (event["status"], event["outcome"]) == (200, "delivered")
    pair.backend.wait_for(type="challenge", route="GET /paid/report")


def test_the_paid_client_rates_and_the_rating_arrives(pair):
    rated = pair.pay(pair.ours, "GET", "/paid/report").json()["feedback_url"] + "fully"
    answer = ask(pair.ours.port, "GET", rated.removeprefix("https://api.example.com"))
    assert answer.status == 200 and json.loads(answer.body) == {"recorded": True}
    assert pair.backend.ratings[-1]["outcome"] == "fully"


def test_the_facilitator_is_sent_what_it_would_be_sent_without_us(pair):
    pair.facilitator.calls.clear()
    pair.paid_both("GET", "/paid/report")
    bare, ours = (body["paymentRequirements"] for path, body in pair.facilitator.calls if path == "/settle")
    assert bare == ours


def test_the_route_pattern_is_told(pair):
    answer = pair.pay(pair.ours, "GET", "/paid/weather/oslo")
    assert answer.json()["city"] == "oslo"
    (event,) = pair.backend.wait_for(feedback_id=answer.headers["forge-feedback-id"])
    # The payment middleware answers in front of the router with a scope of its own, or hands the pattern on.
    assert event["route"] in ("GET /paid/weather/{city}", "GET /paid/weather/oslo")


def test_d04_p20_context_is_cut_from_body_and_query(pair):
    body = b'{"agent_context":{"agent_type":"codex","search_query":"direct"},"q":1.10}'
    headers = {"content-type": "application/json"}
    bare, ours = pair.paid_both("POST", "/paid/echo?x=1&agent_client=awal", content=body, headers=headers)
    assert bare.content == body and bare.headers["x-query"] == "x=1&agent_client=awal"
    assert ours.content.startswith(b'{"q":1.10,"feedback_id":"') and ours.headers["x-query"] == "x=1"
    (event,) = pair.backend.wait_for(feedback_id=ours.headers["forge-feedback-id"])
    assert event["agent_context"] == {"agent_type": "Codex", "client": "awal", "search_query": "direct"}


def test_p15_a_file_a_stream_and_a_background_task(pair):
    for path in ("/paid/stream", "/paid/file", "/paid/background"):
        bare, ours = pair.paid_both("GET", path)
        assert bare.status_code == ours.status_code == 200
        if path == "/paid/stream":
            assert ours.content == bare.content
        else:
            check_edited(ours, bare.content)
        assert "forge-feedback-id" in ours.headers
    counted = [json.loads(ask(server.port, "GET", "/finished").body)["finished"] for server in (pair.bare, pair.ours)]
    assert counted == [1, 1]


def test_p15_five_megabytes_stream_and_a_free_answer_is_byte_for_byte_the_same(pair):
    for path in ("/big", "/free", "/nowhere"):
        bare, ours = (ask(server.port, "GET", path) for server in (pair.bare, pair.ours))
        assert (ours.status, ours.body) == (bare.status, bare.body)
        drop = {"date"}
        assert [line for line in ours.headers if line[0] not in drop] == [
            line for line in bare.headers if line[0] not in drop
        ]
    assert len(ask(pair.ours.port, "GET", "/big").body) == 80 * 65_536


def test_l06_c30_a_handler_that_raises_is_a_500_and_is_reported(pair):
    before = len(pair.backend.events)
    bare, ours = pair.paid_both("GET", "/paid/raises")
    assert bare.status_code == ours.status_code == 500 and ours.content == bare.content
    assert "forge-feedback-id" not in ours.headers
    events = pair.backend.wait_for(type="interaction", route="GET /paid/raises")
    assert events[-1]["status"] == 500 and len(pair.backend.events) > before


def test_an_error_of_the_handlers_own_is_not_paid_and_carries_no_id(pair):
    bare, ours = pair.paid_both("GET", "/paid/teapot")
    assert bare.status_code == ours.status_code == 418 and ours.content == bare.content
    assert "forge-feedback-id" not in ours.headers
    assert pair.backend.wait_for(type="interaction", route="GET /paid/teapot")[-1]["status"] == 418


def test_l09_d01_a_junk_payment_on_a_free_route_changes_nothing(pair):
    headers = [("x-payment", "junk"), ("payment-signature", "e30=")]
    bare, ours = (ask(server.port, "GET", "/free", headers) for server in (pair.bare, pair.ours))
    assert (ours.status, ours.body) == (200, bare.body) and ours.get("forge-feedback-id") is None


def test_l02_e01_a_poisoned_payment_spoils_no_batch(pair):
    import base64

    poison = base64.b64encode(
        b'{"x402Version":2,"payload":{"authorization":{"from":"\\ud800","value":"1"}},"accepted":{"network":"\\udfff"}}'
    ).decode()
    assert ask(pair.ours.port, "GET", "/paid/report", [("payment-signature", poison)]).status == 402
    answer = pair.pay(pair.ours, "GET", "/paid/report")
    pair.backend.wait_for(feedback_id=answer.headers["forge-feedback-id"])


def test_l07_l08_large_request_headers_make_small_events(pair):
    headers = [
        ("user-agent", "a" * 6_000),
        ("x-client-id", "b" * 6_000),
        ("payment-signature", PAYMENT_HEADER.decode()),
    ]
    answer = ask(pair.ours.port, "GET", "/paid/report", headers)
    assert answer.status == 402
    pair.backend.wait_for(type="challenge")
    time.sleep(0.3)
    assert all(len(json.dumps(event)) < 4_000 for event in pair.backend.events)


def test_l01_the_host_header_names_no_link(pair):
    with Connection(pair.ours.port) as connection:
        connection.socket.sendall(
            b"GET /paid/report HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n"
        )
        challenge = decoded(connection.read().get("payment-required"))
    rate = challenge["extensions"]["forge-feedback"]["info"]["rate"]
    assert rate.startswith("GET https://api.example.com/feedback/rate?")
    with Connection(pair.ours.port) as connection:
        connection.socket.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert b"evil.example" not in connection.read().body


def test_l11_d08_an_unpaid_upload_is_refused_before_its_body(pair, request):
    """hypercorn says 100 by itself, whatever the application does; uvicorn when the body is first asked for."""
    headers = [("expect", "100-continue"), ("content-type", "application/json"), ("content-length", "1000000")]
    answers = []
    for server in (pair.bare, pair.ours):
        with Connection(server.port) as connection:
            connection.send("POST", "/paid/echo", headers)
            answers.append(connection.read())
    bare, ours = answers
    assert ours.status == 402 and ours.interim == bare.interim
    assert ours.interim == ([] if "uvicorn" in request.node.callspec.id else [100])


def test_l13_c23_framing_is_right_and_the_connection_goes_on(pair):
    paid = [("payment-signature", PAYMENT_HEADER.decode())]
    with Connection(pair.ours.port) as connection:
        for method, target, headers in (
            ("GET", "/paid/report", []),
            ("HEAD", "/paid/report", []),
            ("GET", "/paid/report", paid),
            ("GET", "/feedback", []),
            ("HEAD", "/feedback", []),
            ("GET", "/openapi.json", []),
            ("GET", "/free", []),
        ):
            answer = connection.ask(method, target, headers)
            assert answer.status in (200, 402)
            assert not (method == "HEAD" and answer.body)


def test_g11_g17_the_openapi_document_comes_enriched_and_its_own_bytes_stay(pair):
    bare, ours = (ask(server.port, "GET", "/openapi.json") for server in (pair.bare, pair.ours))
    document = json.loads(ours.body)
    assert "/feedback/rate" in document["paths"] and document["x-forge-feedback"]["protocol"] == "forge-feedback/0"
    schema = document["paths"]["/paid/weather/{city}"]["get"]["responses"]["200"]
    assert "Forge-Feedback-Id" in schema["headers"]
    assert set(json.loads(bare.body)["paths"]) < set(document["paths"])
    again = ask(pair.ours.port, "GET", "/openapi.json")
    assert again.body == ours.body


def test_websockets_pass(pair):
    import base64
    import os

    key = base64.b64encode(os.urandom(16)).decode()
    headers = [
        ("upgrade", "websocket"),
        ("connection", "upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", key),
    ]
    with Connection(pair.ours.port) as connection:
        connection.send("GET", "/socket", headers)
        assert connection.read_head()[0] == 101
        connection.socket.sendall(b"\x81\x82\x00\x00\x00\x00hi")
        got = b""
        while len(got) < 4:
            got += connection.read_some()
        assert got[:4] == b"\x81\x02hi"


def test_c31_a_client_that_goes_away_in_a_stream_is_reported(pair):
    # The payment middleware reads a paid stream whole; an unsettled one stands in front of no payment.
    before = len(pair.backend.events)
    with Connection(pair.ours.port) as connection:
        connection.send("GET", "/big", [("payment-signature", PAYMENT_HEADER.decode())])
        assert connection.read_head()[0] == 200
    events = pair.backend.wait_for(type="interaction", route="GET /big")
    assert events[-1]["outcome"] in ("aborted", "failed") and len(pair.backend.events) > before


def test_l01_without_an_origin_shared_documents_hold_paths_whatever_host_says(facilitator, backend):
    options = {"public_url": None, "discovery": True}
    with Server(uvicorn, APP, facilitator=facilitator, backend=backend, options=options) as server:
        for path in ("/.well-known/forge-feedback.json", "/openapi.json", "/feedback"):
            with Connection(server.port) as connection:
                connection.socket.sendall(
                    f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n"
                    "X-Forwarded-Proto: https\r\nConnection: close\r\n\r\n".encode()
                )
                answer = connection.read()
            assert answer.status == 200 and b"/feedback/rate" in answer.body and b"evil.example" not in answer.body


@pytest.mark.parametrize("name", SERVERS)
def test_h05_the_server_ends_in_time_and_what_was_queued_arrives(name, facilitator, backend):
    make, keywords = SERVERS[name]
    options = {"flush_interval_ms": 60_000}
    server = Server(make, APP, facilitator=facilitator, backend=backend, options=options, **keywords)
    with server:
        assert ask(server.port, "GET", "/paid/report").status == 402
        assert server.stop() < 10
    assert len(backend.wait_for(type="challenge")) == 1 and "Traceback" not in server.log


def test_h05_without_lifespan_the_end_of_the_process_sends_them(facilitator, backend):
    """uvicorn ends by the signal it got; after SIGTERM that is no end that Python sees, after SIGINT it is one."""
    options = {"flush_interval_ms": 60_000}
    with Server(uvicorn, APP, "--lifespan", "off", facilitator=facilitator, backend=backend, options=options) as server:
        assert ask(server.port, "GET", "/paid/report").status == 402
        server.stop(signal.SIGINT)
    assert len(backend.wait_for(type="challenge")) == 1


def test_h03_p21_workers_forked_after_loading_deliver_and_agree_on_ids(facilitator, backend):
    command = ("--preload", "--workers", "2", "--worker-class", "asgi")
    with Server(servers.gunicorn, APP, *command, facilitator=facilitator, backend=backend) as server:
        buyer, ids = Buyer(), []
        for _ in range(8):
            answer = asyncio.run(buyer.pay("GET", server.url + "/paid/report"))
            ids.append(check_edited(answer, REPORT))
        for feedback_id in ids:
            assert ask(server.port, "GET", f"/feedback/rate?outcome=fully&feedback_id={feedback_id}").status == 200
        events = backend.wait_for(8, type="interaction")
    assert sorted(event["feedback_id"] for event in events) == sorted(ids) and len(set(ids)) == 8
