"""A weather service on Flask that charges a tenth of a cent per call. forge-x402 is one line of it."""

from flask import Flask, request
from forge_x402 import Forge
from x402 import x402ResourceServerSync
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync, PaymentOption, RouteConfig
from x402.http.middleware.flask import PaymentMiddleware
from x402.mechanisms.evm.exact import ExactEvmServerScheme


def create_merchant(facilitator_url: str, public_url: str, pay_to: str, forge: Forge | None = None) -> Flask:
    """Without `forge` the service is the same, minus the feedback loop."""
    app = Flask(__name__)

    @app.get("/weather")
    def weather():
        return {"city": request.args.get("city", "Oslo"), "weather": "foggy", "temperature": 6.5}

    @app.get("/")
    def root():
        return "GET /weather?city=Oslo costs 0.001 USDC\n"

    server = x402ResourceServerSync(HTTPFacilitatorClientSync(FacilitatorConfig(url=facilitator_url)))
    server.register("eip155:84532", ExactEvmServerScheme())
    price = PaymentOption(scheme="exact", network="eip155:84532", price="$0.001", pay_to=pay_to)
    route = RouteConfig(
        accepts=[price],
        resource=f"{public_url}/weather",
        description="Current weather for a city",
        mime_type="application/json",
    )
    PaymentMiddleware(app, {"GET /weather": route}, server)

    # Around the payment middleware: it sees the 402, the receipt and the paid answer.
    if forge is not None:
        app.wsgi_app = forge.wsgi(app.wsgi_app)
    return app
