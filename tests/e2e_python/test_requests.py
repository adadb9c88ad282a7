"""The request side of ASGI: bodies read ahead and given again, context cut out, rating routes, waits off the loop."""

import asyncio
import json
import time

import pytest
import trio
from support.hosts import call_asgi, scope_of
from support.payments import PAID, RECEIPT_HEADER

JSON = (b"content-type", b"application/json")
CONTEXT = b'{"agent_context":{"agent_type":"codex","search_query":"direct"},"q":1.10,"s":"\\u00e9"}'
CUT = b'{"q":1.10,"s":"\\u00e9"}'


async def echo(scope, receive, send):
    """Answers with what it was given: the query, the stated length, the messages of the body."""
    messages = []
    while True:
        messages.append(await receive())
        if messages[-1]["type"] != "http.request" or not messages[-1].get("more_body"):
            break
    stated = [value for name, value in scope["headers"] if name == b"content-length"]
    scope["seen"] = (scope["query_string"], stated, messages)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"payment-response", RECEIPT_HEADER)]})
    await send({"type": "http.response.body", "body": b""})


def posted(length, *more, paid=True):
    headers = [*(PAID if paid else []), JSON, *more]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    return scope_of("POST", b"/paid", headers)


def parts(*bodies):
    last = len(bodies) - 1
    return [{"type": "http.request", "body": body, "more_body": at < last} for at, body in enumerate(bodies)]


def seen(run, forge, scope, messages):
    run(call_asgi, forge.asgi(echo), scope, b"", messages)
    return scope["seen"]


def test_d04_only_the_member_goes_from_the_request_body(forge, run):
    for messages in (parts(CONTEXT), parts(CONTEXT[:9], b"", CONTEXT[9:], b"")):
        _, stated, got = seen(run, forge, posted(len(CONTEXT)), messages)
        assert got == [{"type": "http.request", "body": CUT, "more_body": False}]
        assert stated == [str(len(CUT)).encode()]


def test_what_the_application_adds_to_the_scope_is_seen_outside(forge, run):
    scope = posted(len(CONTEXT))
    run(call_asgi, forge.asgi(echo), scope, CONTEXT)
    assert "seen" in scope and (b"content-length", str(len(CONTEXT)).encode()) in scope["headers"]


def test_d05_a_body_that_is_no_json_is_given_again_as_it_came(forge, run):
    for given in (b'{"agent_context":{},"x":NaN}', b"{", b"", b"[1]"):
        messages = parts(given[:5], given[5:])
        _, stated, got = seen(run, forge, posted(len(given)), [dict(message) for message in messages])
        assert b"".join(message["body"] for message in got) == given and stated == [str(len(given)).encode()]


@pytest.mark.parametrize("header", [b"content-digest", b"digest", b"signature-input", b"content-encoding"])
def test_d07_a_signed_or_encoded_body_is_not_read(forge, run, header):
    messages = parts(CONTEXT[:9], CONTEXT[9:])
    _, _, got = seen(run, forge, posted(len(CONTEXT), (header, b"gzip")), messages)
    assert [message["body"] for message in got] == [CONTEXT[:9], CONTEXT[9:]]


def test_d10_multipart_is_not_inspected(forge, run):
    scope = scope_of("POST", b"/paid", [*PAID, (b"content-type", b"multipart/form-data; boundary=x")])
    assert seen(run, forge, scope, parts(CONTEXT))[2] == parts(CONTEXT)


def test_d08_l11_an_unpaid_upload_is_answered_before_its_body_is_asked_for(forge, run):
    """A server sends 100-continue when the body is first asked for: nobody asks."""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 402, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask():
        sent = []

        async def receive():
            raise AssertionError("the body was asked for")

        async def send(message):
            sent.append(message)

        await forge.asgi(app)(posted(1 << 20, (b"expect", b"100-continue"), paid=False), receive, send)
        return sent

    assert run(ask)[0]["status"] == 402


def test_p20_a_body_over_the_limit_passes_whole(forge, run):
    given = b'{"agent_context":{},"a":"' + b"x" * (1 << 20) + b'"}'
    messages = parts(given[: 1 << 19], given[1 << 19 :], b"more")
    _, _, got = seen(run, forge, posted(None, (b"transfer-encoding", b"chunked")), [*messages])
    assert got == messages


