"""WSGI in memory, by the letter of PEP 3333: what the server gets, with us and without us."""

import io
import sys
from wsgiref.validate import validator

import pytest
from forge_x402 import ForgeWSGI
from support.hosts import Served, call_wsgi, environ_of
from support.payments import CHALLENGE_HEADER, PAID, RECEIPT_HEADER, decoded

JSON = ("Content-Type", "application/json")
RECEIPT = ("PAYMENT-RESPONSE", RECEIPT_HEADER.decode())


def paid(method="GET", target=b"/paid", body=b"", headers=(), **more):
    return environ_of(method, target, [*PAID, *headers], body, **more)


def free(**more):
    return environ_of("GET", b"/free", [], **more)


def length(number):
    return ("Content-Length", str(number))


def answering(status, headers, result):
    def app(environ, start_response):
        start_response(status, list(headers))
        return result

    return app


def header(served, name):
    return [value for line, value in served.headers if line.lower() == name]


def check_edited(served, given=b'{"a":1}'):
    (feedback_id,) = header(served, "forge-feedback-id")
    assert served.body.startswith(given[:-1] + b',"feedback_id":"' + feedback_id.encode())
    assert header(served, "content-length") in ([str(len(served.body))], [])


class Closable:
    """An iterable with a close, as frameworks have it."""

    def __init__(self, *parts):
        self.parts = parts
        self.closed = 0

    def __iter__(self):
        return iter(self.parts)

    def close(self):
        self.closed += 1


def test_an_ordinary_answer_is_the_applications_own_object(forge):
    result = Closable(b"x")
    served = call_wsgi(forge.wsgi(answering("200 Fine", [("X", "y")], result)), free())
    assert served.result is result and (served.status, served.headers) == ("200 Fine", [("X", "y")])


def test_a_file_wrapper_stays_a_file_wrapper_so_that_sendfile_works(make_forge, backend):
    class FileWrapper:
        def __init__(self, file):
            self.file = file

        def __iter__(self):
            return iter(self.file)

        def close(self):
            self.file.close()

    forge = make_forge(backend_url=backend.url)
    for environ in (free(), paid()):
        environ["wsgi.file_wrapper"] = FileWrapper
        file = io.BytesIO(b"%PDF")
        app = answering("200 OK", [("Content-Type", "application/pdf"), length(4), RECEIPT], FileWrapper(file))
        served = call_wsgi(forge.wsgi(app), environ)
        assert type(served.result) is FileWrapper and served.body == b"%PDF" and file.closed
    assert header(served, "forge-feedback-id")
    assert backend.wait_for(type="interaction")[0]["outcome"] == "delivered"


def test_a_file_object_that_takes_no_attributes_is_handed_on_in_pieces(forge):
    class FileWrapper:
        __slots__ = ("file",)

        def __init__(self, file):
            self.file = file

        def __iter__(self):
            return iter(self.file)

    environ = paid()
    environ["wsgi.file_wrapper"] = FileWrapper
    app = answering("200 OK", [("Content-Type", "application/pdf"), RECEIPT], FileWrapper([b"%P", b"DF"]))
    assert call_wsgi(forge.wsgi(app), environ).body == b"%PDF"


def test_a_challenge_gains_the_ask_and_keeps_its_reason(forge):
    head = [JSON, length(2), ("PAYMENT-REQUIRED", CHALLENGE_HEADER.decode())]
    served = call_wsgi(forge.wsgi(answering("402 Pay Up", head, [b"{}"])), free())
    assert served.status == "402 Pay Up" and served.body == b"{}" and served.headers[:2] == head[:2]
    assert "After your call" in decoded(header(served, "payment-required")[0])["resource"]["description"]


