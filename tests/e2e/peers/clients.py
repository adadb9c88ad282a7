"""HTTP clients of Python behind one line protocol, for the test of header sizes.

Reads one JSON object a line: {"client": "aiohttp"|"requests"|"httpx", "url": str, "headers": {str: str}}.
Writes one JSON object a line: {"status": int, "challenge": str|null, "receipt": str|null} or {"error": str}.
"""

import asyncio
import json
import sys

import aiohttp
import httpx
import requests


async def ask_aiohttp(url, headers):
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        await answer.read()
        return answer.status, answer.headers


def ask(client, url, headers):
    if client == "aiohttp":
        return asyncio.run(ask_aiohttp(url, headers))
    if client == "requests":
        answer = requests.get(url, headers=headers, timeout=10)
    else:
        answer = httpx.get(url, headers=headers, timeout=10)
    return answer.status_code, answer.headers


for line in sys.stdin:
    request = json.loads(line)
    try:
        status, headers = ask(request["client"], request["url"], request["headers"])
        result = {"status": status, "challenge": headers.get("payment-required"), "receipt": headers.get("payment-response")}
    except Exception as error:  # whatever a client makes of a large header is the finding
        result = {"error": f"{type(error).__name__}: {error}"[:200]}
    print(json.dumps(result), flush=True)
