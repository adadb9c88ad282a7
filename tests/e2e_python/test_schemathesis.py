"""The rating routes on a real server, asked by schemathesis with requests made from tests/openapi/rating_routes/openapi.json.

It holds every answer against that document: status, media type, header lines, body; and what breaks the document is refused.
SCHEMATHESIS_EXAMPLES: requests for each operation and way of making them (25); the same ones at every run.
"""

import json
import os
import subprocess

import pytest
from forge_x402 import Forge
from support.servers import BIN, HERE, Server, uvicorn

DOCUMENT = HERE.parent / "openapi" / "rating_routes" / "openapi.json"
EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "25")


@pytest.fixture
def run(backend, tmp_path):
    """Starts a server and runs schemathesis against it; gives what it counted."""

    def run(*arguments):
        answers = tmp_path / "answers.json"
        with Server(uvicorn, "merchants.fastapi_app:app", backend=backend) as server:
            command = [
                BIN / "st",
                "--config-file",
                "schemathesis.toml",
                "--no-color",
                "run",
                DOCUMENT,
                "--url",
                server.url,
            ]
            environment = {**os.environ, "PYTHONPATH": str(HERE), "ANSWERS": str(answers)}
            done = subprocess.run(
                [*command, *arguments], cwd=HERE, env=environment, capture_output=True, text=True, timeout=540
            )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(answers.read_text())

    return run


def test_d13_d15_e12_what_the_rating_routes_answer_is_what_their_document_says(run, backend):
    answers = run("--max-examples", EXAMPLES)
    for place, statuses in {
        "GET /feedback": [200],
        "POST /feedback": [200, 400, 404, 413, 429],
        "GET /feedback/rate": [200, 400, 404, 429],
        "GET /feedback/summary": [200],
        "HEAD /feedback": [200],
        "HEAD /feedback/summary": [200],
        "OPTIONS /feedback": [204],
        "OPTIONS /feedback/rate": [204],
        "OPTIONS /feedback/summary": [204],
        "DELETE /feedback": [405],
        "POST /feedback/rate": [405],
        "PUT /feedback/summary": [405],
    }.items():
        seen = sorted(int(name.rsplit(" ", 1)[1]) for name in answers if name.rsplit(" ", 1)[0] == place)
        assert seen == statuses, (place, answers)

    # Only what was answered 200 has reached the backend, with an id that is real and not more often than an id may be rated.
    assert len(backend.ratings) == answers["GET /feedback/rate 200"] + answers["POST /feedback 200"]
    with_note = [rating for rating in backend.ratings if rating["note"]]
    assert with_note and {rating["via"] for rating in with_note} == {"POST"}
    forge = Forge(api_key="ffk_test_0123456789abcdef", telemetry=False)
    ids = [rating["feedback_id"] for rating in backend.ratings]
    assert all(forge.engine.verify_id(feedback_id) == "valid" for feedback_id in ids)
    assert max(map(ids.count, ids)) == 10


def test_a_backend_that_fails_is_answered_as_the_document_says(run, backend):
    backend.fail = 500
    answers = run("--phases", "fuzzing", "--mode", "positive", "--max-examples", "5",
                  "--exclude-checks", "not_a_server_error,positive_data_acceptance")  # fmt: skip
    for place in ("POST /feedback", "GET /feedback/rate"):
        assert {name for name in answers if name.startswith(place + " ")} <= {f"{place} 503", f"{place} 404"}
        assert answers[f"{place} 503"]
    assert backend.ratings == []
