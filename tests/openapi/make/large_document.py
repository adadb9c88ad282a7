"""Writes the document of 400 operations, in the shape of a resource API; run it only to refresh it.

    python3 make/large_document.py > documents/resources-400-operations.json
"""

import json

RESOURCES = 80


def resource(number: int) -> dict:
    name = f"Resource{number}"
    reference = {"$ref": f"#/components/schemas/{name}"}
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}Draft"}}}}
    path_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}

    def operation(verb: str, schema: dict, status: str = "200", **more) -> dict:
        return {
            "operationId": f"{verb}{name}",
            "tags": [f"group{number % 9}"],
            "summary": f"{verb.capitalize()} {name.lower()}",
            "description": f"Works on {name.lower()}. Costs one hundredth.",
            "security": [{"key": []}],
            **more,
            "responses": {
                status: {"description": "Done", "content": {"application/json": {"schema": schema}}},
                "402": {"$ref": "#/components/responses/PaymentRequired"},
                "404": {"$ref": "#/components/responses/NotFound"},
            },
        }

    listing = {"type": "object", "required": ["items"], "properties": {"items": {"type": "array", "items": reference}}}
    return {
        f"/resource{number}": {
            "get": operation("list", listing, parameters=[{"$ref": "#/components/parameters/Cursor"}]),
            "post": operation("create", reference, "201", requestBody=body),
        },
        f"/resource{number}/{{id}}": {
            "parameters": [path_id],
            "get": operation("read", reference),
            "put": operation("replace", reference, requestBody=body),
            "delete": operation("delete", {"type": "object", "properties": {"deleted": {"type": "boolean"}}}),
        },
    }


def schemas(number: int) -> dict:
    name = f"Resource{number}"
    draft = {
        "type": "object",
        "additionalProperties": False,
        "required": ["title", "price"],
        "properties": {
            "title": {"type": "string", "maxLength": 200, "description": "What people see."},
            "price": {"type": "number", "minimum": 0.01, "example": 1.5},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "parent": {"$ref": f"#/components/schemas/Resource{(number + 1) % RESOURCES}"},
        },
    }
    full = {**draft, "properties": {"id": {"type": "string", "format": "uuid"}, **draft["properties"]}}
    return {f"{name}Draft": draft, name: full}


paths: dict = {}
components: dict = {}
for each in range(RESOURCES):
    paths.update(resource(each))
    components.update(schemas(each))

print(
    json.dumps(
        {
            "openapi": "3.0.3",
            "info": {"title": "Resources", "version": "2026-01-01"},
            "servers": [{"url": "https://api.example.com/v2"}],
            "paths": paths,
            "components": {
                "schemas": components,
                "parameters": {"Cursor": {"name": "cursor", "in": "query", "schema": {"type": "string"}}},
                "responses": {
                    "PaymentRequired": {"description": "Pay first"},
                    "NotFound": {"description": "No such resource"},
                },
                "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
            },
        },
        indent=1,
    )
)
