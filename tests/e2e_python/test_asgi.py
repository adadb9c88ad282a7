"""ASGI in memory: what the server gets, message by message, with us and without us; on asyncio and on trio."""

import contextvars
import gc
import json
import weakref

import pytest
import trio
from forge_x402 import ForgeMiddleware
from support.hosts import call_asgi, scope_of
from support.payments import CHALLENGE_HEADER, PAID, PAYMENT_HEADER, RECEIPT_HEADER, decoded

JSON = (b"content-type", b"application/json")
RECEIPT = (b"payment-response", RECEIPT_HEADER)


def start(status=200, *headers, **more):
    return {"type": "http.response.start", "status": status, "headers": list(headers), **more}


def body(part, more=False):
    return {"type": "http.response.body", "body": part, "more_body": more}


def length(number):
    return (b"content-length", str(number).encode())


def scripted(*messages):
    async def app(scope, receive, send):
        for message in messages:
            await send(message)

    return app


def paid(method="GET", target=b"/paid", headers=PAID, **more):
    return scope_of(method, target, list(headers), **more)


def header(message, name):
    return [value for line, value in message["headers"] if line == name]


def test_p15_an_ordinary_answer_is_the_applications_own_messages(forge, run):
    messages = [start(200, JSON, length(2)), body(b"{}")]
    sent = run(call_asgi, forge.asgi(scripted(*messages)), scope_of("GET", b"/free", []))
    assert all(got is given for got, given in zip(sent, messages, strict=True))


def test_a_challenge_that_nobody_foresaw_gains_the_ask(forge, run):
    app = scripted(start(402, JSON, length(2), (b"payment-required", CHALLENGE_HEADER)), body(b"{}"))
    first, last = run(call_asgi, forge.asgi(app), scope_of("GET", b"/weather", []))
    challenge = decoded(header(first, b"payment-required")[0])
    assert challenge["resource"]["description"].startswith("Weather. After your call, please rate this service")
    assert "forge-feedback" in challenge["extensions"] and last["body"] == b"{}"
    assert first["headers"][:2] == [JSON, length(2)]


def test_c01_a_paid_body_gains_the_members_and_keeps_its_bytes(forge, run):
    given = b'{"price":1.10,"n":1e5 , "s":"\\u003cb\\u003e\xc3\xa9"}'
    app = scripted(start(200, JSON, length(len(given)), RECEIPT), body(given))
    first, last = run(call_asgi, forge.asgi(app), paid())
    (feedback_id,) = header(first, b"forge-feedback-id")
    assert last["body"].startswith(given[:-1] + b',"feedback_id":"' + feedback_id + b'"')
    assert header(first, b"content-length") == [str(len(last["body"])).encode()]
    assert decoded(header(first, b"payment-response")[0])["extensions"]["forge-feedback"]
    assert forge.engine.verify_id(feedback_id.decode()) == "valid"


def test_c34_a_stated_length_is_held_to_the_last_piece_and_edited_once(forge, run):
    pieces = [b'{"a":', b"1", b"}"]
    app = scripted(start(200, JSON, length(7), RECEIPT), *(body(piece, True) for piece in pieces), body(b""))
    first, last = run(call_asgi, forge.asgi(app), paid())
    assert last["body"].startswith(b'{"a":1,"feedback_id":')
    assert header(first, b"content-length") == [str(len(last["body"])).encode()]


def test_c33_a_json_stream_of_unknown_length_is_sent_on_as_it_comes(forge, run):
    messages = [start(200, JSON, RECEIPT), body(b'{"a":', True), body(b"1}", True), body(b"")]
    first, *parts = run(call_asgi, forge.asgi(scripted(*messages)), paid())
    assert parts == messages[1:]
    assert header(first, b"forge-feedback-id") and not header(first, b"content-length")


def test_c33_an_event_stream_leaves_with_its_head_before_the_first_event(forge, run):
    seen = []

    async def app(scope, receive, send):
        await send(start(200, (b"content-type", b"text/event-stream"), RECEIPT))
        seen.append("head was taken")
        await send(body(b"data: 1\n\n", True))
        await send(body(b""))

    async def watched():
        async def send(message):
            seen.append(message["type"])

        await forge.asgi(app)(paid(), None, send)

    run(watched)
    assert seen == ["http.response.start", "head was taken", "http.response.body", "http.response.body"]


