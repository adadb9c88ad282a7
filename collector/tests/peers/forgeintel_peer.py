"""The published Python SDK (forgeintel-sdk) pointed at the collector: its events and ratings arrive.

Usage: forgeintel_peer.py ADDRESS KEY COLLECTOR DATABASE. One line a check, the last says how many passed.
"""

import asyncio
import base64
import json
import subprocess
import sys

import httpx
from forgeintel import Forge, ForgeMiddleware, ForgeOptions

address, key, collector, database = sys.argv[1:5]
counts = {True: 0, False: 0}


def check(what, good, more=""):
    counts[bool(good)] += 1
    print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good else f" {more}"))


def encoded(value):
    return base64.b64encode(json.dumps(value).encode()).decode()


REQUIREMENT = {"scheme": "exact", "network": "eip155:84532", "amount": "10000", "asset": "0x0a", "payTo": "0x0b"}
CHALLENGE = {"x402Version": 2, "resource": {"url": "http://merchant.test/paid"}, "accepts": [REQUIREMENT]}
PAYMENT = {
    "x402Version": 2,
    "payload": {"signature": "0x00", "authorization": {"from": "0x0000000000000000000000000000000000000001"}},
    "accepted": REQUIREMENT,
}
RECEIPT = {"success": True, "transaction": "0xfeed", "network": "eip155:84532", "payer": "0x0000000000000000000000000000000000000001"}


async def merchant(scope, receive, send):
    paid = any(name == b"payment-signature" for name, _ in scope["headers"])
    headers = [(b"content-type", b"application/json")]
    if paid:
        headers.append((b"payment-response", encoded(RECEIPT).encode()))
    else:
        headers.append((b"payment-required", encoded(CHALLENGE).encode()))
    await send({"type": "http.response.start", "status": 200 if paid else 402, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"temperature":21}' if paid else b"{}"})


async def main():
    errors = []
    forge = Forge(ForgeOptions(api_key=key, backend_url=f"http://{address}", feedback=True, flush_interval_ms=100, on_error=errors.append))
    transport = httpx.ASGITransport(app=ForgeMiddleware(merchant, forge=forge))
    async with httpx.AsyncClient(transport=transport, base_url="http://merchant.test") as agent:
        challenge = await agent.get("/paid", headers={"user-agent": "peer-agent/1.0"})
        check("the challenge goes through", challenge.status_code == 402)
        ids = []
        for _ in range(3):
            paid = await agent.get("/paid", headers={"payment-signature": encoded(PAYMENT), "user-agent": "peer-agent/1.0"})
            ids.append(paid.headers.get("forge-feedback-id"))
        check("paid calls carry ids", all(ids), ids)

        rated = await agent.get("/feedback/rate", params={"feedback_id": ids[0], "outcome": "fully"})
        check("a rating by GET is recorded", (rated.status_code, rated.json()) == (200, {"recorded": True}), rated.text)
        again = await agent.get("/feedback/rate", params={"feedback_id": ids[0], "outcome": "no", "issue": "slow"})
        check("it can be corrected", again.status_code == 200 and again.json()["recorded"] is True, again.text)
        posted = await agent.post("/feedback", json={"feedback_id": ids[1], "outcome": "partially", "issue": "wrong_output", "note": "Fahrenheit"})
        check("a rating by POST with a note is recorded", posted.json() == {"recorded": True}, posted.text)
        foreign = await agent.get("/feedback/rate", params={"feedback_id": "A" * 22, "outcome": "fully"})
        check("an id of nobody is refused", foreign.status_code == 404, foreign.text)

        await forge.flush()
        summary = await agent.get("/feedback/summary")
        check("the summary is passed on", summary.status_code == 200 and summary.json()["protocol"] == "forge-feedback/0", summary.text)
        check("it counts the ratings of settled calls", summary.json()["ratings"] == 2, summary.text)
        check("as corrected", summary.json()["outcomes"]["no"] == 1 and summary.json()["issues"]["slow"] == 1, summary.text)

        # The origin comes from GET /project, fetched in the background.
        for _ in range(50):
            later = await agent.get("/paid")
            text = base64.b64decode(later.headers["payment-required"]).decode()
            if "https://api.example.com/feedback/rate" in text:
                break
            await asyncio.sleep(0.1)
        check("links carry the registered origin", "https://api.example.com/feedback/rate" in text, text[:300])
    await forge.shutdown()
    state = forge.diagnostics()
    check("every event was sent", state["events_sent"] >= 5 and state["events_dropped"] == 0 and state["events_queued"] == 0, state)
    check("without an error", not errors and not state["last_error"], errors)

    lines = subprocess.run([collector, "--database", database, "export"], capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in lines.splitlines()]
    events = [row["event"] for row in rows if row["kind"] == "event"]
    calls = [event for event in events if event["type"] == "interaction"]
    check("three paid calls are stored", len(calls) == 3 and {call["feedback_id"] for call in calls} == set(ids), calls)
    check("with payer, amount, network and transaction", all(
        (call["payer"], call["amount"], call["network"], call["transaction"])
        == (RECEIPT["payer"], "10000", "eip155:84532", "0xfeed") for call in calls), calls)
    check("challenges are stored", sum(event["type"] == "challenge" for event in events) >= 2)
    notes = [row["note"] for row in rows if row["kind"] == "rating"]
    check("the note is stored", "Fahrenheit" in notes, notes)


asyncio.run(main())
print(f"{counts[True]} passed, {counts[False]} failed")
sys.exit(1 if counts[False] else 0)
