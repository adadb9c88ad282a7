#!/usr/bin/env python3
"""What forge-x402 costs a server: the same merchant without and with us, in rounds that alternate. Used by c/run.sh and go/run.sh.

    run.sh [--rounds 15] [--seconds 1]      ends by itself
    run.sh --instructions                   counted by valgrind instead, which other load does not disturb

wrk asks over eight connections that stay open. Server and wrk share one processor, and wrk (SCHED_BATCH) takes its turn when
the server has nothing left to read: on two, each answer wakes a wrk that sleeps the longer the slower the server is, and the
server is charged for that. Processor time is the server process's, all threads; what its reporting thread needs, which sends
events while others wait, is shown apart. Prints medians of the rounds, and of each round's difference and ratio;
"quiet" is the difference between the fastest quarters of both sides, which other programs on the machine disturb least.
"same" is the same difference for a server without us that sends the larger answers ours makes (where there is one): what those
cost is not ours to save.
Valgrind has no SHA instructions, so it counts several thousand more for an id or a key than a processor does that has them.
"""

import argparse
import base64
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

PAYER = "0x2222222222222222222222222222222222222222"
PAY_TO = "0x1111111111111111111111111111111111111111"
TERMS = {
    "scheme": "exact",
    "network": "eip155:84532",
    "amount": "1000",
    "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    "payTo": PAY_TO,
    "maxTimeoutSeconds": 60,
    "extra": {"name": "USDC", "version": "2"},
}
AUTHORIZATION = {"from": PAYER, "to": PAY_TO, "value": "1000", "validAfter": "0", "validBefore": "1800000000", "nonce": "0x" + "5a" * 32}
PAYMENT = {"x402Version": 2, "payload": {"signature": "0x" + "5a" * 65, "authorization": AUTHORIZATION}, "accepted": TERMS}
SIGNATURE = "PAYMENT-SIGNATURE: " + base64.b64encode(json.dumps(PAYMENT, separators=(",", ":")).encode()).decode()
#: What is asked: path, whether it is paid, the most that may be added in microseconds.
SCENARIOS = {
    "free": ("/free", False, 0.3),
    "402": ("/stub", False, 4),
    "paid": ("/stub", True, 8),
    "paid, facilitator": ("/paid", True, 8),
}


#: The processor of server and client, and the one of the peers.
OURS, THEIRS = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))


