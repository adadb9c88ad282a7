"""Hosts in memory: one ASGI or WSGI request with a scripted application, and what reached the server."""

import io


def scope_of(method, target, headers, **more):
    path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path.decode("latin-1"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("203.0.113.7", 50000),
        "server": ("127.0.0.1", 80),
        **more,
    }


async def call_asgi(app, scope, body=b"", incoming=None):
    """Runs one request to its end; gives the messages the server got."""
    incoming = list(incoming) if incoming is not None else [{"type": "http.request", "body": body, "more_body": False}]
    sent = []

    async def receive():
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent


async def asgi_exchange(forge, case, fill):
    status, head, body = case.response.head["status"], case.response.headers(fill), case.response.body(fill)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    request = case.request
    scope = scope_of(request.head["method"], request.head["target"].encode(), request.headers(fill))
    start, *parts = await call_asgi(forge.asgi(app), scope, request.body(fill))
    return start["status"], list(start["headers"]), b"".join(part.get("body", b"") for part in parts)


def environ_of(method, target, headers, body=b"", **more):
    path, _, query = target.partition(b"?")
    environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path.decode("latin-1"),
        "QUERY_STRING": query.decode("latin-1"),
        "RAW_URI": target.decode("latin-1"),
        "REMOTE_ADDR": "203.0.113.7",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **more,
    }
    for name, value in headers:
        key = name.decode("latin-1").upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        environ[key] = value.decode("latin-1")
    return environ


class Served:
    """What a WSGI server got: the status line, the head, the body; refuses what PEP 3333 refuses."""

    def __init__(self):
        self.status = None
        self.headers = None
        self.parts = []
        self.closed = False
        self.result = None

    def start_response(self, status, headers, exc_info=None):
        if exc_info is not None:
            if self.parts:
                raise exc_info[1].with_traceback(exc_info[2])
        elif self.status is not None:
            raise AssertionError("start_response was called twice")
        assert all(type(name) is str and type(value) is str for name, value in headers)
        self.status, self.headers = status, list(headers)
        return self.write

    def write(self, data):
        assert self.status is not None and type(data) is bytes
        self.parts.append(data)

    @property
    def body(self):
        return b"".join(self.parts)

    def head(self):
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers]


def call_wsgi(app, environ):
    served = Served()
    served.result = app(environ, served.start_response)
    try:
        for part in served.result:
            if part:
                served.write(part)
    finally:
        if hasattr(served.result, "close"):
            served.result.close()
    return served


def wsgi_exchange(forge, case, fill):
    status, head, body = case.response.head["status"], case.response.headers(fill), case.response.body(fill)

    def app(environ, start_response):
        text = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head]
        start_response(f"{status} As The Application Says", text)
        return [body]

    request = case.request
    environ = environ_of(
        request.head["method"], request.head["target"].encode(), request.headers(fill), request.body(fill)
    )
    served = call_wsgi(forge.wsgi(app), environ)
    return served.status, served.head(), served.body