@pytest.mark.parametrize("shape", [list, tuple], ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("head", [[], [length(7)]], ids=["no length", "length"])
def test_a_body_that_is_all_there_is_edited(forge, shape, head):
    served = call_wsgi(forge.wsgi(answering("200 OK", [JSON, RECEIPT, *head], shape([b'{"a"', b":1}"]))), paid())
    check_edited(served)
    # Servers look at the length of what they get.
    assert len(served.result) == 1


def test_a_stated_length_is_held_from_an_iterable_that_is_closed_once(forge):
    result = Closable(b'{"a"', b"", b":1}")
    served = call_wsgi(forge.wsgi(answering("200 OK", [JSON, RECEIPT, length(7)], result)), paid())
    check_edited(served)
    assert result.closed == 1


def test_c33_a_stream_of_unknown_length_is_sent_on_as_it_comes(forge):
    result = Closable(b'{"a"', b":1}")
    served = call_wsgi(forge.wsgi(answering("200 OK", [JSON, RECEIPT], result)), paid())
    assert served.parts == [b'{"a"', b":1}"] and header(served, "forge-feedback-id") and result.closed == 1


def test_a_generator_that_starts_with_its_first_piece_is_edited_too(forge):
    def app(environ, start_response):
        start_response("200 OK", [JSON, RECEIPT, length(7)])
        yield b'{"a"'
        yield b":1}"

    check_edited(call_wsgi(forge.wsgi(app), paid()))
    # An ordinary one, and a challenge, likewise.
    assert call_wsgi(forge.wsgi(app), free()).body == b'{"a":1}'

    def challenge(environ, start_response):
        start_response("402 Payment Required", [("PAYMENT-REQUIRED", CHALLENGE_HEADER.decode())])
        yield b"{}"

    served = call_wsgi(forge.wsgi(challenge), free())
    assert "forge-feedback" in decoded(header(served, "payment-required")[0])["extensions"]


def test_the_write_callable_is_held_and_edited(forge):
    """As the payment middleware for Flask answers: everything through write, then an empty list."""

    def app(environ, start_response):
        write = start_response("200 OK", [JSON, RECEIPT, length(7)])
        write(b'{"a"')
        write(b":1}")
        return []

    check_edited(call_wsgi(forge.wsgi(app), paid()))


def test_write_without_a_length_streams_on(forge):
    def app(environ, start_response):
        write = start_response("200 OK", [JSON, RECEIPT])
        write(b'{"a"')
        write(b":1")
        return [b"}"]

    served = call_wsgi(forge.wsgi(app), paid())
    assert served.parts == [b'{"a"', b":1", b"}"] and header(served, "forge-feedback-id")


def test_write_and_a_returned_rest_are_one_body(forge):
    def app(environ, start_response):
        start_response("200 OK", [JSON, RECEIPT, length(7)])(b'{"a"')
        return Closable(b":1}")

    check_edited(call_wsgi(forge.wsgi(app), paid()))


def test_exc_info_replaces_a_head_that_has_not_left(forge):
    def app(environ, start_response):
        start_response("200 OK", [JSON, RECEIPT, length(7)])
        try:
            raise ValueError("late")
        except ValueError:
            start_response("500 Internal Server Error", [("X", "y")], sys.exc_info())
        return [b"sorry"]

    served = call_wsgi(forge.wsgi(app), paid())
    assert (served.status, served.headers, served.body) == ("500 Internal Server Error", [("X", "y")], b"sorry")


def test_exc_info_after_the_head_has_left_raises_as_without_us(forge):
    def app(environ, start_response):
        start_response("200 OK", [JSON, RECEIPT])
        yield b'{"a"'
        try:
            raise ValueError("late")
        except ValueError:
            start_response("500 Internal Server Error", [], sys.exc_info())
        yield b"never"

    with pytest.raises(ValueError, match="late"):
        call_wsgi(forge.wsgi(app), paid())


def test_a_second_head_without_exc_info_is_the_servers_to_refuse(forge):
    def app(environ, start_response):
        start_response("200 OK", [JSON, RECEIPT, length(2)])
        start_response("201 Created", [JSON])
        return [b"{}"]

    with pytest.raises(AssertionError, match="start_response was called twice"):
        call_wsgi(forge.wsgi(app), paid())


def test_c30_a_handler_that_raises_raises_as_without_us_and_is_reported(make_forge, backend):
    def app(environ, start_response):
        raise KeyError("the handler's own")

    with pytest.raises(KeyError, match="the handler's own"):
        call_wsgi(make_forge(backend_url=backend.url).wsgi(app), paid())
    (event,) = backend.wait_for(type="interaction")
    assert (event["status"], event["outcome"]) == (500, "failed")


def test_c30_an_error_in_the_middle_of_a_body_is_reported(make_forge, backend):
    def app(environ, start_response):
        start_response("200 OK", [JSON, RECEIPT])
        yield b'{"a"'
        raise KeyError("half way")

    with pytest.raises(KeyError, match="half way"):
        call_wsgi(make_forge(backend_url=backend.url).wsgi(app), paid())
    (event,) = backend.wait_for(type="interaction")
    assert (event["status"], event["outcome"]) == (200, "failed")


@pytest.mark.parametrize("parts", [[b'{"a"', b":1}"], Closable(b'{"a"', b":1}")], ids=["list", "iterable"])
def test_c31_a_server_that_closes_early_is_a_client_gone(make_forge, backend, parts):
    app = make_forge(backend_url=backend.url).wsgi(answering("200 OK", [("Content-Type", "text/csv"), RECEIPT], parts))
    served = Served()
    result = app(paid(), served.start_response)
    assert next(iter(result)) == b'{"a"'
    result.close()
    (event,) = backend.wait_for(type="interaction")
    assert (event["status"], event["outcome"], event["settled"]) == (200, "aborted", True)


def test_a_body_that_is_never_asked_for_is_closed(forge):
    result = Closable(b"x")
    handed = forge.wsgi(answering("200 OK", [JSON, RECEIPT], result))(paid(), Served().start_response)
    handed.close()
    assert result.closed == 1


def test_d24_repeated_lines_and_latin1_stay(forge):
    lines = [("Set-Cookie", "a=1"), ("X-City", "K\xf6ln"), ("Set-Cookie", "b=2")]
    served = call_wsgi(forge.wsgi(answering("200 OK", [*lines, JSON, RECEIPT], [b'{"a":1}'])), paid())
    assert served.headers[:3] == lines
    check_edited(served)


def test_an_answer_without_headers_gains_text(forge):
    served = call_wsgi(forge.wsgi(answering("200 OK", [], [b"x"])), paid())
    assert served.headers[0][0] == "Forge-Feedback-Id" and served.body == b"x"


def test_the_validator_of_the_standard_library_is_content_on_both_sides(forge):
    environ = paid(headers=[(b"user-agent", b"x")])
    for app in (
        answering("200 OK", [JSON, RECEIPT, length(7)], [b'{"a":1}']),
        answering("200 OK", [("Content-Type", "text/plain"), RECEIPT], [b"x"]),
        answering("402 Payment Required", [JSON, ("PAYMENT-REQUIRED", CHALLENGE_HEADER.decode())], [b"{}"]),
    ):
        served = call_wsgi(validator(forge.wsgi(validator(app))), dict(environ))
        assert served.status


def test_a_request_body_is_read_ahead_and_given_again_without_the_context(make_forge):
    given = b'{"agent_context":{"agent_type":"codex"},"q":1.10}'
    seen = []

    def app(environ, start_response):
        seen.append((environ["wsgi.input"].read(), environ["CONTENT_LENGTH"]))
        start_response("200 OK", [JSON, RECEIPT])
        return [b"{}"]

    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(given)).encode())]
    call_wsgi(make_forge().wsgi(app), paid("POST", body=given, headers=headers))
    assert seen == [(b'{"q":1.10}', "10")]


