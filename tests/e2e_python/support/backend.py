"""A backend on loopback: takes events and ratings, keeps what came, and can be told to be slow or to fail."""

import threading
import time

from .loopback import Loopback


class Backend(Loopback):
    def __init__(self):
        self.events = []
        self.batches = []
        self.ratings = []
        self.delay = 0
        self.fail = None
        self._lock = threading.Lock()
        super().__init__()

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

    def get(self, path, _headers):
        time.sleep(self.delay)
        return (200, {"calls": 7}) if path.endswith("/summary") else (404, {"error": "no such path"})

    def post(self, path, headers, body):
        time.sleep(self.delay)
        if self.fail is not None:
            return self.fail, {"error": "told to fail"}
        with self._lock:
            if path.endswith("/events"):
                self.events.extend(body["events"])
                self.batches.append(headers["idempotency-key"])
            else:
                self.ratings.append(body)
        return 200, {"recorded": True}
