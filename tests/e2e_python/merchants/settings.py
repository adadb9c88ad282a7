"""What the merchants have in common: prices, routes, bodies, and Forge if there is to be one."""

import json
import os

PAY_TO = "0x1111111111111111111111111111111111111111"
NETWORK = "eip155:84532"
#: A body whose numbers and spaces no JSON writer would make like this.
REPORT = b'{"city": "K\xc3\xb6ln", "temperature": 1.10,\n "wind": 1e5, "note": "\\u003cb\\u003e"}\n'


def accepts():
    from x402.http import PaymentOption

    return PaymentOption(scheme="exact", pay_to=PAY_TO, price="$0.01", network=NETWORK)


def routes():
    from x402.http import RouteConfig

    route = RouteConfig(accepts=[accepts()], description="Weather report.", mime_type="application/json")
    return {"GET /paid/*": route, "POST /paid/*": route, "HEAD /paid/*": route}


def facilitator_config():
    from x402.http import FacilitatorConfig

    return FacilitatorConfig(url=os.environ["FACILITATOR"])


def make_forge():
    from forge_x402 import Forge

    if "BACKEND" not in os.environ:
        return None
    return Forge(
        **{
            "api_key": "ffk_test_0123456789abcdef",
            "backend_url": os.environ["BACKEND"],
            "public_url": "https://api.example.com",
            "flush_interval_ms": 100,
            "strict": True,
            **json.loads(os.environ.get("OPTIONS", "{}")),
        }
    )
