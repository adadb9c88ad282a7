"""Forge: one engine and its adapters, with its warnings in the log and its events sent before the process ends.

Without the extension module (a platform without a wheel, an isolated sub-interpreter) everything passes, and the log says so.
"""

import atexit
import json
import logging
import os
import time
import weakref
from contextlib import suppress

from ._routes import warn_of_own_routes

try:
    from ._native import Engine
except ImportError as error:
    Engine = None
    _load_error = error

logger = logging.getLogger("forge_x402")

#: The longest the end of the process is held up, for all engines together.
EXIT_LIMIT_MS = 800
_alive = weakref.WeakSet()


class Forge:
    """An engine and its adapters. Options are those of options.json; a bad one turns everything off unless `strict`."""

    def __init__(self, **options):
        self.engine = None
        self._options = options
        self._routes_seen = False
        self._unread = 0
        self._next_unread = 0.0
        if Engine is None:
            logger.warning("off, all traffic passes unchanged: the extension module did not load: %s", _load_error)
            return
        self.engine = Engine(_to_json(options))
        _alive.add(self)
        self._log()

    def asgi(self, app):
        """The ASGI application `app` with this engine around it."""
        from .asgi import ForgeMiddleware

        return ForgeMiddleware(app, forge=self)

    def wsgi(self, app):
        """The WSGI application `app` with this engine around it."""
        from .wsgi import ForgeWSGI

        return ForgeWSGI(app, forge=self)

    def stats(self):
        """What has happened in this process so far; empty where the engine did not load."""
        return {} if self.engine is None else {**self.engine.stats(), "unread": self._unread}

    def flush(self, timeout=2.0):
        """Waits until the events handed in so far are sent or dropped. BLOCKS for `timeout` seconds at most.

        True if it came to an end within that time."""
        done = self.engine is None or self.engine.flush(_milliseconds(timeout))
        self._log()
        return done

    def shutdown(self, timeout=EXIT_LIMIT_MS / 1000):
        """Sends what there is and stops reporting; traffic is treated as before. BLOCKS for `timeout` seconds at most.

        Called at the end of the process by itself. True if nothing was lost."""
        done = self.engine is None or self.engine.shutdown(_milliseconds(timeout))
        self._log()
        return done

    def diagnostics(self):
        """Takes the lines that would go to the logger `forge_x402`: faults of options, an unreachable backend."""
        return [] if self.engine is None else json.loads(self.engine.diagnostics())

    def _count_unread(self, what, error):
        """Called with what could not be read and has passed; said once a minute."""
        self._unread += 1
        now = time.monotonic()
        if now >= self._next_unread:
            self._next_unread = now + 60
            try:
                # An error of the extension module has been nowhere yet that a traceback could name.
                raise error
            except Exception:
                logger.warning("%s", what, exc_info=True)

    def _log(self):
        for line in self.diagnostics():
            logger.warning("%s", line)

    def _look_at_routes(self, app):
        """Called with the first request: routes of the merchant's own that ours hide."""
        self._routes_seen = True
        if self._options.get("feedback") is not False:
            warn_of_own_routes(app, self._options.get("base_path") or "/feedback")


def _to_json(options):
    options = dict(options)
    openapi = options.get("openapi")
    # The document may be given as it is in Python; the engine wants its text.
    if isinstance(openapi, dict) and isinstance(openapi.get("document"), dict):
        options["openapi"] = {**openapi, "document": json.dumps(openapi["document"])}
    return json.dumps(options, default=_foreign, skipkeys=True).encode()


def _foreign(value):
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    # No option is an object of this shape: the engine names the option and what goes.
    return {"python": type(value).__name__}


def _milliseconds(seconds):
    return max(0, min(int(seconds * 1000), 3_600_000))


@atexit.register
def _at_exit():
    deadline = time.monotonic() + EXIT_LIMIT_MS / 1000
    for forge in list(_alive):
        # The log may be gone by now, and nothing may disturb the end of a process.
        with suppress(Exception):
            forge.engine.shutdown(_milliseconds(deadline - time.monotonic()), at_exit=True)
