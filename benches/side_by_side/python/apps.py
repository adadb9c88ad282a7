"""The applications of the bench.

WITH: plain, ours, sdk, or same (plain, but sending the larger answers that ours makes: what those cost the server is not ours
to save). STACK: stub (raw ASGI, a payment layer that asks nobody) or x402 (FastAPI with the real payment package and a
facilitator that says yes at once).
"""

import os

from traffic import REQUIREMENT, SMALL, stub


def real():
    from fastapi import FastAPI, Response
    from x402 import x402ResourceServer
    from x402.http import FacilitatorConfig, HTTPFacilitatorClient, PaymentOption, RouteConfig
    from x402.http.middleware.fastapi import PaymentMiddlewareASGI
    from x402.mechanisms.evm.exact import ExactEvmServerScheme

    app = FastAPI()

    @app.get("/paid")
    async def paid():
        return Response(SMALL, media_type="application/json")

    @app.get("/402")
    async def unpaid():
        return Response(SMALL, media_type="application/json")

    @app.get("/free")
    async def free():
        return Response(SMALL, media_type="application/json")

    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=os.environ["FACILITATOR"])))
    server.register("eip155:84532", ExactEvmServerScheme())
    option = PaymentOption(scheme="exact", pay_to=REQUIREMENT["payTo"], price="$0.01", network="eip155:84532")
    route = RouteConfig(accepts=[option], description="Weather report.", mime_type="application/json")
    app.add_middleware(PaymentMiddlewareASGI, routes={"GET /paid": route, "GET /402": route}, server=server)
    return app


app = real() if os.environ["STACK"] == "x402" else stub
if os.environ["WITH"] == "ours":
    from forge_x402 import Forge

    app = Forge(
        api_key="ffk_bench", backend_url=os.environ["BACKEND"], public_url="https://api.example.com", strict=True
    ).asgi(app)
elif os.environ["WITH"] == "same":
    from traffic import answers_of_ours

    app = answers_of_ours()
elif os.environ["WITH"] == "sdk":
    from forgeintel import Forge, ForgeMiddleware, ForgeOptions

    options = ForgeOptions(
        api_key="ffk_bench",
        backend_url=os.environ["BACKEND"],
        public_url="https://api.example.com",
        feedback=True,
        agent_context=True,
        strict=True,
    )
    app = ForgeMiddleware(app, forge=Forge(options))
