"""FastAPI with the payment middleware of x402 1.0.0: version 1 of the protocol, challenge in the body."""

import os

from fastapi import FastAPI, Response
from forge_x402 import ForgeMiddleware
from x402.fastapi.middleware import require_payment
from x402.types import HTTPInputSchema

from merchants import settings

app = FastAPI()
app.middleware("http")(
    require_payment(
        price="$0.01",
        pay_to_address=settings.PAY_TO,
        path="/paid/*",
        description="Weather report.",
        input_schema=HTTPInputSchema(query_params={"city": "string"}),
        facilitator_config={"url": os.environ["FACILITATOR"]},
    )
)
forge = settings.make_forge()
if forge is not None:
    app.add_middleware(ForgeMiddleware, forge=forge)


@app.get("/paid/report")
async def report():
    return Response(settings.REPORT, media_type="application/json")