def test_d09_required_context_and_a_body_over_the_limit_is_400(make_forge, run):
    forge = make_forge(agent_context="required")
    challenge_first(run, forge)
    given = b'{"agent_context":{"agent_type":"a","search_query":"b"},"a":"' + b"x" * (1 << 20) + b'"}'
    sent = run(call_asgi, forge.asgi(echo), posted(len(given)), given)
    assert sent[0]["status"] == 400 and json.loads(sent[1]["body"])["error"] == "agent_context_invalid"


def test_d25_required_context_is_never_asked_of_a_free_route(make_forge, run):
    forge = make_forge(agent_context="required")
    assert run(call_asgi, forge.asgi(echo), posted(2), b"{}")[0]["status"] == 200
    challenge_first(run, forge)
    sent = run(call_asgi, forge.asgi(echo), posted(2), b"{}")
    assert sent[0]["status"] == 400 and json.loads(sent[1]["body"])["error"] == "agent_context_required"


def challenge_first(run, forge):
    """A route counts as paid once it has challenged."""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 402, "headers": [JSON]})
        body = b'{"x402Version":1,"error":"X-PAYMENT header is required","accepts":[{"description":"Weather."}]}'
        await send({"type": "http.response.body", "body": body})

    run(call_asgi, forge.asgi(app), scope_of("POST", b"/paid", []))


def test_d06_the_query_loses_the_context_and_nothing_else(make_forge, run):
    target = b"/paid?a=%20&agent_type=codex&b"
    for options, query in (({}, b"a=%20&b"), ({"agent_context": "off"}, b"a=%20&agent_type=codex&b")):
        scope = scope_of("GET", target, [])
        run(call_asgi, make_forge(**options).asgi(echo), scope)
        assert scope["seen"][0] == query
        assert scope["query_string"] == target.partition(b"?")[2]


def test_a_client_that_leaves_in_the_middle_of_its_body_is_the_applications_to_notice(make_forge, backend, run):
    messages = [{"type": "http.request", "body": b'{"agent_context"', "more_body": True}, {"type": "http.disconnect"}]
    forge = make_forge(backend_url=backend.url)

    async def app(scope, receive, send):
        assert [(await receive())["type"] for _ in range(2)] == ["http.request", "http.disconnect"]

    run(call_asgi, forge.asgi(app), posted(90), b"", messages)
    assert backend.wait_for(type="interaction")[0]["outcome"] == "aborted"


def test_a_disconnect_behind_a_body_read_ahead_reaches_the_application(forge, run):
    async def app(scope, receive, send):
        assert (await receive())["body"] == CUT
        assert (await receive())["type"] == "http.disconnect"

    run(call_asgi, forge.asgi(app), posted(len(CONTEXT)), CONTEXT)


def test_d01_l09_a_junk_payment_on_a_free_route_changes_nothing(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [JSON]})
        await send({"type": "http.response.body", "body": b"{}"})

    for name, value in ((b"x-payment", b"junk"), (b"payment-signature", b"e30="), (b"authorization", b"x402")):
        first, last = run(call_asgi, forge.asgi(app), scope_of("GET", b"/free", [(name, value)]))
        assert first["headers"] == [JSON] and last["body"] == b"{}"
    assert forge.stats()["minted"] == 0 and forge.flush() and backend.events == []


# Rating routes.


def test_ratings_and_summary_are_answered_in_the_applications_place(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url)
    feedback_id = forge.engine.mint_id()
    rate = f"/feedback/rate?feedback_id={feedback_id}&outcome=fully".encode()
    first, last = run(call_asgi, forge.asgi(echo), scope_of("GET", rate, []))
    assert (first["status"], last["body"]) == (200, b'{"recorded": true}')
    note = json.dumps({"feedback_id": feedback_id, "outcome": "no", "issue": "slow", "note": "hm"}).encode()
    first, _ = run(call_asgi, forge.asgi(echo), scope_of("POST", b"/feedback", []), b"", parts(note[:9], note[9:]))
    assert first["status"] == 200 and [rating["via"] for rating in backend.ratings] == ["GET", "POST"]
    first, last = run(call_asgi, forge.asgi(echo), scope_of("GET", b"/feedback/summary", []))
    assert (first["status"], last["body"]) == (200, b'{"calls": 7}')