class Server:
    def __init__(self, *arguments, under=()):
        command = [*under, options.server, *arguments]
        processor = THEIRS if arguments == ("peer",) else OURS
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if under else None, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {processor}),
        )  # fmt: skip
        self.port = int(self.process.stdout.readline())
        self.address = f"127.0.0.1:{self.port}"

    def cpu(self):
        """Nanoseconds of processor time so far: of the process, and of the thread that reports."""
        clock = (~self.process.pid << 3) | 2  # CLOCK_PROCESS_CPUTIME_ID of another process, clock_getcpuclockid(3).
        reporting = 0
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                if (task / "comm").read_text().startswith("fx402"):
                    reporting += int((task / "schedstat").read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):
                continue  # a connection's thread that has ended
        return time.clock_gettime_ns(clock), reporting

    def load(self, path, paid, seconds):
        """Requests a second; processor time a request in microseconds: without the reporting thread, and that thread's."""
        before = self.cpu()
        wrk = ["wrk", "-t1", f"-c{options.connections}", f"-d{seconds}s", *(["-H", SIGNATURE] if paid else []), f"http://{self.address}{path}"]

        def gives_way():
            os.sched_setaffinity(0, {OURS})
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

        said = subprocess.run(wrk, check=True, capture_output=True, text=True, preexec_fn=gives_way).stdout
        spent, reporting = (now - then for now, then in zip(self.cpu(), before, strict=True))
        count = int(re.search(r"(\d+) requests in", said)[1])
        refused = int(found[1]) if (found := re.search(r"Non-2xx or 3xx responses: (\d+)", said)) else 0
        assert count and refused == (0 if paid or path == "/free" else count), said
        rate = float(re.search(r"Requests/sec: +([\d.]+)", said)[1])
        return rate, (spent - reporting) / count / 1000, reporting / count / 1000

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def measure(name, bare, ours, same):
    path, paid, aim = SCENARIOS[name]
    sides = [bare, ours, *([same] if same and path == "/stub" else [])]
    rounds, larger = [], []
    for at in range(options.rounds + 1):
        results = {one: one.load(path, paid, options.seconds) for one in sides[:: 1 if at % 2 else -1]}
        if at:  # the first round warms up
            rounds.append((results[bare], results[ours]))
            larger += [results[same][1]] if same in results else []

    def of(pick):
        return statistics.median(pick(*both) for both in rounds)

    def quarter(values):
        return sorted(values)[len(rounds) // 4]

    added = [ours[1] - bare[1] for bare, ours in rounds]
    least = quarter(bare[1] for bare, _ in rounds)
    quiet = quarter(ours[1] for _, ours in rounds) - least
    beside = f"{quarter(larger) - least:9.2f}" if larger else f"{'-':>9}"
    print(
        f"{name:18}{of(lambda bare, _: bare[0]):10.0f}{of(lambda _, ours: ours[0]):10.0f}{of(lambda bare, ours: ours[0] / bare[0]):9.3f}"
        f"{of(lambda bare, _: bare[1]):10.2f}{of(lambda _, ours: ours[1]):10.2f}{statistics.median(added):9.2f}{quiet:9.2f}"
        f"{beside}{of(lambda _, ours: ours[2]):11.2f}{aim:7}",
        flush=True,
    )


def instructions(side, scenario, count):
    """Instructions of all threads of a server that answers `count` requests, from its start to its end."""
    path, paid, _ = SCENARIOS[scenario]
    with tempfile.NamedTemporaryFile() as out:
        one = Server(side, *(peer.address for peer in peers), under=["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}"])
        connection = http.client.HTTPConnection("127.0.0.1", one.port)
        for _ in range(count):
            connection.request("GET", path, headers=dict([SIGNATURE.split(": ")]) if paid else {})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == (200 if paid or path == "/free" else 402)
        one.stop()
        return int(re.search(r"^(?:summary|totals): (\d+)", Path(out.name).read_text(), re.MULTILINE)[1])


def answers(server):
    """The two answers of a server's stub: headers but those that any server adds, and body."""
    found = {}
    for headers in ({}, dict([SIGNATURE.split(": ")])):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", "/stub", headers=headers)
        answer = connection.getresponse()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in ("date", "content-length", "connection")}
        found[str(answer.status)] = {"headers": kept, "body": answer.read().decode()}
        connection.close()
    return found


def count_instructions():
    print(f"instructions a request, of {MANY - FEW} on one connection, events and their sending included")
    print(f"{'':18}{'bare':>10}{'ours':>10}{'added':>10}")
    for scenario in ("free", "402", "paid"):
        bare, ours = ((instructions(side, scenario, MANY) - instructions(side, scenario, FEW)) / (MANY - FEW) for side in ("bare", "ours"))
        print(f"{scenario:18}{bare:10.0f}{ours:10.0f}{ours - bare:10.0f}", flush=True)


def measure_all():
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, {options.rounds} rounds of {options.seconds} s; CPU in µs a request")
    print(f"{'':18}{'1/s bare':>10}{'1/s ours':>10}{'ratio':>9}{'CPU bare':>10}{'CPU ours':>10}{'added':>9}{'quiet':>9}{'same':>9}{'reporting':>11}{'aim':>7}")
    addresses = [peer.address for peer in peers]
    merchants = [Server(side, *addresses) for side in ("bare", "ours")]
    try:
        merchants.append(Server("same", *addresses, json.dumps(answers(merchants[1]))) if options.same else None)
        for scenario in SCENARIOS:
            measure(scenario, *merchants)
    finally:
        for one in filter(None, merchants):
            one.stop()
    print(f"load {os.getloadavg()[0]:.1f}")


#: Requests of the two runs whose difference is counted.
FEW, MANY = 200, 1200
parser = argparse.ArgumentParser()
parser.add_argument("server")
parser.add_argument("--rounds", type=int, default=15)
parser.add_argument("--seconds", type=int, default=1)
parser.add_argument("--connections", type=int, default=8)
parser.add_argument("--instructions", action="store_true")
parser.add_argument("--same", action="store_true", help="the server has a side \"same\"")
options = parser.parse_args()
peers = [Server("peer"), Server("peer")]
try:
    if options.instructions:
        count_instructions()
    else:
        measure_all()
finally:
    for one in peers:
        one.stop()
