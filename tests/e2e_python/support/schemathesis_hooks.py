"""Gives the requests of schemathesis ids that are real, and counts what each operation was answered.

The counts are written at the end to the file that ANSWERS names, a JSON object of "METHOD path status" to a number.
"""

import atexit
import json
import os
import re
from collections import Counter

import schemathesis
from forge_x402 import Forge

ID = re.compile(r"[A-Za-z0-9_-]{22}\Z")
#: Whoever guesses ids asks from here.
GUESSER = "192.0.2.1"

forge = Forge(api_key="ffk_test_0123456789abcdef", telemetry=False, strict=True)
rated = forge.engine.mint_id()
answers = Counter()
asked = Counter()


@schemathesis.hook
def before_add_examples(context, examples):
    """What the document cannot name: a body over the limit, a note out of place, one rating more than an id may have."""
    make = context.operation.Case
    rating = {"feedback_id": "AAAAAAAAAAAAAAAAAAAAAA", "outcome": "no", "issue": "slow"}
    if context.operation.label == "POST /feedback":
        notes = ["n" * 16_384, "\U0001f44d" * 141, *["\U0001f44d" * 140] * 11]
        examples += [make(body={**rating, "note": note}, media_type="application/json") for note in notes]
    elif context.operation.label == "GET /feedback/rate":
        examples += [make(query=query) for query in ({**rating, "note": "n"}, *[rating] * 11)]


@schemathesis.hook
def before_call(context, case, kwargs):
    """Of four ids that look right three become real ones and one a forged one. Each request comes from an address of its
    own, but for the first forged ids: they reach the limit of one client."""
    asked.update(["all", case.operation.label])
    address = f"10.{asked['all'] >> 16 & 255}.{asked['all'] >> 8 & 255}.{asked['all'] & 255}"
    for place in ("query", "body"):
        values = getattr(case, place)
        if isinstance(values, dict) and ID.match(str(values.get("feedback_id"))):
            feedback_id = rated if case.meta is None else forge.engine.mint_id()
            if case.meta is not None and asked[case.operation.label] % 4 == 0:
                feedback_id = feedback_id[:14] + "AAAAAAAA"
                asked["forged"] += 1
                address = GUESSER if asked["forged"] <= 40 else address
            # A copy: schemathesis makes other requests from what it was shown.
            setattr(case, place, {**values, "feedback_id": feedback_id})
    case.headers["X-Forwarded-For"] = address


@schemathesis.hook
def after_call(context, case, response):
    answers[f"{case.method} {case.path} {response.status_code}"] += 1


@atexit.register
def write():
    with open(os.environ["ANSWERS"], "w") as file:
        json.dump(answers, file)
