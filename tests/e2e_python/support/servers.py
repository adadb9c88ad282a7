"""Real servers as processes of their own, each on a free port, ended by a signal to the process started here."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def uvicorn(app, *more, http="httptools", loop="uvloop", port):
    return [BIN / "uvicorn", app, "--port", port, "--http", http, "--loop", loop, "--log-level", "warning", *more]


def hypercorn(app, *more, worker="asyncio", port):
    return [
        BIN / "hypercorn",
        app,
        "--bind",
        f"127.0.0.1:{port}",
        "--worker-class",
        worker,
        "--log-level",
        "warning",
        *more,
    ]


def gunicorn(app, *more, port):
    return [
        BIN / "gunicorn",
        app,
        "--bind",
        f"127.0.0.1:{port}",
        "--log-level",
        "warning",
        "--graceful-timeout",
        "5",
        *more,
    ]


def uwsgi(app, *more, port):
    module, _, name = app.partition(":")
    command = [BIN / "uwsgi", "--http-socket", f"127.0.0.1:{port}", "--module", module, "--callable", name, "--master"]
    # Die on TERM instead of reloading; no python path of its own. Without post-buffering uWSGI itself resets the connection of
    # an answer whose request body nobody has read, as a 402 to a POST is: 13 of 300 without us, 15 of 300 with us.
    return [
        *command,
        "--post-buffering",
        "65536",
        "--die-on-term",
        "--disable-logging",
        "--virtualenv",
        sys.prefix,
        "--pp",
        HERE,
        *more,
    ]


class Server:
    """A context in which a server runs; `backend` None: without forge-x402."""

    def __init__(self, make, app, *more, backend=None, facilitator=None, options=None, environment=None, **keywords):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [str(part) for part in make(app, *more, port=self.port, **keywords)]
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]), **(environment or {})}
        if backend is not None:
            self._environment["BACKEND"] = backend.url
        if facilitator is not None:
            self._environment["FACILITATOR"] = facilitator.url
        if options is not None:
            self._environment["OPTIONS"] = json.dumps(options)
        self.log = ""
        # Started here and waited for later, so that two can start side by side.
        self.process = subprocess.Popen(
            self._command, cwd=HERE, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def __enter__(self):
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self._end(signal.SIGKILL)
                    raise AssertionError(f"{self._command[0]} did not start:\n{self.log}") from None
                time.sleep(0.05)

    def __exit__(self, *_):
        self.stop()

    def stop(self, how=signal.SIGTERM):
        """Ends the server as an operator does; gives the seconds it took."""
        return self._end(how)

    def _end(self, how):
        begun = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            output, _ = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            output, _ = self.process.communicate()
            output += b"\n(killed: it did not end by itself)"
        if output:
            self.log += output.decode(errors="replace")
        return time.monotonic() - begun
