"""A WSGI request body read ahead, and the same bytes as a file again."""

import io


def read_body(environ, limit):
    """The body, or its first `limit + 1` bytes, and whether that is all of it. `None` where it cannot be read ahead."""
    stated = environ.get("CONTENT_LENGTH")
    if stated:
        if not (stated.isascii() and stated.isdigit()):
            return None, False
        length = int(stated)
        wanted = min(length, limit + 1)
    elif environ.get("wsgi.input_terminated"):
        length, wanted = None, limit + 1
    elif "HTTP_TRANSFER_ENCODING" in environ:
        # Nobody but the server knows where this body ends.
        return None, False
    else:
        return b"", True
    parts, left = [], wanted
    while left > 0:
        part = environ["wsgi.input"].read(left)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    body = b"".join(parts)
    if length is not None and len(body) < wanted:
        # The client has gone: the application finds out in its own way.
        environ["wsgi.input"] = Joined.of(body, environ["wsgi.input"])
        return None, False
    return body, len(body) <= limit


class Joined(io.RawIOBase):
    """Bytes in hand, then the rest of a file."""

    @staticmethod
    def of(start, rest):
        return io.BytesIO(start) if rest is None else io.BufferedReader(Joined(start, rest))

    def __init__(self, start, rest):
        self._start = memoryview(start)
        self._rest = rest

    def readable(self):
        return True

    def readinto(self, buffer):
        part = self._start[: len(buffer)] or self._rest.read(len(buffer))
        self._start = self._start[len(part) :]
        buffer[: len(part)] = part
        return len(part)