def test_c16_a_body_longer_than_it_may_be_is_streamed_whole(forge, run):
    given = b'{"a":"' + b"x" * (1 << 20) + b'"}'
    halves = [given[:700_000], given[700_000:]]
    for head in ([length(len(given))], []):
        app = scripted(start(200, JSON, RECEIPT, *head), body(halves[0], True), body(halves[1]))
        first, *parts = run(call_asgi, forge.asgi(app), paid())
        assert b"".join(part["body"] for part in parts) == given
        assert header(first, b"forge-feedback-id") and header(first, b"content-length") == [line[1] for line in head]


def test_c21_a_body_that_outgrows_its_stated_length_is_not_edited(forge, run):
    for stated in (3, 300):
        app = scripted(start(200, JSON, length(stated), RECEIPT), body(b'{"a"', True), body(b":1}"))
        first, *parts = run(call_asgi, forge.asgi(app), paid())
        assert b"".join(part["body"] for part in parts) == b'{"a":1}'
        assert header(first, b"content-length") == [str(stated).encode()]


def test_c21_a_body_that_states_little_and_never_ends_is_not_held_beyond_the_limit(forge, run):
    part, arrived = b" " * 300_000, []

    async def app(scope, receive, send):
        await send(start(200, JSON, length(10), RECEIPT))
        for count in range(6):
            await send(body(part, True))
            arrived.append((count, sum(len(message.get("body", b"")) for message in sent)))
        await send(body(b""))

    sent = []

    async def watched():
        async def send(message):
            sent.append(message)

        await forge.asgi(app)(paid(), None, send)

    run(watched)
    # 1 MiB is held at most: the fourth part is one too many, and all go.
    assert arrived == [(0, 0), (1, 0), (2, 0), (3, 1_200_000), (4, 1_500_000), (5, 1_800_000)]


def test_c20_a_content_length_that_is_no_number_is_no_accident(forge, run):
    app = scripted(start(200, JSON, (b"content-length", b"many"), RECEIPT), body(b"{}"))
    first, last = run(call_asgi, forge.asgi(app), paid())
    assert header(first, b"content-length") == [b"many"] and last["body"] == b"{}"
    assert header(first, b"forge-feedback-id")


def test_c19_an_empty_json_answer_gains_the_header_only(forge, run):
    first, last = run(call_asgi, forge.asgi(scripted(start(200, JSON, length(0), RECEIPT), body(b""))), paid())
    assert header(first, b"forge-feedback-id") and last["body"] == b"" and header(first, b"content-length") == [b"0"]


def test_c28_trailers_follow_the_body(forge, run):
    trailers = {"type": "http.response.trailers", "headers": [(b"x-sum", b"1")], "more_trailers": False}
    app = scripted(start(200, JSON, length(2), RECEIPT, trailers=True), body(b"{}"), trailers)
    first, middle, last = run(call_asgi, forge.asgi(app), paid())
    assert first["trailers"] is True and middle["type"] == "http.response.body" and last is trailers


@pytest.mark.parametrize(
    "message",
    [
        {"type": "http.response.pathsend", "path": "/srv/report.json"},
        {"type": "http.response.zerocopysend", "file": 7, "more_body": False},
        {"type": "http.response.something_of_next_year"},
    ],
    ids=lambda message: message["type"],
)
def test_p15_messages_we_do_not_know_follow_the_head_unchanged(forge, run, message):
    app = scripted(start(200, JSON, length(9), RECEIPT), message)
    first, last = run(call_asgi, forge.asgi(app), paid())
    assert header(first, b"forge-feedback-id") and header(first, b"content-length") == [b"9"]
    assert last is message


def test_p15_early_hints_and_debug_messages_are_not_held(forge, run):
    hint = {"type": "http.response.early_hint", "links": [b"</a.css>; rel=preload"]}
    debug = {"type": "http.response.debug", "info": {"template": "x"}}
    app = scripted(hint, debug, start(200, JSON, length(2), RECEIPT), body(b"{}"))
    sent = run(call_asgi, forge.asgi(app), paid())
    assert sent[0] is hint and sent[1] is debug and sent[2]["status"] == 200


