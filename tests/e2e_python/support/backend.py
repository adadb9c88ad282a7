"""A backend on loopback: takes events and ratings, keeps what came, and can be told to be slow or to fail."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Backend:
    def __init__(self):
        self.events = []
        self.batches = []
        self.ratings = []
        self.delay = 0
        self.fail = None
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, count=1, timeout=10, **like):
        """The events with those members, once there are `count` of them."""
        end = time.monotonic() + timeout
        while True:
            with self._lock:
                found = [event for event in self.events if all(event.get(key) == value for key, value in like.items())]
            if len(found) >= count:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"{len(found)} of {count} events like {like}; there are {self.events}")
            time.sleep(0.02)

    def _handler(backend):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                time.sleep(backend.delay)
                if self.path.endswith("/summary"):
                    return self._send(200, {"calls": 7})
                self._send(404, {"error": "no such path"})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                time.sleep(backend.delay)
                if backend.fail is not None:
                    return self._send(backend.fail, {"error": "told to fail"})
                with backend._lock:
                    if self.path.endswith("/events"):
                        backend.events.extend(body["events"])
                        backend.batches.append(self.headers["idempotency-key"])
                    else:
                        backend.ratings.append(body)
                self._send(200, {"recorded": True})

            def _send(self, status, body):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        return Handler
