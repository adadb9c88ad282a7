"""x402 1.0.0, version 1 of the protocol, in an environment of its own: its middleware, its client, our package."""

import base64
import json
import os
import subprocess

import pytest
from merchants.settings import REPORT
from support.payments import decoded
from support.raw_http import ask
from support.servers import HERE, Server

PYTHON = os.environ.get("FORGE_X402_V1_PYTHON", str(HERE.parents[1] / "target/python/v1/bin/python"))


def uvicorn_v1(app, *more, port):
    return [PYTHON, "-m", "uvicorn", app, "--port", port, "--log-level", "warning", *more]


def buy(url):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [PYTHON, "-W", "ignore", HERE / "merchants/v1_buyer.py", url]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer["status"], answer["headers"], base64.b64decode(answer["body"])


@pytest.fixture
def pair(facilitator, backend):
    # Our package is installed in that environment; the folder of this one would bring its x402 along.
    path = {"PYTHONPATH": str(HERE)}
    with (
        Server(uvicorn_v1, "merchants.v1_app:app", facilitator=facilitator, environment=path) as bare,
        Server(uvicorn_v1, "merchants.v1_app:app", facilitator=facilitator, backend=backend, environment=path) as ours,
    ):
        yield bare, ours


def test_a22_p13_v1_the_whole_way_of_a_payment(pair, backend, facilitator):
    bare, ours = pair
    before, after = (ask(server.port, "GET", "/paid/report") for server in pair)
    assert (before.status, after.status) == (402, 402) and after.get("content-length") == str(len(after.body))
    terms, told = json.loads(before.body), json.loads(after.body)
    sentence = told["accepts"][0].pop("description").removeprefix(terms["accepts"][0].pop("description"))
    assert sentence.startswith(" After your call, please rate this service")
    for entry in (*terms["accepts"], *told["accepts"]):
        assert entry.pop("resource").endswith("/paid/report")
    assert told == terms
    # Every byte but those of the description.
    added = sentence.encode()
    assert after.body.replace(added, b"").replace(str(ours.port).encode(), b"") == before.body.replace(
        str(bare.port).encode(), b""
    )

    status, headers, body = buy(bare.url + "/paid/report")
    assert (status, body) == (200, REPORT)
    status, headers, body = buy(ours.url + "/paid/report")
    assert status == 200 and body.startswith(REPORT.rstrip()[:-1])
    assert json.loads(body)["feedback_id"] == headers["forge-feedback-id"]
    # B06: the v1 receipt is read, never changed.
    receipt = decoded(headers["x-payment-response"])
    assert receipt["success"] is True and "extensions" not in receipt
    (event,) = backend.wait_for(feedback_id=headers["forge-feedback-id"])
    assert (event["dialect"], event["settled"], event["network"]) == ("x402/1", True, "base-sepolia")
    backend.wait_for(type="challenge", dialect="x402/1")


def test_p07_v1_a_paywall_for_browsers_keeps_its_bytes(pair):
    page = [("user-agent", "Mozilla/5.0"), ("accept", "text/html")]
    before, after = (ask(server.port, "GET", "/paid/report", page) for server in pair)
    assert after.status == 402 and after.body == before.body


def test_p09_v1_a_failed_settlement_gets_no_id(pair, facilitator, backend):
    _, ours = pair
    answer = {"success": False, "errorReason": "insufficient_funds", "payer": "", "transaction": ""}
    facilitator.fail["/settle"] = (200, {**answer, "network": "base-sepolia"})
    status, headers, _ = buy(ours.url + "/paid/report")
    assert status == 402 and "forge-feedback-id" not in headers
    assert backend.wait_for(type="interaction")[-1]["status"] == 402