def test_p20_a_body_of_unknown_length_over_the_limit_is_whole_for_the_application(make_forge):
    given = b'{"agent_context":{},"a":"' + b"x" * (1 << 20) + b'"}\nmore\n'

    def app(environ, start_response):
        file = environ["wsgi.input"]
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [file.read(10), file.readline(), file.readline(), file.read()]

    environ = paid(
        "POST", body=given, headers=[(b"content-type", b"application/json"), (b"transfer-encoding", b"chunked")]
    )
    environ["wsgi.input_terminated"] = True
    assert call_wsgi(make_forge().wsgi(app), environ).body == given


def test_p20_a_body_that_only_the_server_can_read_is_left_to_it(make_forge):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [environ["wsgi.input"].read()]

    given = b'{"agent_context":{}}'
    environ = paid(
        "POST", body=given, headers=[(b"content-type", b"application/json"), (b"transfer-encoding", b"chunked")]
    )
    assert call_wsgi(make_forge().wsgi(app), environ).body == given


def test_a_client_that_leaves_in_the_middle_of_its_body_is_the_applications_to_notice(make_forge):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [environ["wsgi.input"].read(), environ["CONTENT_LENGTH"].encode()]

    headers = [(b"content-type", b"application/json"), (b"content-length", b"50")]
    environ = paid("POST", body=b'{"agent_context"', headers=headers)
    assert call_wsgi(make_forge().wsgi(app), environ).body == b'{"agent_context"50'


