"""The client of x402 1.0.0 with an account made for the run: pays for a URL, prints the answer as JSON."""

import asyncio
import base64
import json
import sys

from eth_account import Account
from x402.clients.httpx import x402HttpxClient


async def main(url):
    async with x402HttpxClient(account=Account.create(), timeout=30) as client:
        answer = await client.get(url)
        body = base64.b64encode(await answer.aread()).decode()
        print(json.dumps({"status": answer.status_code, "headers": dict(answer.headers), "body": body}))


asyncio.run(main(sys.argv[1]))