def test_a_head_given_as_an_iterator_or_as_lists_is_read_once(forge, run):
    for shape in (iter, lambda lines: [list(line) for line in lines], tuple):
        lines = [JSON, length(2), RECEIPT]

        async def app(scope, receive, send, lines=lines, shape=shape):
            await send({"type": "http.response.start", "status": 200, "headers": shape(lines)})
            await send(body(b"{}"))

        first, last = run(call_asgi, forge.asgi(app), paid())
        assert tuple(first["headers"][0]) == JSON
        assert header(first, b"forge-feedback-id") and b"feedback_id" in last["body"]


def test_what_cannot_be_read_passes_and_is_counted(forge, run, caplog):
    messages = [start(200, (b"content-type", "application/json"), (b"x", 7)), body(b"{}")]
    assert run(call_asgi, forge.asgi(scripted(*messages)), paid()) == messages
    scope = paid(headers=[(b"payment-signature", None)])
    assert run(call_asgi, forge.asgi(scripted(*messages)), scope) == messages
    assert forge.stats()["unread"] == 2 and caplog.text.count("Traceback") == 1


def test_a_body_given_as_a_view_or_an_array_is_edited_like_bytes(forge, run):
    for shape in (memoryview, bytearray):
        app = scripted(start(200, JSON, length(7), RECEIPT), body(shape(b'{"a":1}')))
        first, last = run(call_asgi, forge.asgi(app), paid())
        assert last["body"].startswith(b'{"a":1,"feedback_id":')
        assert header(first, b"content-length") == [str(len(last["body"])).encode()]
    assert forge.stats()["unread"] == 0


def test_a_status_that_is_no_number_passes_and_is_counted(forge, run):
    for status in ("200", 70_000, None):
        messages = [start(status, JSON, length(2), RECEIPT), body(b"{}")]
        assert run(call_asgi, forge.asgi(scripted(*messages)), paid()) == messages
    assert forge.stats()["unread"] == 3


def test_what_a_scope_keeps_of_its_own_request_is_collected(forge, run):
    class Request:
        pass

    async def app(scope, receive, send):
        request = scope["request"] = Request()
        request.receive, request.send = receive, send
        seen.append(weakref.ref(request))
        await scripted(start(200, JSON, length(2), RECEIPT), body(b"{}"))(scope, receive, send)

    seen = []
    for scope in (paid(), scope_of("GET", b"/free", [])):
        run(call_asgi, forge.asgi(app), scope)
    del scope
    gc.collect()
    assert [alive() for alive in seen] == [None, None]


def test_d24_repeated_lines_stay_in_order(forge, run):
    cookies = [(b"set-cookie", b"a=1"), (b"x", b"y"), (b"set-cookie", b"b=2")]
    first, _ = run(call_asgi, forge.asgi(scripted(start(200, JSON, *cookies, RECEIPT), body(b"{}"))), paid())
    assert first["headers"][1:4] == cookies


def test_c30_a_handler_that_raises_raises_as_without_us_and_is_reported(make_forge, backend, run):
    async def app(scope, receive, send):
        raise KeyError("the handler's own")

    with pytest.raises(KeyError, match="the handler's own"):
        run(call_asgi, make_forge(backend_url=backend.url).asgi(app), paid())
    (event,) = backend.wait_for(type="interaction")
    assert (event["status"], event["outcome"]) == (500, "failed")


def test_c30_a_head_that_was_held_leaves_before_the_error(forge, run):
    sent = []

    async def app(scope, receive, send):
        await send(start(200, JSON, length(7), RECEIPT))
        await send(body(b'{"a"', True))
        raise ValueError("half way")

    async def ask():
        async def send(message):
            sent.append(message)

        await forge.asgi(app)(paid(), None, send)

    with pytest.raises(ValueError, match="half way"):
        run(ask)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[1]["body"] == b'{"a"' and sent[1]["more_body"] is True


def test_c31_a_client_that_leaves_is_reported_as_gone(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url)

    async def listens(scope, receive, send):
        await send(start(200, (b"content-type", b"text/event-stream"), RECEIPT))
        await send(body(b"data: 1\n\n", True))
        assert (await receive())["type"] == "http.disconnect"

    run(call_asgi, forge.asgi(listens), paid(), b"", [])
    (event,) = backend.wait_for(type="interaction")
    assert (event["status"], event["outcome"], event["settled"]) == (200, "aborted", True)


