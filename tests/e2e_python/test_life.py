"""Processes: several event loops, forks, the end of an interpreter, threads, sub-interpreters, panics."""

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import forge_x402
import pytest
from forge_x402._native import Engine
from support.hosts import call_asgi, call_wsgi, environ_of, scope_of
from support.payments import PAID, RECEIPT_HEADER

JSON = (b"content-type", b"application/json")


async def app(scope, receive, send):
    headers = [JSON, (b"payment-response", RECEIPT_HEADER)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


def pay(forge):
    asyncio.run(call_asgi(forge.asgi(app), scope_of("GET", b"/paid", PAID)))


def script(text, *arguments, python=sys.executable, timeout=60):
    """Runs Python code in a process of its own; gives exit code, output, errors, seconds."""
    begun = time.monotonic()
    prelude = "import asyncio, atexit, os, sys, time, threading\nfrom forge_x402 import Forge\n"
    code = prelude + textwrap.dedent(text)
    environment = {**os.environ, "PYTHONPATH": str(Path(forge_x402.__file__).parents[1])}
    done = subprocess.run(
        [python, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
    )
    return done.returncode, done.stdout, done.stderr, time.monotonic() - begun


def test_h01_one_forge_on_many_loops(make_forge, backend):
    forge = make_forge(backend_url=backend.url)
    for _ in range(5):
        pay(forge)
    threads = [threading.Thread(target=pay, args=(forge,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert forge.flush() and len(backend.wait_for(9, type="interaction")) == 9


def test_h04_on_trio_events_arrive_too(make_forge, backend):
    import trio

    forge = make_forge(backend_url=backend.url)
    trio.run(call_asgi, forge.asgi(app), scope_of("GET", b"/paid", PAID))
    backend.wait_for(type="interaction")


def test_h02_p21_a_fork_after_the_first_event_has_a_worker_of_its_own(make_forge, backend):
    forge = make_forge(backend_url=backend.url)
    pay(forge)
    backend.wait_for(1, type="interaction")
    pay(forge)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=in_a_child, args=(forge,)) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join(20)
        assert child.exitcode == 0
    assert forge.flush()
    events = backend.wait_for(2 + 3 * 2, type="interaction")
    ids = [event["feedback_id"] for event in events]
    # Nobody has sent what was another's, and no two have made the same id.
    assert len(events) == len(set(ids)) == 8 and len({event["id"] for event in events}) == 8
    assert all(forge.engine.verify_id(feedback_id) == "valid" for feedback_id in ids)


def in_a_child(forge):
    assert forge.stats()["queued"] == 0
    pay(forge)
    pay(forge)
    assert forge.flush(10)


EVENT = """
    forge = Forge(api_key="ffk_example", backend_url=sys.argv[1], flush_interval_ms=60000, strict=True)
    tell = lambda: forge.engine.enqueue_event(b'{"type":"custom"}')
"""


def test_p24_the_end_of_a_process_sends_what_is_queued(backend):
    code, out, err, _ = script(EVENT + "    tell()\n", backend.url)
    assert (code, out, err) == (0, "", "")
    assert len(backend.wait_for(type="custom")) == 1


@pytest.mark.parametrize("how", ["raise SystemExit(3)", "sys.exit(3)"])
def test_p23_the_exit_code_is_the_programs(backend, how):
    assert script(EVENT + f"    tell(); {how}\n", backend.url)[0] == 3
    backend.wait_for(type="custom")


def test_p23_a_first_event_at_exit_or_from_a_finaliser_disturbs_nobody(backend):
    text = """
    class Last:
        def __del__(self):
            tell()
    last = Last()
    atexit.register(tell)
    """
    code, out, err, _ = script(EVENT + text, backend.url)
    assert (code, out, err) == (0, "", "")
    backend.wait_for(type="custom")


def test_the_end_of_a_process_is_held_up_by_800_ms_at_most_for_all_engines_together():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        text = """
        forges = [Forge(api_key="ffk_example", backend_url=sys.argv[1], flush_interval_ms=100) for _ in range(4)]
        for forge in forges:
            forge.engine.enqueue_event(b'{"type":"custom"}')
        begun = time.monotonic()
        atexit._run_exitfuncs()
        print(time.monotonic() - begun)
        """
        code, out, err, _ = script(text, f"http://127.0.0.1:{silent.getsockname()[1]}")
    # The bound is the library's promise; the rest is room for a busy machine.
    assert (code, err) == (0, "") and float(out) < 0.8 + 1.0


def test_p24_a_natural_end_without_events_is_not_held_up():
    text = """
    forge = Forge(api_key="ffk_example", backend_url="http://127.0.0.1:9", strict=True)
    begun = time.monotonic()
    atexit._run_exitfuncs()
    print(time.monotonic() - begun)
    """
    code, out, err, _ = script(text)
    assert (code, err) == (0, "") and float(out) < 0.5


def test_a_logger_that_is_gone_at_exit_is_no_trouble(backend):
    text = """
    import logging
    logging.basicConfig()
    forge = Forge(api_key="ffk_example", backend_url="http://127.0.0.1:9", flush_interval_ms=100)
    forge.engine.enqueue_event(b'{"type":"custom"}')
    sys.stderr.close()
    """
    assert script(text)[0] == 0


def test_p23_sub_interpreters_work_and_end(backend):
    """As under mod_wsgi, where each application may have an interpreter of its own."""
    inside = """if 1:
        import sys
        sys.path[:] = %r
        from forge_x402 import Forge
        forge = Forge(api_key="ffk_example", backend_url=%r, flush_interval_ms=60000, strict=True)
        forge.engine.enqueue_event(b'{"type":"custom"}')
        print(forge.engine.verify_id(forge.engine.mint_id()), flush=True)
    """
    text = """
    import _xxsubinterpreters as interpreters
    kept = [interpreters.create() for _ in range(2)]
    for one in kept:
        interpreters.run_string(one, %r)
    """
    code = textwrap.dedent(text) % (inside % (sys.path, backend.url))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "valid\nvalid\n", "")
    backend.wait_for(2, type="custom")


def test_p29_without_the_extension_module_everything_passes_with_one_clear_line():
    text = """
    import sys
    sys.modules["forge_x402._native"] = None
    from forge_x402 import Forge, ForgeMiddleware
    forge = Forge(api_key="ffk_example", strict=True)
    print(forge.wsgi(lambda environ, start_response: [b"passed"])({}, None), ForgeMiddleware(None).forge.engine)
    print(forge.engine, forge.stats(), forge.flush(), forge.shutdown(), forge.diagnostics())
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(forge_x402.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "[b'passed'] None\nNone {} True True []\n")
    assert done.stderr.count("the extension module did not load") == 2 == done.stderr.count("\n")


def test_p30_the_module_declares_that_it_needs_no_global_lock_and_exports_one_symbol():
    import forge_x402._native as native

    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", native.__file__], capture_output=True, text=True, check=True
    )
    assert [line.split()[-1] for line in symbols.stdout.splitlines()] == ["PyInit__native"]
    dynamic = subprocess.run(["readelf", "-d", native.__file__], capture_output=True, text=True, check=True).stdout
    assert "NODELETE" in dynamic and "libpython" not in dynamic
    # An interpreter that has the lock does not tell; the words are what can be asked for here.
    source = Path(__file__).resolve().parents[2] / "bindings/python/src/lib.rs"
    assert "#[pymodule(gil_used = false)]" in source.read_text()


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_p23_the_same_wheel_works_on_newer_pythons(version, backend):
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    code, out, err, _ = script(
        EVENT + "    tell(); print(forge.engine.verify_id(forge.engine.mint_id()))\n", backend.url, python=python
    )
    assert (code, out, err) == (0, "valid\n", "")
    backend.wait_for(type="custom")


def find_python(version):
    import glob
    import shutil

    found = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))
    return found[0] if found else shutil.which(f"python{version}")


def test_an_exchange_that_another_thread_waits_with_is_busy_and_not_blocked(make_forge, backend):
    backend.delay = 0.5
    forge = make_forge(backend_url=backend.url)
    rate = f"/feedback/rate?feedback_id={forge.engine.mint_id()}&outcome=fully".encode()
    exchange, verdict = forge.engine.on_request("GET", rate, [], None)
    assert verdict.action == 3
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(exchange.wait(3_000)))
    thread.start()
    time.sleep(0.1)
    begun = time.monotonic()
    assert exchange.on_response(200, []).action == 0
    exchange.end("delivered", 200, 0)
    assert time.monotonic() - begun < 0.3
    thread.join()
    assert verdicts[0].action == 1 and verdicts[0].http_status == 200


def test_calls_out_of_order_answer_pass_and_are_counted(forge):
    exchange, _ = forge.engine.on_request("GET", b"/paid", PAID, None)
    for call in (
        lambda: exchange.on_request_body(b"{}", []),
        lambda: exchange.wait(10),
        lambda: exchange.on_response(200, []),
        lambda: exchange.on_response(200, []),
        lambda: exchange.end("delivered", 200, 0),
        lambda: exchange.end("nonsense", 200, 0),
        lambda: exchange.on_response(200, []),
    ):
        made = call()
        assert made is None or made.action == 0
    assert forge.stats()["skips"]["out_of_order"] == 3


def test_p32_a_panic_in_the_engine_stays_there_and_is_silent():
    text = """
    from forge_x402._native import Engine
    engine = Engine(b'{"api_key":"ffk_example"}')
    print(hasattr(engine, "on_request"))
    """
    code, out, err, _ = script(text)
    assert (code, out, err) == (0, "True\n", "")


def test_threads_at_full_speed_share_one_engine(make_forge):
    forge = make_forge()
    ids = []

    def wsgi(environ, start_response):
        start_response("200 OK", [("Content-Type", "application/json"), ("PAYMENT-RESPONSE", RECEIPT_HEADER.decode())])
        return [b"{}"]

    def work():
        for _ in range(200):
            served = call_wsgi(forge.wsgi(wsgi), environ_of("GET", b"/paid", PAID))
            ids.append(json.loads(served.body)["feedback_id"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 800 and forge.stats()["internal_errors"] == 0


def test_bad_arguments_raise_and_nothing_else_happens():
    engine = Engine(b'{"api_key":"ffk_example"}')
    for call in (
        lambda: engine.on_request("GET", "/text", [], None),
        lambda: engine.on_request("GET", b"/x", [(b"one",)], None),
        lambda: engine.on_request("GET", b"/x", 7, None),
        lambda: engine.on_request("GET", b"/x", [(b"a", b"b", b"c")], None),
        lambda: engine.on_response_late("GET", b"/x", [], None, 70_000, []),
    ):
        with pytest.raises((TypeError, OverflowError)):
            call()
    with pytest.raises(ValueError, match="form"):
        engine.transform_challenge("letter", b"")
