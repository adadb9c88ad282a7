"""The conformance files through the Python binding: by the engine itself, behind ASGI, behind WSGI. Exact bytes."""

import asyncio
import json

import pytest
from forge_x402 import Forge
from forge_x402._native import Engine
from support import cases
from support.cases import Case, Fill, applied
from support.hosts import asgi_exchange, wsgi_exchange

ALL = cases.load_all()
WANT_BODY = 2


def opened(case: Case):
    forge = Forge(**case.options)
    for request, response in case.before:
        fill = Fill()
        send(forge.engine, request, response.head["status"], response.headers(fill), response.body(fill), fill)
    return forge


def send(engine: Engine, request, status, headers, body, fill, at_once=False):
    """Steps 2 to 6 of the README. Gives the final verdict, the first one if the body was asked for, and `nothing`."""
    given = (request.head["method"], request.head["target"].encode(), request.headers(fill), None)
    shown = body if at_once else None
    begun = engine.on_request(*given)
    nothing = begun is None and status != 402
    if begun is not None:
        exchange, verdict = begun
        assert (verdict.action, verdict.edits, verdict.target, verdict.body) == (0, [], None, None)
        verdict = exchange.on_response(status, headers, None, shown)
    elif status == 402:
        begun = engine.on_response_late(*given, status, headers, None, shown)
        if begun is None:
            return None, None, False
        exchange, verdict = begun
    else:
        return None, None, nothing
    first = None
    if verdict.action == WANT_BODY:
        first = verdict
        if len(body) <= verdict.body_limit:
            verdict = exchange.on_response(status, headers, None, body)
            assert verdict.action == 0
    exchange.end("delivered", status, len(body))
    return verdict, first, nothing


@pytest.mark.parametrize("case", ALL, ids=str)
def test_by_the_engine(case: Case):
    for at_once in (False, True):
        forge = opened(case)
        fill = Fill(own_id=forge.engine.mint_id() if case.has_own_id else None)
        status, head, body = case.response.head["status"], case.response.headers(fill), case.response.body(fill)
        verdict, first, nothing = send(forge.engine, case.request, status, head, body, fill, at_once)
        fill.id = verdict.feedback_id if verdict else None
        check_id(case, forge, fill)
        got = [] if verdict is None else verdict.edits
        expected = cases.edits(case.expect["edits"], fill)
        assert applied(head, got) == applied(head, expected)
        if verdict is not None:
            # The list that adapters send is the head with these edits.
            kept, appended = applied(
                head, [(op, name.lower() if op != "remove" else name, new) for op, name, new in got]
            )
            made = head if verdict.headers is None else verdict.headers
            assert (made[: len(kept)], sorted(made[len(kept) :])) == (kept, appended)
        assert (body if verdict is None or verdict.body is None else verdict.body) == expected_body(case, fill)
        assert nothing or "verdict" not in case.expect
        if not at_once:
            if "want_body" in case.expect:
                assert (first is not None) == case.expect["want_body"]
            if "first_edits" in case.expect:
                assert applied(head, first.edits) == applied(head, cases.edits(case.expect["first_edits"], fill))


@pytest.mark.parametrize("case", ALL, ids=str)
def test_behind_asgi(case: Case):
    forge = opened(case)
    fill = Fill(own_id=forge.engine.mint_id() if case.has_own_id else None)
    head, body = case.response.headers(fill), case.response.body(fill)
    status, got_head, got_body = asyncio.run(asgi_exchange(forge, case, fill))
    assert status == case.response.head["status"]
    behind_a_host(case, forge, fill, head, body, got_head, got_body, str.lower)


ONE_LINE_EACH = [
    case for case in ALL if len({name.lower() for name, _ in case.request._headers}) == len(case.request._headers)
]


@pytest.mark.parametrize("case", ONE_LINE_EACH, ids=str)
def test_behind_wsgi(case: Case):
    forge = opened(case)
    fill = Fill(own_id=forge.engine.mint_id() if case.has_own_id else None)
    head, body = case.response.headers(fill), case.response.body(fill)
    status, got_head, got_body = wsgi_exchange(forge, case, fill)
    assert status == f"{case.response.head['status']} As The Application Says"
    behind_a_host(case, forge, fill, head, body, got_head, got_body, str)


def behind_a_host(case, forge, fill, head, body, got_head, got_body, spelling):
    """What came out of a whole host: the expectation, with the id read from the wire."""
    ids = [new.decode() for name, new in got_head if name.lower() == b"forge-feedback-id"]
    had = [1 for name, _ in head if name.lower() == b"forge-feedback-id"]
    fill.id = ids[0] if ids and not had else None
    check_id(case, forge, fill)
    expected = [(op, spelling(name), new) for op, name, new in cases.edits(case.expect["edits"], fill)]
    kept, appended = applied(head, expected)
    assert (got_head[: len(kept)], sorted(got_head[len(kept) :])) == (kept, appended)
    assert got_body == expected_body(case, fill)


def expected_body(case, fill):
    return cases.value(case.expect["body"], fill) if "body" in case.expect else case.response.body(fill)


def check_id(case, forge, fill):
    wanted = case.expect.get("id")
    if wanted is None:
        assert fill.id is None
    elif wanted == "own":
        assert fill.id == fill.own_id
    else:
        assert wanted == "new" and forge.engine.verify_id(fill.id) == "valid" and fill.id != fill.own_id


@pytest.mark.parametrize("row", cases.load("ids.json"), ids=lambda row: row["id"])
def test_f01_f05_ids_of_another_implementation_are_judged_alike(row):
    assert set(row) <= {"id", "api_key", "value", "now_ms", "ttl_ms", "expect"}
    engine = Engine(json.dumps({"api_key": row["api_key"], "ttl_ms": row["ttl_ms"], "strict": True}).encode())
    assert engine.verify_id(row["value"], row["now_ms"]) == row["expect"]


def test_every_file_is_run_and_most_cases_fit_wsgi():
    assert len(ALL) > 450
    assert len(ONE_LINE_EACH) > 0.95 * len(ALL)
    assert {case.file for case in ALL} == set(cases.files())