def test_c31_a_server_that_refuses_to_send_is_a_client_gone(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url)

    async def ask():
        async def send(message):
            if message["type"] == "http.response.body":
                raise OSError("client is gone")

        await forge.asgi(scripted(start(200, JSON, length(2), RECEIPT), body(b"{}")))(paid(), None, send)

    with pytest.raises(OSError, match="client is gone"):
        run(ask)
    assert backend.wait_for(type="interaction")[0]["outcome"] == "aborted"


def test_p40_a_client_gone_before_settlement_is_charged_and_not_served(make_forge, backend, run):
    """uvicorn drops in silence what is sent to a client that has gone; its request object says so."""
    forge = make_forge(backend_url=backend.url)

    class Cycle:
        disconnected = True

        async def receive(self):
            return {"type": "http.disconnect"}

        async def send(self, message):
            pass

    cycle = Cycle()
    app = forge.asgi(scripted(start(200, JSON, length(2), RECEIPT), body(b"{}")))
    run(app, paid(), cycle.receive, cycle.send)
    (event,) = backend.wait_for(type="interaction")
    assert (event["outcome"], event["settled"], event["transaction"]) == ("aborted", True, "0xabc")


def test_c31_a_cancelled_request_is_cancelled_as_without_us(make_forge, backend):
    forge = make_forge(backend_url=backend.url)

    async def main():
        async def app(scope, receive, send):
            await send(start(200, JSON, length(2), RECEIPT))
            await trio.sleep_forever()

        with trio.move_on_after(0.1) as cancelled:
            await call_asgi(forge.asgi(app), paid())
        assert cancelled.cancelled_caught

    trio.run(main)
    assert backend.wait_for(type="interaction")[0]["outcome"] == "aborted"


def test_p15_the_event_does_not_wait_for_background_tasks_nor_for_their_errors(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url)

    async def app(scope, receive, send):
        await send(start(200, JSON, length(2), RECEIPT))
        await send(body(b"{}"))
        assert backend.wait_for(type="interaction")[0]["outcome"] == "delivered"
        raise RuntimeError("in the background")

    with pytest.raises(RuntimeError, match="in the background"):
        run(call_asgi, forge.asgi(app), paid())
    assert len(backend.events) == 1


def test_p15_context_variables_of_the_endpoint_are_seen_outside(forge, run):
    variable = contextvars.ContextVar("variable", default="unset")

    async def app(scope, receive, send):
        variable.set("by the endpoint")
        await scripted(start(200, JSON, length(2), RECEIPT), body(b"{}"))(scope, receive, send)

    async def outside():
        await call_asgi(forge.asgi(app), paid())
        return variable.get()

    assert run(outside) == "by the endpoint"


def test_p15_an_endpoint_that_never_reads_the_body_is_none_of_our_business(make_forge, run):
    forge = make_forge(agent_context="off")
    received = []

    async def ask():
        async def receive():
            received.append(1)
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(message):
            pass

        headers = [*PAID, JSON, length(2)]
        await forge.asgi(scripted(start(200, JSON), body(b"{}")))(paid("POST", headers=headers), receive, send)

    run(ask)
    assert received == []


@pytest.mark.parametrize("kind", ["websocket", "lifespan", "something.else"])
def test_other_scopes_pass_as_they_are(forge, run, kind):
    scope, seen = {"type": kind, "headers": PAID, "path": "/feedback"}, []

    async def app(got, receive, send):
        seen.append((got is scope, receive, send))
        await send({"type": "x"})

    async def ask():
        async def send(message):
            seen.append(message)

        await forge.asgi(app)(scope, "receive", send)

    run(ask)
    assert seen[0][:2] == (True, "receive") and seen[1] == {"type": "x"}


def test_twice_is_once_two_layers_make_one_id(make_forge, run):
    inner = scripted(start(200, JSON, length(2), RECEIPT), body(b"{}"))
    forges = make_forge(), make_forge()
    first, last = run(call_asgi, forges[0].asgi(forges[1].asgi(inner)), paid())
    assert len(header(first, b"forge-feedback-id")) == 1 and last["body"].count(b'"feedback_id"') == 1
    assert forges[1].stats()["minted"] == 0


