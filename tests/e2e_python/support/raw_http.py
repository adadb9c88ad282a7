"""HTTP/1.1 over a bare socket: the bytes as they are, several requests on one connection, interim answers, aborts."""

import socket


class Answer:
    def __init__(self, status, reason, headers, body, interim, trailers):
        self.status = status
        self.reason = reason
        #: (name, value) as on the wire.
        self.headers = headers
        self.body = body
        self.interim = interim
        self.trailers = trailers

    def all(self, name):
        return [value for line, value in self.headers if line.lower() == name.lower()]

    def get(self, name):
        values = self.all(name)
        assert len(values) <= 1, values
        return values[0] if values else None


class Connection:
    def __init__(self, port, timeout=15):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._file.close()
        self.socket.close()

    def send(self, method, target, headers=(), body=b"", framed=True):
        lines = [f"{method} {target} HTTP/1.1", "host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in headers]
        if body and framed:
            lines.append(f"content-length: {len(body)}")
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def ask(self, method, target, headers=(), body=b"", framed=True):
        self.send(method, target, headers, body, framed)
        return self.read(head_only=method == "HEAD")

    def read(self, head_only=False):
        interim = []
        while True:
            status, reason, headers = self.read_head()
            if status >= 200:
                break
            interim.append(status)
        get = {name.lower(): value for name, value in headers}
        body, trailers = b"", []
        if head_only or status in (204, 304):
            pass
        elif get.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self._file.readline().split(b";")[0], 16):
                body += self._file.read(size)
                assert self._file.readline() == b"\r\n"
            trailers = self._lines()
        elif "content-length" in get:
            body = self._file.read(int(get["content-length"]))
            assert len(body) == int(get["content-length"]), "the body is shorter than it says"
        else:
            body = self._file.read()
        return Answer(status, reason, headers, body, interim, trailers)

    def read_head(self):
        line = self._file.readline()
        if not line:
            raise ConnectionError("closed without an answer")
        _, status, reason = line.decode("latin-1").rstrip("\r\n").split(" ", 2)
        return int(status), reason, self._lines()

    def read_some(self, size=65536):
        return self._file.read1(size)

    def _lines(self):
        lines = []
        while (line := self._file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").rstrip("\r\n").partition(":")
            lines.append((name, value.strip()))
        return lines


def ask(port, method, target, headers=(), body=b""):
    with Connection(port) as connection:
        return connection.ask(method, target, [*headers, ("connection", "close")], body)