def test_d06_the_query_loses_the_context_and_nothing_else(make_forge):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [f"{environ['QUERY_STRING']} {environ['RAW_URI']}".encode()]

    environ = environ_of("GET", b"/x?a=%20&agent_type=codex&b", [])
    assert call_wsgi(make_forge().wsgi(app), environ).body == b"a=%20&b /x?a=%20&b"
    environ = environ_of("GET", b"/x?a=%20&agent_type=codex&b", [])
    assert call_wsgi(make_forge(agent_context="off").wsgi(app), environ).body.count(b"agent_type=codex") == 2


def test_rating_routes_answer_in_the_applications_place(make_forge, backend):
    forge = make_forge(backend_url=backend.url)
    app = forge.wsgi(answering("404 Not Found", [], [b"the application's"]))
    form = call_wsgi(app, environ_of("GET", b"/feedback", []))
    assert form.status == "200 OK" and b'"protocol":"forge-feedback/0"' in form.body
    feedback_id = forge.engine.mint_id().encode()
    rated = call_wsgi(app, environ_of("GET", b"/feedback/rate?outcome=fully&feedback_id=" + feedback_id, []))
    assert (rated.status, rated.body) == ("200 OK", b'{"recorded": true}')
    note = b'{"feedback_id":"' + feedback_id + b'","outcome":"no","issue":"slow","note":"hm"}'
    posted = call_wsgi(app, environ_of("POST", b"/feedback", [(b"content-length", str(len(note)).encode())], note))
    assert posted.status == "200 OK" and [rating["via"] for rating in backend.ratings] == ["GET", "POST"]
    summary = call_wsgi(app, environ_of("GET", b"/feedback/summary", []))
    assert summary.body == b'{"calls": 7}'
    large = call_wsgi(app, environ_of("POST", b"/feedback", [(b"content-length", b"20000")], b"{" * 20_000))
    assert large.status.startswith("413 ") and b"body_too_large" in large.body
    empty = call_wsgi(app, environ_of("POST", b"/feedback", []))
    assert empty.status == "400 Bad Request" and b"invalid_json_body" in empty.body
    assert call_wsgi(app, environ_of("GET", b"/feedback/", [])).body == b"the application's"


def test_the_target_is_made_from_cgi_names_where_the_server_has_no_other(make_forge):
    app = make_forge(base_path="/shop/feedback").wsgi(answering("404 Not Found", [], [b""]))
    environ = environ_of("GET", b"/feedback", [])
    del environ["RAW_URI"]
    environ["SCRIPT_NAME"] = "/shop"
    assert call_wsgi(app, environ).status == "200 OK"


def test_twice_is_once_two_layers_make_one_id(make_forge):
    inner = answering("200 OK", [JSON, RECEIPT], [b'{"a":1}'])
    forges = make_forge(), make_forge()
    check_edited(call_wsgi(forges[0].wsgi(forges[1].wsgi(inner)), paid()))
    assert [forge.stats()["minted"] for forge in forges] == [1, 0]


def test_with_bad_options_everything_passes(caplog):
    app = ForgeWSGI(answering("402 Payment Required", [], [b"x"]), base_path=7)
    served = call_wsgi(app, free())
    assert (served.status, served.headers, served.body) == ("402 Payment Required", [], b"x")
    assert "base_path: 7 does not go" in caplog.text and "api_key: is missing" in caplog.text


def test_what_cannot_be_read_passes(forge):
    app = forge.wsgi(answering("200 OK", [JSON, ("X", "\u20ac"), RECEIPT], [b'{"a":1}']))
    served = call_wsgi(app, paid())
    assert served.body == b'{"a":1}' and len(served.headers) == 3 and forge.stats()["unread"] == 1


def test_a_django_answer_that_does_not_stream_is_whole_without_a_length(forge):
    class HttpResponse(Closable):
        streaming = False

    result = HttpResponse(b'{"a":1}')
    check_edited(call_wsgi(forge.wsgi(answering("200 OK", [JSON, RECEIPT], result)), paid()))
    assert result.closed == 1
