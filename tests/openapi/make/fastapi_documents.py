"""Writes the two documents that FastAPI itself generates; run it only to refresh them.

    python3 make/fastapi_documents.py documents
"""

import json
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, Union

from fastapi import Body, FastAPI, Query
from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")


class Unit(str, Enum):
    metric = "metric"
    imperial = "imperial"


class Reading(BaseModel):
    """One measurement."""

    city: str
    temperature: float = Field(ge=-90, le=60, examples=[21.5])
    unit: Unit = Unit.metric
    note: str | None = None


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    total: int
    readings: list[Reading]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next: str | None = None


class Node(BaseModel):
    value: int
    children: list["Node"] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


class Search(BaseModel):
    query: str
    limit: int = 10


class Rated(BaseModel):
    feedback_id: str
    stars: int


PAID: dict[int | str, dict[str, Any]] = {402: {"description": "Payment required"}}


def paid_api(**options: Any) -> FastAPI:
    app = FastAPI(title="Paid weather", version="1.10", **options)

    @app.get("/weather/{city}", responses=PAID, response_model=Reading, summary="Current weather")
    def weather(city: str, unit: Unit = Unit.metric):
        """Current weather for a city."""

    @app.get("/strict", responses=PAID, response_model=Strict)
    def strict(): ...

    @app.get("/open", responses=PAID, response_model=Open)
    def open_object(): ...

    @app.get("/page", responses=PAID, response_model=Page[Reading])
    def page(cursor: Annotated[str | None, Query()] = None): ...

    @app.get("/tree", responses=PAID, response_model=Node)
    def tree(): ...

    @app.get("/prices", responses=PAID, response_model=dict[str, float])
    def prices(): ...

    @app.get("/names", responses=PAID, response_model=dict[str, str])
    def names(): ...

    @app.get("/list", responses=PAID, response_model=list[Reading])
    def listing(): ...

    @app.get("/untyped", responses=PAID)
    def untyped(): ...

    @app.get("/either", responses=PAID, response_model=Union[Reading, Open])
    def either(): ...

    @app.get("/pet", responses=PAID, response_model=Annotated[Union[Cat, Dog], Field(discriminator="kind")])
    def pet(): ...

    @app.get("/maybe", responses=PAID, response_model=Reading | None)
    def maybe(): ...

    @app.get("/rated", responses=PAID, response_model=Rated)
    def rated(): ...

    @app.post("/search", responses=PAID, response_model=Page[Reading], status_code=201)
    def search(body: Search): ...

    @app.post("/embed", responses=PAID, response_model=Reading)
    def embed(a: Annotated[int, Body()], b: Annotated[int, Body()]): ...

    @app.get("/free", response_model=Strict)
    def free(): ...

    @app.get("/own", responses=PAID, response_model=Reading, openapi_extra={"x-payment-info": {"price": "0.01"}})
    def own(agent_type: str | None = None): ...

    return app


if __name__ == "__main__":
    target = Path(sys.argv[1])
    plain = paid_api().openapi()
    served = paid_api(servers=[{"url": "/api/v1", "description": "behind a gateway"}]).openapi()
    compact = json.dumps(served, ensure_ascii=False, separators=(",", ":"))
    (target / "fastapi.json").write_text(json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    (target / "fastapi-behind-a-gateway.json").write_text(compact)
