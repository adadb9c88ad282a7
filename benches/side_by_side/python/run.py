"""Side by side: uvicorn with a plain application, with forge-x402, with forgeintel-sdk; CPU per request. Ends by itself.

Server and wrk share one processor, and wrk (SCHED_BATCH) takes its turn when the server has nothing left to read. On two
processors each answer would wake a wrk that sleeps the longer the slower the server is, and the server would be charged for
that, by about 10 us more for the slower of two. For the same reason what is compared is CPU time and not wrk's count; "1/s" is
what one processor could answer. The time of our reporting thread, which sends events while others wait, is shown apart.

    run.py [--rounds 7] [--seconds 1] [--stacks stub,x402]
"""

import argparse
import asyncio
import ctypes
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

from forge_x402 import Forge
from traffic import LARGE, PAID, payment, stub

HERE = Path(__file__).resolve().parent
KINDS = {"stub": ("plain", "same", "ours", "sdk"), "x402": ("plain", "ours", "sdk")}
#: The server's processor, and the one of its peers.
OURS, THEIRS = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--stacks", default="stub,x402")
    options = parser.parse_args()
    print(f"python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    with serving("peers:app", {}, THEIRS) as (peers, _):
        for stack in options.stacks.split(","):
            compare(stack, peers, options)
    in_memory()


def compare(stack, peers, options):
    environment = {"STACK": stack, "BACKEND": f"http://127.0.0.1:{peers}", "FACILITATOR": f"http://127.0.0.1:{peers}"}
    routes = ["paid", "402", "free"]
    kinds = KINDS[stack]
    with ExitStack() as running:
        servers = {
            kind: running.enter_context(serving("apps:app", {**environment, "WITH": kind}, OURS)) for kind in kinds
        }
        for port, _ in servers.values():
            for route in routes:
                wrk(port, route, 1)
        rounds = {route: {kind: [] for kind in kinds} for route in routes}
        for number in range(options.rounds):
            for route in routes:
                order = kinds if number % 2 else kinds[::-1]
                for kind in order:
                    rounds[route][kind].append(measured(*servers[kind], route, options.seconds))
    print(
        f"\n== {stack}: medians of {options.rounds} rounds of {options.seconds} s, 32 connections; CPU in us a request"
    )
    print(f"{'route':6}{'':7}{'1/s':>8}{'÷ plain':>9}{'CPU':>8}{'added':>8}{'least added':>13}{'reporting':>11}")
    for route in routes:
        base = rounds[route]["plain"]
        for kind in kinds:
            own = rounds[route][kind]
            ratio = statistics.median(theirs[0] / mine[0] for mine, theirs in zip(own, base, strict=True))
            added = statistics.median(mine[0] - theirs[0] for mine, theirs in zip(own, base, strict=True))
            least = min(mine[0] for mine in own) - min(theirs[0] for theirs in base)
            spent, reporting = (statistics.median(row[column] for row in own) for column in (0, 1))
            rate = 1e6 / spent
            print(
                f"{route:6}{kind:7}{rate:8.0f}{ratio:9.2f}{spent:8.1f}{added:8.1f}{least:13.1f}{reporting:11.1f}",
                flush=True,
            )
    with urllib.request.urlopen(f"http://127.0.0.1:{peers}/count") as answer:
        print(f"events received so far: {json.load(answer)['events']}")


def measured(port, process, route, seconds):
    """Microseconds of the server's CPU per request: without the reporting thread, and that thread's."""
    before = cpu(process)
    count = wrk(port, route, seconds)
    spent, reporting = (now - then for now, then in zip(cpu(process), before, strict=True))
    return (spent - reporting) / count / 1000, reporting / count / 1000


def wrk(port, route, seconds):
    """Asks and counts the answers."""
    command = ["wrk", "-t1", "-c32", f"-d{seconds}s"]
    if route == "paid":
        command += ["-H", f"PAYMENT-SIGNATURE: {payment().decode()}"]

    def gives_way():
        os.sched_setaffinity(0, {OURS})
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

    asked = [*command, f"http://127.0.0.1:{port}/{route}"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, preexec_fn=gives_way)
    assert route == "402" or "Non-2xx" not in done.stdout, done.stdout
    return int(re.search(r"(\d+) requests in", done.stdout)[1])


def cpu(process):
    """Nanoseconds of CPU so far: of the process, and of its thread that reports."""
    clock = (~process.pid << 3) | 2  # CLOCK_PROCESS_CPUTIME_ID of another process, clock_getcpuclockid(3)
    reporting = 0
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().startswith("fx402"):
            reporting += int((task / "schedstat").read_text().split()[0])
    return time.clock_gettime_ns(clock), reporting


@contextmanager
def serving(app, environment, processor):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", app, "--port", str(port), "--log-level", "error", "--no-access-log"]
    own = {**os.environ, **environment}
    process = subprocess.Popen(command, cwd=HERE, env=own, preexec_fn=lambda: os.sched_setaffinity(0, {processor}))
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, "the server did not start"
                time.sleep(0.1)
        yield port, process
    finally:
        process.terminate()
        process.wait(20)


def memory(name):
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024


def in_memory():
    """Without a server: CPU of the middleware alone, and how long a 1 MB paid body holds the loop."""
    forge = Forge(api_key="ffk_bench", public_url="https://api.example.com")
    apps = {"plain": stub, "ours": forge.asgi(stub)}

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        pass

    def scope(path):
        headers = [(b"host", b"127.0.0.1"), (b"user-agent", b"wrk"), (b"accept", b"*/*"), (b"accept-encoding", b"gzip")]
        if path in PAID:
            headers.append((b"payment-signature", payment()))
        return {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
        }

    async def time_one(app, path, times):
        scopes = [scope(path) for _ in range(times)]
        begun = time.process_time()
        for one in scopes:
            await app(one, receive, send)
        return (time.process_time() - begun) / times * 1e6

    async def all_of_them():
        await time_one(apps["ours"], "/paid", 50)
        print()
        for path in ("/large", "/pieces"):
            # What is free and kept would hide what is asked for.
            ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
            before = memory("VmRSS")
            await time_one(apps["ours"], path, 50)
            times = (memory("VmHWM") - before) / len(LARGE)
            print(
                f"{path}: 50 paid requests of {len(LARGE)} bytes, one by one: memory grows by {times:.1f} times the body"
            )
        print("\n== in memory, one task, CPU us per request: median of 31 rounds (fastest)")
        for path, times in (("/paid", 300), ("/402", 300), ("/free", 600), ("/large", 10), ("/pieces", 10)):
            rows = {kind: [] for kind in apps}
            for _ in range(31):
                for kind, app in apps.items():
                    rows[kind].append(await time_one(app, path, times))
            plain, ours = rows["plain"], rows["ours"]
            added = statistics.median(mine - theirs for mine, theirs in zip(ours, plain, strict=True))
            print(f"{path:8} plain {statistics.median(plain):9.2f} ({min(plain):.2f})  ours {statistics.median(ours):9.2f} "
                  f"({min(ours):.2f})  added {added:9.2f} ({min(ours) - min(plain):.2f})")  # fmt: skip

    asyncio.run(all_of_them())


if __name__ == "__main__":
    main()
