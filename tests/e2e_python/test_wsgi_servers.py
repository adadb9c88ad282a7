"""Flask with the real payment package, and Django, under gunicorn and uWSGI; one merchant without us, one with us."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from merchants.settings import REPORT
from support.backend import Backend
from support.buyer import Buyer
from support.facilitator import Facilitator
from support.payments import PAYMENT_HEADER, decoded
from support.raw_http import Connection, ask
from support.servers import Server, gunicorn, uwsgi

FLASK, DJANGO = "merchants.flask_app:application", "merchants.django_app:application"
PAID = [("payment-signature", PAYMENT_HEADER.decode())]
SERVERS = {
    "gunicorn sync": (gunicorn, ()),
    "gunicorn gthread": (gunicorn, ("--worker-class", "gthread", "--threads", "4")),
    "gunicorn preload 4 workers": (gunicorn, ("--preload", "--workers", "4")),
    "uwsgi": (uwsgi, ("--processes", "2")),
    "uwsgi threads": (uwsgi, ("--processes", "2", "--enable-threads", "--threads", "2")),
}


@pytest.fixture(params=SERVERS.values(), ids=SERVERS.keys())
def kind(request):
    return request.param


def check_edited(body, headers, given):
    feedback_id = headers["forge-feedback-id"]
    assert body.startswith(given.rstrip()[:-1]) and json.loads(body)["feedback_id"] == feedback_id
    assert headers["content-length"] == str(len(body))
    assert decoded(headers["payment-response"])["extensions"]["forge-feedback"]["info"]["feedback_id"] == feedback_id
    return feedback_id


def lower(answer):
    return {name.lower(): value for name, value in answer.headers}


@pytest.fixture(scope="module")
def world():
    facilitator, backend = Facilitator(), Backend()
    yield facilitator, backend
    facilitator.close()
    backend.close()


def test_flask_and_the_real_payment_package(kind, world):
    """L12: the whole way of a payment, twice: without us and with us."""
    (make, more), (facilitator, backend) = kind, world
    environment = {"WARM_UP": "1"}
    with (
        Server(make, FLASK, *more, facilitator=facilitator) as bare,
        Server(make, FLASK, *more, facilitator=facilitator, backend=backend, environment=environment) as ours,
    ):
        before, after = (ask(server.port, "GET", "/paid/report") for server in (bare, ours))
        assert (before.status, after.status, after.body) == (402, 402, before.body)
        terms, told = (decoded(lower(answer)["payment-required"]) for answer in (before, after))
        assert told["accepts"] == terms["accepts"] and "After your call" in told["resource"]["description"]

        buyer = Buyer()
        plain = buyer.pay_by_requests("GET", bare.url + "/paid/report")
        assert (plain.status_code, plain.content) == (200, REPORT)
        ids = []
        for _ in range(6):
            paid = buyer.pay_by_requests("GET", ours.url + "/paid/report")
            assert paid.status_code == 200
            ids.append(check_edited(paid.content, paid.headers, REPORT))
        echoed = buyer.pay_by_requests(
            "POST", ours.url + "/paid/echo?agent_type=codex&x=1", json={"agent_context": {"client": "awal"}, "q": 1}
        )
        assert echoed.content.startswith(b'{"q": 1,"feedback_id":"') and echoed.headers["x-query"] == "x=1"
        failed = buyer.pay_by_requests("GET", ours.url + "/paid/raises")
        assert failed.status_code == 500 and "forge-feedback-id" not in failed.headers

        # P21, H02: each worker has its own delivery; ids of one are known to all.
        for feedback_id in ids:
            found = backend.wait_for(feedback_id=feedback_id)
            assert len(found) == 1 and found[0]["outcome"] == "delivered" and found[0]["payer"] == buyer.account.address
            assert ask(ours.port, "GET", f"/feedback/rate?outcome=fully&feedback_id={feedback_id}").status == 200
        context = backend.wait_for(feedback_id=echoed.headers["forge-feedback-id"])[0]["agent_context"]
        assert context == {"agent_type": "Codex", "client": "awal"}
        assert backend.wait_for(type="interaction", status=500)[0]["outcome"] == "delivered"
        # The file of a free answer is what it was, and its route is a pattern where Flask has one.
        assert json.loads(ask(ours.port, "GET", "/free").body)["free"] is True
        routes = {event["route"] for event in backend.events if event["type"] == "interaction"}
        assert "GET /paid/report" in routes
        seconds = ours.stop()
    assert seconds < 10 and "Traceback" not in re.sub(
        r"(?s)Traceback[^\n]*\n.*?RuntimeError: the handler's own error", "", ours.log
    )
    backend.events.clear()


def test_django_through_wsgi(kind, world):
    (make, more), (_, backend) = kind, world
    with Server(make, DJANGO, *more, backend=backend) as ours:
        challenge = ask(ours.port, "GET", "/stub/report")
        assert (
            challenge.status == 402
            and "After your call" in decoded(lower(challenge)["payment-required"])["resource"]["description"]
        )
        with Connection(ours.port) as connection:
            for _ in range(2):
                paid = connection.ask("GET", "/stub/report", PAID)
                check_edited(paid.body, lower(paid), REPORT)
                if "sync" in str(more) or make is uwsgi or "close" in lower(paid).get("connection", ""):
                    break
        body = b'{"agent_context":{"client":"awal"},"q":1}'
        echoed = ask(
            ours.port, "POST", "/stub/echo?agent_type=x&y=2", [*PAID, ("content-type", "application/json")], body
        )
        assert echoed.body.startswith(b'{"q":1,"feedback_id":"') and lower(echoed)["x-query"] == "y=2"
        streamed = ask(ours.port, "GET", "/stub/stream", PAID)
        assert streamed.body == b"part 0\npart 1\npart 2\n" and "forge-feedback-id" in lower(streamed)
        file = ask(ours.port, "GET", "/stub/file", PAID)
        check_edited(file.body, lower(file), b'{"from": "a file"}')
        assert ask(ours.port, "GET", "/free").body == b'{"free": true}'
        for answer in (paid, echoed, streamed, file):
            backend.wait_for(feedback_id=lower(answer)["forge-feedback-id"])


def test_a_wait_blocks_its_own_thread_only(world):
    _, backend = world
    backend.delay = 1.0
    try:
        with Server(gunicorn, FLASK, "--worker-class", "gthread", "--threads", "4", backend=backend) as ours:
            paid = ask(ours.port, "GET", "/stub/report", PAID)
            rate = f"/feedback/rate?outcome=fully&feedback_id={lower(paid)['forge-feedback-id']}"
            with ThreadPoolExecutor() as pool:
                rating = pool.submit(ask, ours.port, "GET", rate)
                free = [ask(ours.port, "GET", "/free").status for _ in range(5)]
                assert free == [200] * 5 and not rating.done()
                assert rating.result().status == 200
    finally:
        backend.delay = 0


def test_a_django_answer_without_a_length_is_edited_all_the_same(world):
    _, backend = world
    with Server(gunicorn, DJANGO, backend=backend, environment={"COMMON": "0"}) as ours:
        paid = ask(ours.port, "GET", "/stub/report", PAID)
        assert json.loads(paid.body)["feedback_id"] == lower(paid)["forge-feedback-id"]


def test_django_through_asgi(world):
    from support.servers import uvicorn

    _, backend = world
    with Server(uvicorn, "merchants.django_app:asgi", "--lifespan", "off", backend=backend) as ours:
        paid = ask(ours.port, "GET", "/stub/report", PAID)
        check_edited(paid.body, lower(paid), REPORT)
        backend.wait_for(feedback_id=lower(paid)["forge-feedback-id"])
