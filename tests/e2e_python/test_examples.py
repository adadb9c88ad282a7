"""The examples run as they are: their servers, and the demo from its first line to its last."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import forge_x402
import pytest
from support.buyer import Buyer
from support.raw_http import ask
from support.servers import HERE, Server, gunicorn, uvicorn

EXAMPLES = HERE.parents[1] / "examples"


@pytest.mark.parametrize("example", ["fastapi", "flask"])
def test_an_example_sells_and_is_rated(example, facilitator, backend):
    environment = {
        "FORGE_API_KEY": "ffk_example",
        "FACILITATOR_URL": facilitator.url,
        "FORGE_BACKEND_URL": backend.url,
        "PAY_TO": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
        "PUBLIC_URL": "https://api.example.com",
        "PYTHONPATH": os.pathsep.join([str(EXAMPLES / example), str(Path(forge_x402.__file__).parents[1])]),
    }
    with Server(uvicorn if example == "fastapi" else gunicorn, "server:app", environment=environment) as server:
        paid = asyncio.run(Buyer().pay("GET", server.url + "/weather?city=Bergen"))
        assert paid.status_code == 200 and paid.json()["city"] == "Bergen"
        rate = paid.json()["feedback_url"].removeprefix("https://api.example.com") + "partially"
        assert ask(server.port, "GET", rate).status == 200
    assert backend.ratings[0]["outcome"] == "partially"
    backend.wait_for(feedback_id=paid.headers["forge-feedback-id"])


def test_the_demo_runs_to_its_end():
    environment = {**os.environ, "ONCE": "1", "NO_COLOR": "1", "PYTHONPATH": str(Path(forge_x402.__file__).parents[1])}
    command = [sys.executable, EXAMPLES / "fastapi/demo.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Forge-Feedback-Id: " in done.stdout and '200 {"recorded": true}' in done.stdout
    assert '{"type": "challenge"' in done.stdout and '{"type": "interaction"' in done.stdout


def test_the_readmes_show_what_the_sources_say():
    shown = {"fastapi": "app.add_middleware(ForgeMiddleware, ", "flask": "app.wsgi_app = forge.wsgi(app.wsgi_app)"}
    for example, line in shown.items():
        for file in ("README.md", "merchant.py"):
            assert line in (EXAMPLES / example / file).read_text()
