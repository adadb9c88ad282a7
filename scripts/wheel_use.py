"""The smallest use of an installed forge_x402: a WSGI application around which it stands, and the rating form it answers."""

import json

from forge_x402 import Forge


def application(_environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"the merchant's"]


def get(path):
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "REMOTE_ADDR": "127.0.0.1",
    }
    return b"".join(wrapped(environ, lambda _status, _headers, _error=None: None))


forge = Forge(api_key="ffk_test_0123456789abcdef", public_url="https://api.example.com", strict=True)
wrapped = forge.wsgi(application)
assert json.loads(get("/feedback"))["protocol"] == "forge-feedback/0"
assert get("/") == b"the merchant's"
assert forge.engine.verify_id(forge.engine.mint_id()) == "valid"
