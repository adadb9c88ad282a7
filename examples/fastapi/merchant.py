"""A weather service on FastAPI that charges a tenth of a cent per call. forge-x402 is one statement of it."""

from fastapi import FastAPI
from forge_x402 import Forge, ForgeMiddleware
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient, PaymentOption, RouteConfig
from x402.http.middleware.fastapi import PaymentMiddlewareASGI
from x402.mechanisms.evm.exact import ExactEvmServerScheme


def create_merchant(facilitator_url: str, public_url: str, pay_to: str, forge: Forge | None = None) -> FastAPI:
    """Without `forge` the service is the same, minus the feedback loop."""
    app = FastAPI(title="Weather")

    @app.get("/weather", responses={402: {"description": "Payment required"}})
    async def weather(city: str = "Oslo") -> dict:
        return {"city": city, "weather": "foggy", "temperature": 6.5}

    @app.get("/")
    async def root() -> str:
        return "GET /weather?city=Oslo costs 0.001 USDC"

    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=facilitator_url)))
    server.register("eip155:84532", ExactEvmServerScheme())
    price = PaymentOption(scheme="exact", network="eip155:84532", price="$0.001", pay_to=pay_to)
    route = RouteConfig(
        accepts=[price],
        resource=f"{public_url}/weather",
        description="Current weather for a city",
        mime_type="application/json",
    )
    app.add_middleware(PaymentMiddlewareASGI, routes={"GET /weather": route}, server=server)

    # Added last, so outermost: it sees the 402, the receipt and the paid answer.
    if forge is not None:
        app.add_middleware(ForgeMiddleware, forge=forge)
    return app