def test_d13_p06_a_page_may_ask_before_it_rates(forge, run):
    asked = [(b"origin", b"https://agent.example"), (b"access-control-request-method", b"POST")]
    first, last = run(call_asgi, forge.asgi(echo), scope_of("OPTIONS", b"/feedback", asked))
    assert first["status"] == 204 and (b"access-control-allow-origin", b"*") in first["headers"] and last["body"] == b""


def test_d14_d15_bodies_of_ratings_are_bounded(forge, run):
    for body, status, error in (
        (b'{"a":' * 5_000, 413, "body_too_large"),
        (b'{"a":' * 1_000, 400, "invalid_json_body"),
        (b"", 400, "invalid_json_body"),
    ):
        messages = parts(*(body[at : at + 4_000] for at in range(0, len(body) or 1, 4_000)))
        first, last = run(call_asgi, forge.asgi(echo), scope_of("POST", b"/feedback", []), b"", messages)
        assert first["status"] == status and json.loads(last["body"])["error"] == error


@pytest.mark.parametrize("path", [b"/feedback/", b"//feedback", b"/Feedback", b"/feedback%2Frate", b"/x/..%2ffeedback"])
def test_p11_only_the_exact_path_is_ours(forge, run, path):
    scope = scope_of("GET", path, [])
    run(call_asgi, forge.asgi(echo), scope)
    assert "seen" in scope


def test_a_mounted_application_has_its_rating_routes_under_its_own_path(make_forge, run):
    forge = make_forge(base_path="/shop/feedback")
    scope = scope_of("GET", b"/shop/feedback", [], root_path="/shop")
    assert run(call_asgi, forge.asgi(echo), scope)[0]["status"] == 200 and "seen" not in scope


def test_without_raw_path_the_decoded_one_is_quoted(make_forge, backend, run):
    scope = scope_of("GET", b"/caf%C3%A9", [*PAID])
    del scope["raw_path"]
    scope["path"] = "/caf\u00e9"
    run(call_asgi, make_forge(backend_url=backend.url).asgi(echo), scope)
    assert backend.wait_for(type="interaction")[0]["route"] == "GET /caf%C3%A9"


def test_a_wait_for_the_backend_does_not_hold_the_loop(make_forge, backend, run):
    backend.delay = 0.6
    forge = make_forge(backend_url=backend.url)
    rate = f"/feedback/rate?feedback_id={forge.engine.mint_id()}&outcome=fully".encode()
    ticks = []

    async def rating():
        first, _ = await call_asgi(forge.asgi(echo), scope_of("GET", rate, []))
        ticks.append(first["status"])

    async def others():
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            await call_asgi(forge.asgi(echo), scope_of("GET", b"/free", []))
            ticks.append("free")
            await (trio.sleep if run.name == "trio" else asyncio.sleep)(0.01)

    async def both():
        if run.name == "trio":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(rating)
                nursery.start_soon(others)
        else:
            await asyncio.gather(rating(), others())

    run(both)
    assert ticks[-1] == 200 and ticks.index(200) >= 5


def test_more_waits_than_may_be_are_refused_at_once(make_forge, backend):
    backend.delay = 0.5
    forge = make_forge(backend_url=backend.url, max_waits=2)

    async def rating():
        rate = f"/feedback/rate?feedback_id={forge.engine.mint_id()}&outcome=fully".encode()
        first, _ = await call_asgi(forge.asgi(echo), scope_of("GET", rate, []))
        return first["status"], (b"retry-after", b"1") in first["headers"]

    async def all_at_once():
        return await asyncio.gather(*(rating() for _ in range(5)))

    got = asyncio.run(all_at_once())
    assert sorted(got) == [(200, False)] * 2 + [(503, True)] * 3


def test_a_wait_that_is_cancelled_ends_in_its_thread(make_forge, backend, run):
    backend.delay = 0.5
    forge = make_forge(backend_url=backend.url)
    rate = f"/feedback/rate?feedback_id={forge.engine.mint_id()}&outcome=fully".encode()

    async def main():
        if run.name == "trio":
            with trio.move_on_after(0.1) as scope:
                await call_asgi(forge.asgi(echo), scope_of("GET", rate, []))
            assert scope.cancelled_caught
        else:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call_asgi(forge.asgi(echo), scope_of("GET", rate, [])), 0.1)

    run(main)
    end = time.monotonic() + 5
    while not backend.ratings and time.monotonic() < end:
        time.sleep(0.02)
    assert len(backend.ratings) == 1
