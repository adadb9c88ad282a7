"""Around us and inside us: CORS and gzip middleware of Starlette, and nginx with its default buffers in front."""

import gzip
import json
import shutil
import subprocess

import pytest
from merchants.settings import REPORT
from support.hosts import call_asgi, scope_of
from support.payments import CHALLENGE, PAID, PAYMENT_HEADER, RECEIPT_HEADER, REQUIREMENT, decoded, encoded
from support.raw_http import ask
from support.servers import Server, free_port, uvicorn

APP = "merchants.fastapi_app:app"
PAYMENT = ("payment-signature", PAYMENT_HEADER.decode())
ORIGIN = ("origin", "https://agent.example")
PREFLIGHT = [ORIGIN, ("access-control-request-method", "GET"), ("access-control-request-headers", "payment-signature")]


def lower(answer):
    return {name.lower(): value for name, value in answer.headers}


@pytest.fixture(scope="module", params=["cors,gzip,forge", "forge,cors,gzip", "cors,forge,gzip", "gzip,forge,cors"])
def layers(request):
    from support.backend import Backend

    backend = Backend()
    bare = Server(uvicorn, APP, environment={"LAYERS": request.param})
    ours = Server(uvicorn, APP, backend=backend, environment={"LAYERS": request.param})
    with bare, ours:
        yield request.param, bare, ours
    backend.close()


def buy(server, *headers):
    return ask(server.port, "GET", "/paid/report", [PAYMENT, *headers])


def test_p06_a_preflight_is_answered_as_without_us(layers):
    _, bare, ours = layers
    before, after = (ask(server.port, "OPTIONS", "/paid/report", PREFLIGHT) for server in (bare, ours))
    assert (after.status, after.body) == (before.status, before.body)
    assert [line for line in after.headers if line[0] != "date"] == [
        line for line in before.headers if line[0] != "date"
    ]
    rating = ask(ours.port, "OPTIONS", "/feedback", [ORIGIN, ("access-control-request-method", "POST")])
    assert rating.status in (200, 204) and lower(rating)["access-control-allow-origin"] == "*"


def test_p06_c42_a_page_may_read_the_id_and_the_merchants_own_headers(layers):
    order, _, ours = layers
    paid = buy(ours, ORIGIN, ("accept-encoding", "identity"))
    assert paid.status == 200 and paid.get("access-control-allow-origin") == "*"
    exposed = [name.strip().lower() for name in paid.get("access-control-expose-headers").split(",")]
    # Outside us, the CORS middleware writes its own list over ours; inside us, ours is added to its list.
    assert "x-own" in exposed
    if not order.startswith("cors"):
        assert "forge-feedback-id" in exposed
    assert json.loads(paid.body)["feedback_id"] == paid.get("forge-feedback-id")
    assert paid.body.startswith(REPORT.rstrip()[:-1])


def test_c32_p19_compressed_inside_the_body_stays_outside_it_is_edited(layers):
    order, _, ours = layers
    paid = buy(ours, ("accept-encoding", "gzip"))
    assert paid.get("content-encoding") == "gzip" and paid.get("forge-feedback-id")
    body = gzip.decompress(paid.body)
    if order.index("gzip") < order.index("forge"):
        assert json.loads(body)["feedback_id"] == paid.get("forge-feedback-id")
    else:
        assert body == REPORT


def test_c32_gzip_bytes_are_untouched(forge, run):
    given = gzip.compress(b'{"a":1}')
    headers = [
        (b"content-type", b"application/json"),
        (b"content-encoding", b"gzip"),
        (b"payment-response", RECEIPT_HEADER),
    ]

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": given})

    first, last = run(call_asgi, forge.asgi(app), scope_of("GET", b"/paid", PAID))
    assert last["body"] == given and any(name == b"forge-feedback-id" for name, _ in first["headers"])


NGINX = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{upstream}; }} }}
}}
"""


@pytest.fixture
def nginx(tmp_path):
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    started = []

    def start(upstream):
        port = free_port()
        config = tmp_path / "nginx.conf"
        config.write_text(NGINX.format(folder=tmp_path, port=port, upstream=upstream))
        process = subprocess.Popen(
            [binary, "-c", config, "-p", tmp_path, "-g", "daemon off;"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        import socket
        import time

        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return port
            except OSError:
                time.sleep(0.05)
        raise AssertionError((tmp_path / "error.log").read_text())

    yield start
    for process in started:
        process.terminate()
        process.wait(10)


def test_l03_a26_behind_nginx_a_challenge_that_fits_without_us_fits_with_us(nginx, backend):
    """nginx takes an answer's head of 4 KB by default and answers 502 above."""
    options = {"public_url": "https://a-rather-long-name-of-an-origin.api.example.com"}
    with (
        Server(uvicorn, "merchants.sized_app:bare", backend=backend) as bare,
        Server(uvicorn, "merchants.sized_app:app", backend=backend, options=options) as ours,
    ):
        before, after = nginx(bare.port), None
        sizes = {size: ask(before, "GET", f"/{size}").status for size in range(2_400, 4_100, 100)}
        assert set(sizes.values()) == {402, 502}
        after = nginx(ours.port)
        decorated = 0
        for size, status in sizes.items():
            answer = ask(after, "GET", f"/{size}")
            assert answer.status == status, size
            if status == 402:
                challenge = decoded(lower(answer)["payment-required"])
                assert challenge["accepts"] == [REQUIREMENT]
                decorated += "forge-feedback" in challenge.get("extensions", {})
        assert decorated > 0
    assert len(encoded(CHALLENGE)) < 2_400


def test_a_whole_payment_behind_nginx(nginx, facilitator, backend):
    import asyncio

    from support.buyer import Buyer

    with Server(uvicorn, APP, facilitator=facilitator, backend=backend) as ours:
        paid = asyncio.run(Buyer().pay("GET", f"http://127.0.0.1:{nginx(ours.port)}/paid/report"))
    assert paid.status_code == 200 and json.loads(paid.content)["feedback_id"] == paid.headers["forge-feedback-id"]