def test_without_options_or_with_bad_ones_everything_passes(run, caplog):
    messages = [start(402, JSON, (b"payment-required", CHALLENGE_HEADER)), body(b"{}")]
    app = ForgeMiddleware(scripted(*messages), api_kye="x")
    assert run(call_asgi, app, scope_of("GET", b"/weather", [])) == messages
    assert "api_kye: unknown option; did you mean api_key?" in caplog.text


def test_the_route_pattern_and_the_clients_address_are_told(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url)

    class Route:
        path = "/weather/{city}"

    async def app(scope, receive, send):
        scope["route"], scope["root_path"] = Route(), "/v1"
        await scripted(start(200, JSON, length(2), RECEIPT), body(b"{}"))(scope, receive, send)

    run(call_asgi, forge.asgi(app), paid(target=b"/v1/weather/oslo"))
    assert backend.wait_for(type="interaction")[0]["route"] == "GET /v1/weather/{city}"


def test_the_route_pattern_is_told_as_the_merchant_mounted_it(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url)

    class Route:
        path = "/weather/{city}"

    async def app(scope, receive, send):
        scope["route"], scope["root_path"] = Route(), scope["root_path"] + "/v1"
        await scripted(start(200, JSON, length(2), RECEIPT), body(b"{}"))(scope, receive, send)

    # What stands in front of the whole server is no part of the merchant's routes.
    run(call_asgi, forge.asgi(app), paid(target=b"/v1/weather/oslo", root_path="/behind"))
    assert backend.wait_for(type="interaction")[0]["route"] == "GET /v1/weather/{city}"


async def with_lifespan(scope, receive, send):
    if scope["type"] == "http":
        return await scripted(start(200, JSON, length(2), RECEIPT), body(b"{}"))(scope, receive, send)
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def live_once(forge, run):
    incoming = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    run(call_asgi, forge.asgi(with_lifespan), paid())
    return run(call_asgi, forge.asgi(with_lifespan), {"type": "lifespan"}, b"", incoming)


def test_h05_lifespan_sends_what_is_queued_before_it_says_that_it_is_over(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url, flush_interval_ms=60_000)
    sent = live_once(forge, run)
    assert sent == [{"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}]
    assert len(backend.events) == 1


def test_h07_a_second_lifespan_on_the_same_forge_works_like_the_first(make_forge, backend, run):
    forge = make_forge(backend_url=backend.url, flush_interval_ms=60_000)
    for lives in (1, 2, 3):
        live_once(forge, run)
        assert len(backend.events) == lives


def test_a_lifespan_that_the_application_does_not_know_fails_as_without_us(forge, run):
    async def app(scope, receive, send):
        assert scope["type"] == "http", "only http"

    with pytest.raises(AssertionError, match="only http"):
        run(call_asgi, forge.asgi(app), {"type": "lifespan"}, b"", [])


def test_d12_a_route_of_the_merchants_own_under_ours_is_said_once(make_forge, run, caplog):
    class Route:
        def __init__(self, path):
            self.path = path

    class App:
        routes = (Route("/feedback"), Route("/{path:path}"), Route("/other"))

        async def __call__(self, scope, receive, send):
            await scripted(start(200), body(b""))(scope, receive, send)

    app = make_forge().asgi(App())
    for _ in range(2):
        run(call_asgi, app, scope_of("GET", b"/free", []))
    assert caplog.text.count("own route /feedback is hidden") == 1 and "{path" not in caplog.text


def test_a_challenge_of_v1_in_the_body_is_held_and_described(forge, run):
    given = json.dumps(
        {"x402Version": 1, "error": "X-PAYMENT header is required", "accepts": [{"description": "Weather."}]}
    )
    app = scripted(start(402, JSON, length(len(given))), body(given[:10].encode(), True), body(given[10:].encode()))
    first, last = run(call_asgi, forge.asgi(app), scope_of("GET", b"/weather", []))
    assert b"Weather. After your call, please rate" in last["body"]
    assert header(first, b"content-length") == [str(len(last["body"])).encode()]


def test_head_of_a_paid_route_gets_no_length_that_may_be_wrong(forge, run):
    app = scripted(start(200, JSON, length(2), RECEIPT), body(b""))
    first, last = run(call_asgi, forge.asgi(app), paid("HEAD"))
    assert header(first, b"content-length") == [] and last["body"] == b""


def test_payment_header_is_what_the_tests_say():
    assert decoded(PAYMENT_HEADER)["x402Version"] == 2
