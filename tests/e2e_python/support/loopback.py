"""What the servers of the tests have in common: a port of loopback, a thread, JSON answers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Loopback:
    """Serves from the moment it is made until `close`. A subclass answers in `get(path, headers)` and
    `post(path, headers, body)`, each of which gives status and JSON; `body` is the JSON that came."""

    def __init__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _handler(server):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self._send(*server.get(self.path, self.headers))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self._send(*server.post(self.path, self.headers, body))

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
