"""The answer of one WSGI request: its head waits for the verdict, its body only while it may still be edited.

The body is held if the application gives it whole (a list, a Django response that does not stream) or if the head states a
length within the engine's limit. `start_response` may come before the application returns or with its first chunk.
"""

WANT_BODY = 2
#: Of a head: not there yet, waiting for the verdict, with the server.
NONE, HELD, SENT = range(3)


class Answer:
    def __init__(self, forge, request, environ, start_response):
        self._forge = forge
        self._request = request
        self._environ = environ
        self._start = start_response
        #: None: the engine has not seen this request but for a look.
        self.exchange = None
        self._head = NONE
        #: The arguments of start_response while the head is held.
        self._given = self._verdict = self._write = None
        #: What came through the callable of old while the head is held.
        self._written = []
        self._status = self._bytes = 0
        self._ended = False

    def run(self, app):
        try:
            body = app(self._environ, self.start_response)
        except BaseException as error:
            self.close(error)
            raise
        if self._head == SENT and self.exchange is None:
            return body
        if self._head == HELD and (isinstance(body, list | tuple) or getattr(body, "streaming", None) is False):
            made = self.whole(b"".join(body))
            return Parts(self, body, [made] if made else [])
        if self._head == SENT and isinstance(body, list | tuple):
            return Parts(self, body, body)
        if self._head == SENT and self._is_file(body) and self._watch_file(body):
            return body
        return Chunks(self, body)

    def start_response(self, status, headers, exc_info=None):
        given = (status, headers) if exc_info is None else (status, headers, exc_info)
        if self._head == HELD and exc_info is None:
            self.release()
        if self._head == SENT:
            # Whether a second head goes is the server's word.
            return self._start(*given)
        self._status = int(status[:3]) if status[:3].isdigit() else 0
        self._given, self._head, self._verdict = given, HELD, None
        if self.exchange is not None or self._status == 402:
            self._judge(None)
        if self._verdict is None or self._verdict.action != WANT_BODY:
            return self.release()
        return self._write_held

    def _write_held(self, data):
        if self._head == HELD and self.may_hold(sum(map(len, self._written)) + len(data)):
            self._written.append(data)
            return
        self.release()
        self.sent(data)
        self._write(data)

    def may_hold(self, size):
        """Whether a body that comes in parts, so many bytes up to now, is worth holding."""
        for name, value in self._given[1]:
            if name.lower() == "content-length":
                stated = int(value) if value.isdigit() and len(value) < 16 else None
                return stated is not None and max(stated, size) <= self._verdict.body_limit
        return False

    def whole(self, body):
        """The body to send for the whole of the held one; its head goes out."""
        body = b"".join([*self._written, body])
        self._written = []
        self._judge(body)
        made = body if self._verdict is None or self._verdict.body is None else self._verdict.body
        self.release()
        return made

    def release(self):
        """Gives the server the head as the last verdict wants it, and what was held of the body."""
        if self._head == HELD:
            self._head = SENT
            status, headers, *exc_info = self._given
            if self._verdict is not None and self._verdict.headers is not None:
                headers = self._verdict.headers
            self._given = None
            self._write = self._start(status, headers, *exc_info)
            for data in self._written:
                self.sent(data)
                self._write(data)
            self._written = []
        return self._write

    def is_held(self):
        return self._head == HELD

    def sent(self, part):
        self._bytes += len(part)

    def close(self, error, finished=False):
        """The application has raised, or the server has closed its answer."""
        if error is None:
            self.end("delivered" if finished else "aborted")
        elif isinstance(error, Exception):
            self.end("failed", 500 if self._head == NONE else self._status)
        else:
            self.end("aborted")

    def end(self, outcome, status=None):
        if not self._ended and self.exchange is not None:
            self._ended = True
            self.exchange.end(outcome, self._status if status is None else status, self._bytes)
            if self._forge.engine.is_log_due():
                self._forge._log()

    def _judge(self, body):
        """Asks the engine about the head, with the body if there is one. What fails here passes."""
        headers, route = self._given[1], self._route()
        try:
            if self.exchange is not None:
                self._verdict = self.exchange.on_response(self._status, headers, route, body, text=True)
                return
            late = self._forge.engine.on_response_late
            begun = late(*self._request, self._status, headers, route, body, text=True)
            self.exchange, self._verdict = (None, None) if begun is None else begun
        except Exception as error:
            self._forge._count_unread("an answer passed unchanged", error)
            self._verdict = None

    def _route(self):
        """Flask's pattern; others do not tell."""
        rule = getattr(getattr(self._environ.get("werkzeug.request"), "url_rule", None), "rule", None)
        return rule if isinstance(rule, str) else None

    def _is_file(self, body):
        wrapper = self._environ.get("wsgi.file_wrapper")
        return isinstance(wrapper, type) and isinstance(body, wrapper)

    def _watch_file(self, body):
        """A server's own file object goes to the server as it is; it is done when it is closed."""
        inner = getattr(body, "close", None)

        def close():
            try:
                if inner is not None:
                    inner()
            finally:
                self.end("delivered")

        try:
            body.close = close
        except (AttributeError, TypeError):
            return False
        return True


class Parts(list):
    """A body that is all there; a list, because servers look at its length."""

    def __init__(self, answer, body, parts):
        super().__init__(parts)
        self._answer = answer
        self._body = body
        self._finished = False

    def __iter__(self):
        for part in super().__iter__():
            self._answer.sent(part)
            yield part
        self._finished = True

    def close(self):
        _close(self._body, self._answer, None, self._finished)


class Chunks:
    """A body that comes in parts, perhaps with its head."""

    def __init__(self, answer, body):
        self._answer = answer
        self._body = body
        self._parts = self._all()
        self._finished = False
        self._error = None

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return next(self._parts)
        except StopIteration:
            self._finished = True
            raise
        except BaseException as error:
            self._error = error
            raise

    def close(self):
        self._parts.close()
        _close(self._body, self._answer, self._error, self._finished)

    def _all(self):
        answer, parts = self._answer, iter(self._body)
        for part in parts:
            if answer.is_held():
                held, size = [part], len(part)
                while answer.may_hold(size):
                    more = next(parts, None)
                    if more is None:
                        held = [answer.whole(b"".join(held))]
                        break
                    held.append(more)
                    size += len(more)
                answer.release()
                for one in held:
                    answer.sent(one)
                    yield one
            else:
                answer.sent(part)
                yield part
        if answer.is_held():
            # What the callable of old wrote was all of it, or there is none.
            whole = answer.whole(b"")
            if whole:
                answer.sent(whole)
                yield whole


def _close(body, answer, error, finished):
    try:
        close = getattr(body, "close", None)
        if close is not None:
            close()
    except BaseException as failure:
        answer.close(failure)
        raise
    answer.close(error, finished)
