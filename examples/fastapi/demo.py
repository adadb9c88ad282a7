"""The whole flow in one terminal page: a real client pays a real x402 merchant, without forge-x402 and with it.

ONCE=1 ends by itself; otherwise the merchant stays up, with commands to try, until Ctrl-C.
"""

import asyncio
import contextlib
import json
import os
import socket
import sys
import textwrap
import threading
from pathlib import Path

import uvicorn
from forge_x402 import Forge

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/e2e_python"))
from merchant import create_merchant
from support.backend import Backend
from support.buyer import Buyer
from support.facilitator import Facilitator
from support.payments import decoded
from support.raw_http import ask

INTRODUCTION = """
x402 lets a program pay for an HTTP call: the server answers 402 with its price, the client signs a payment, asks again, and gets
the answer with a receipt. forge-x402 stands around the server's payment code and adds one thing: how to rate the call. Lines
marked + are what it adds. Everything else is what the merchant sends without it, byte for byte.
"""
PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
COLOURFUL = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def main():
    facilitator, backend = Facilitator(), Backend()
    port, plain_port = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    forge = Forge(
        api_key="demo-key-of-a-merchant-that-does-not-exist", public_url=url, backend_url=backend.url, strict=True
    )
    servers = [
        serve(create_merchant(facilitator.url, url, PAY_TO, forge), port),
        # It believes it is the other one, so that only our additions differ.
        serve(create_merchant(facilitator.url, url, PAY_TO), plain_port),
    ]
    buyer = Buyer()

    print(bold("\nAn agent buys a weather report, and is told how to rate it"))
    say(INTRODUCTION)

    step(1, f"The agent asks without paying: GET {url}/weather?city=Oslo")
    unpaid, plain_unpaid = (ask(one, "GET", "/weather?city=Oslo") for one in (port, plain_port))
    say(f"{unpaid.status} {unpaid.reason}, and in the PAYMENT-REQUIRED header:")
    show(*(decoded(answer.get("payment-required")) for answer in (plain_unpaid, unpaid)))

    step(2, "The agent pays and gets its answer")
    paid, plain_paid = (
        asyncio.run(buyer.pay("GET", f"http://127.0.0.1:{one}/weather?city=Oslo")) for one in (port, plain_port)
    )
    feedback_id = paid.headers["forge-feedback-id"]
    say(f"{paid.status_code} to {buyer.account.address}, who was made a second ago:")
    print(green(f"   + Forge-Feedback-Id: {feedback_id}"))
    show(plain_paid.json(), paid.json())

    step(3, "The receipt says the same, in the PAYMENT-RESPONSE header")
    show(*(decoded(answer.headers["payment-response"]) for answer in (plain_paid, paid)))

    step(4, "The agent rates: one free request")
    rate = paid.json()["feedback_url"] + "fully"
    answer = ask(port, "GET", rate.removeprefix(url))
    say(f"GET {rate}")
    say(f"{answer.status} {answer.body.decode()}")

    step(5, "What the merchant's backend has been told")
    forge.flush()
    for event in backend.wait_for(2):
        say(
            json.dumps({name: event[name] for name in ("type", "route", "payer", "amount", "outcome") if name in event})
        )
    for rating in backend.ratings:
        say(json.dumps({name: rating[name] for name in ("feedback_id", "outcome", "via")}))

    if os.environ.get("ONCE") != "1":
        print("\n   The merchant stays up until Ctrl-C. Try:")
        print(bold(f"   curl -si '{url}/weather?city=Oslo'\n   curl -s {url}/feedback"))
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    for server in servers:
        server.should_exit = True


def serve(app, port):
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        threading.Event().wait(0.02)
    return server


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def show(before, after, indent=0):
    """Prints `after` as JSON; what `before` has not is marked."""
    for name, value in after.items():
        key, old = json.dumps(name), before.get(name)
        if name not in before:
            line(f"{key}: {json.dumps(value)}", indent, new=True)
        elif isinstance(value, dict) and value != old:
            line(f"{key}: {{", indent)
            show(old, value, indent + 2)
            line("}", indent)
        elif isinstance(value, str) and value != old and value.startswith(old):
            line(f"{key}: {json.dumps(old)[:-1]}", indent)
            line(value[len(old) :].strip() + '"', indent + 2, new=True)
        else:
            line(f"{key}: {json.dumps(value)}", indent)


def line(text, indent, new=False):
    pad = " " * indent
    for part in textwrap.wrap(
        text, 108 - indent, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ):
        print(green(f"   + {pad}{part}") if new else f"     {pad}{part}")


def step(number, text):
    print(f"\n{bold(f'{number}  {text}')}")


def say(text):
    print(
        textwrap.fill(
            text, 110, initial_indent="   ", subsequent_indent="   ", break_long_words=False, break_on_hyphens=False
        )
    )


def bold(text):
    return f"\033[1m{text}\033[0m" if COLOURFUL else text


def green(text):
    return f"\033[32m{text}\033[0m" if COLOURFUL else text


if __name__ == "__main__":
    main()
