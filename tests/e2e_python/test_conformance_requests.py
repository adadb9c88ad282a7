"""requests.json through the Python binding: what becomes of a request, and what it is answered. Exact bytes."""

import pytest
from forge_x402 import Forge
from support import cases
from support.cases import Fill, applied
from test_conformance import send

ALL = cases.load("requests.json")
PASS, REPLY, WANT_BODY, WAIT = range(4)


def read(case):
    cases.only(case, {"id", "title", "why", "options", "before", "request", "expect"}, case["id"])
    keys = {"verdict", "want_body", "waits", "target", "edits", "body", "answer"}
    cases.only(case["expect"], keys, case["id"])
    assert case["why"] and case["expect"]["verdict"] in ("nothing", "pass", "reply")
    return cases.request(case["request"]), case["expect"]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case["id"])
def test_a_request_is_handed_on_or_answered(case):
    request, expect = read(case)
    forge = Forge(**cases.options_of(case))
    for earlier, response in cases.before_of(case):
        send(forge.engine, earlier, response.head["status"], response.headers(Fill()), response.body(Fill()), Fill())
    fill = Fill(own_id=forge.engine.mint_id())
    target, head, body = cases.value(request.head["target"], fill), request.headers(fill), request.body(fill)
    begun = forge.engine.on_request(request.head["method"], target, head, None)
    assert (begun is None) == (expect["verdict"] == "nothing")
    if begun is None:
        return
    exchange, verdict = begun
    new_target = verdict.target
    assert (verdict.action == WANT_BODY) == expect.get("want_body", False)
    if verdict.action == WANT_BODY:
        verdict = exchange.on_request_body(body[: verdict.body_limit + 1], head)
        assert verdict.target == new_target or verdict.action != PASS
    assert (verdict.action == WAIT) == expect.get("waits", False)
    if verdict.action == WAIT:
        verdict = exchange.wait(3_000)
    assert verdict.action == (PASS if expect["verdict"] == "pass" else REPLY)
    if verdict.action == PASS:
        assert (verdict.target or target) == cases.value(expect.get("target", request.head["target"]), fill)
        expected = applied(head, cases.edits(expect.get("edits", []), fill))
        assert applied(head, verdict.edits) == expected
        # The list that adapters hand on is the head with these edits.
        kept, appended = expected
        made = head if verdict.headers is None else verdict.headers
        assert (made[: len(kept)], sorted(made[len(kept) :])) == (kept, appended)
        assert (body if verdict.body is None else verdict.body) == cases.value(
            expect.get("body", case["request"].get("body", "")), fill
        )
    else:
        answer = cases.response(expect["answer"])
        assert verdict.http_status == answer.head["status"]
        assert applied([], verdict.edits)[1] == sorted(answer.headers(fill))
        assert verdict.body == answer.body(fill)
    exchange.end("delivered", verdict.http_status, 0)
