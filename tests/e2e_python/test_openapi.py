"""The OpenAPI document of a real FastAPI application, and what its schemas say about bodies that may take members."""

import asyncio
import json
from typing import Any, Literal

import pytest
from fastapi import FastAPI
from forge_x402 import ForgeMiddleware
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse
from support.hosts import call_asgi, scope_of
from support.payments import PAID, RECEIPT_HEADER

OPTIONS = {"api_key": "ffk_test_0123456789abcdef", "public_url": "https://api.example.com", "strict": True}


class Plain(BaseModel):
    a: int = 1


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int = 1


class Other(BaseModel):
    b: Literal["b"] = "b"


SCHEMAS: dict[str, tuple[Any, bool]] = {
    "g07_plain_object": (Plain, True),
    "g08_closed_object": (Closed, True),
    "g03_map_of_numbers": (dict[str, float], False),
    "g01_union": (Plain | Other, False),
    "free_form": (dict, True),
    "a_list": (list[int], False),
}


def shop():
    app = FastAPI()
    for name, (model, _) in SCHEMAS.items():

        async def paid():
            return JSONResponse({"a": 1}, headers={"payment-response": RECEIPT_HEADER.decode()})

        app.get(f"/{name}", response_model=model, responses={402: {"description": "Payment required"}})(paid)
    return app


def get(app, path, headers=()):
    first, *rest = asyncio.run(call_asgi(app, scope_of("GET", path.encode(), list(headers))))
    return first, b"".join(part["body"] for part in rest)


@pytest.mark.parametrize("name", SCHEMAS)
def test_g01_g03_g07_g08_the_schema_decides_whether_a_body_takes_members(name):
    app = shop()
    app.add_middleware(ForgeMiddleware, **OPTIONS)
    document = json.loads(get(app, "/openapi.json")[1])
    _, body = get(app, f"/{name}", PAID)
    assert (b"feedback_id" in body) == SCHEMAS[name][1]
    answer = document["paths"][f"/{name}"]["get"]["responses"]["200"]
    assert "Forge-Feedback-Id" in answer["headers"]
    assert ("feedback_id" in json.dumps(answer["content"])) == SCHEMAS[name][1]


def test_g11_a_document_given_at_open_holds_from_the_first_answer():
    plain = shop()
    document = plain.openapi()
    app = shop()
    app.add_middleware(ForgeMiddleware, **OPTIONS, openapi={"document": document})
    _, body = get(app, "/g03_map_of_numbers", PAID)
    assert body == b'{"a":1}'


def test_g12_the_same_document_is_enriched_once_and_served_the_same(make_forge):
    app = make_forge().asgi(shop())
    (first, body), (second, again) = get(app, "/openapi.json"), get(app, "/openapi.json")
    assert body == again and first["headers"] == second["headers"]
    length = dict(first["headers"])[b"content-length"]
    assert int(length) == len(body)


@pytest.mark.parametrize(
    "document",
    [
        b'{"openapi":"3.1.0","paths":null}',
        b'{"openapi":"3.1.0","paths":{"/a":{"get":{"responses":null}}}}',
        b'{"openapi":"3.1.0","x-forge-feedback":{},"paths":{}}',
        b"{",
        b"openapi: 3.1.0",
    ],
    ids=["g16 paths null", "g15 responses null", "ours already", "no JSON", "YAML"],
)
def test_g15_g16_documents_of_all_kinds_are_served(make_forge, document):
    async def app(scope, receive, send):
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(document)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": document})

    first, body = get(make_forge().asgi(app), "/openapi.json")
    assert int(dict(first["headers"])[b"content-length"]) == len(body)
    if body != document:
        assert json.loads(body)["x-forge-feedback"]


def test_g17_numbers_and_spaces_of_the_document_keep_their_bytes(make_forge):
    document = b'{ "openapi":"3.1.0", "info":{"title":"x","version":"1","x":[1.10, 1e5]},\n "paths":{}}'

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": document})

    _, body = get(make_forge().asgi(app), "/openapi.json")
    assert b'{ "openapi":"3.1.0", "info":{"title":"x","version":"1","x":[1.10, 1e5]' in body and len(body) > len(
        document
    )


def test_other_paths_and_no_enrichment(make_forge):
    app = shop()
    bare = get(app, "/openapi.json")[1]
    assert get(make_forge(openapi=False).asgi(app), "/openapi.json")[1] == bare
    assert get(make_forge(openapi={"paths": ["/v1/openapi.json"]}).asgi(app), "/openapi.json")[1] == bare
