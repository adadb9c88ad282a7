"""WSGI (PEP 3333): carries requests and answers between the server, the engine and the application; decides nothing.

An ordinary answer is handed on as the object it is, so that file wrappers and lists keep their shortcuts. A call that waits
for the backend blocks the worker thread it came in on, three seconds at most, and at most `max_waits` threads at once.
"""

from http import HTTPStatus
from urllib.parse import quote

from ._forge import Forge
from ._wsgi_answer import Answer
from ._wsgi_input import Joined, read_body

WANT_BODY, WAIT, REPLY = 2, 3, 1
#: In an environ: a layer of ours has it, another one passes.
MARK = "forge_x402.seen"
#: Milliseconds for which an agent that rates may wait for the backend.
WAIT_LIMIT_MS = 3_000


class ForgeWSGI:
    """WSGI middleware: `app.wsgi_app = ForgeWSGI(app.wsgi_app, api_key=…)`, outside the payment middleware."""

    def __init__(self, app, forge=None, **options):
        self.app = app
        self.forge = Forge(**options) if forge is None else forge

    def __call__(self, environ, start_response):
        engine = self.forge.engine
        if engine is None or MARK in environ:
            return self.app(environ, start_response)
        if not self.forge._routes_seen:
            self.forge._look_at_routes(getattr(self.app, "__self__", self.app))
        environ[MARK] = True
        headers = _headers_of(environ)
        request = (environ["REQUEST_METHOD"], _target_of(environ), headers, environ.get("REMOTE_ADDR"))
        try:
            begun = engine.on_request(*request)
        except Exception as error:
            self.forge._count_unread("a request passed unread", error)
            return self.app(environ, start_response)
        answer = Answer(self.forge, request, environ, start_response)
        if begun is not None:
            answer.exchange, verdict = begun
            try:
                verdict = _before(answer.exchange, verdict, environ)
                if verdict.action == REPLY:
                    return _reply(answer, verdict, start_response)
            except BaseException as error:
                answer.close(error)
                raise
        return answer.run(self.app)


def _before(exchange, verdict, environ):
    """What has to happen before the application runs; gives the verdict in force."""
    if verdict.target is not None:
        _set_target(environ, verdict.target)
    if verdict.action == WANT_BODY:
        body, whole = read_body(environ, verdict.body_limit)
        if body is not None:
            verdict = exchange.on_request_body(body, [])
            if verdict.body is not None:
                body = verdict.body
            for _, name, value in verdict.edits if verdict.action != REPLY else ():
                if name.lower() == "content-length":
                    environ["CONTENT_LENGTH"] = value.decode("ascii")
            environ["wsgi.input"] = Joined.of(body, None if whole else environ["wsgi.input"])
    if verdict.action == WAIT:
        verdict = exchange.wait(WAIT_LIMIT_MS)
    return verdict


def _reply(answer, verdict, start_response):
    status = verdict.http_status
    headers = [(name, value.decode("latin-1")) for _, name, value in verdict.edits]
    start_response(f"{status} {HTTPStatus(status).phrase}", headers)
    answer.end("delivered", status)
    return [verdict.body] if verdict.body else []


def _headers_of(environ):
    """The request's header lines, as far as CGI names tell: `-` and `_` are one, and repeated lines are joined."""
    headers = [(key[5:].replace("_", "-"), value) for key, value in environ.items() if key.startswith("HTTP_")]
    for key, name in (("CONTENT_TYPE", "content-type"), ("CONTENT_LENGTH", "content-length")):
        if environ.get(key):
            headers.append((name, environ[key]))
    return headers


def _target_of(environ):
    """The target as it stood on the wire where the server says so."""
    target = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if isinstance(target, str) and target.startswith("/"):
        return target.encode("latin-1", "replace")
    path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1", "replace")
    query = environ.get("QUERY_STRING")
    target = quote(path, safe="/~!$&'()*+,;=:@")
    return (f"{target}?{query}" if query else target).encode("latin-1", "replace")


def _set_target(environ, target):
    environ["QUERY_STRING"] = target.partition(b"?")[2].decode("latin-1")
    for key in ("RAW_URI", "REQUEST_URI"):
        if key in environ:
            environ[key] = target.decode("latin-1")
