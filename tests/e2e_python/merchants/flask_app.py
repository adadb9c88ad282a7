"""Flask with the payment middleware of the x402 package, which answers through the write callable."""

import os
import threading

from flask import Flask, Response, request

from merchants import settings

app = Flask(__name__)


@app.get("/free")
def free():
    return {"free": True, "pid": os.getpid(), "threads": threading.active_count()}


@app.get("/paid/report")
def report():
    return Response(settings.REPORT, mimetype="application/json")


@app.get("/paid/weather/<city>")
def weather(city):
    return {"city": city, "temperature": 21.5}


@app.post("/paid/echo")
def echo():
    return Response(request.get_data(), mimetype="application/json", headers={"x-query": request.query_string.decode()})


@app.get("/paid/raises")
def raises():
    raise RuntimeError("the handler's own error")


@app.get("/stub/<kind>")
def stub(kind):
    """Answers as a payment layer that asks nobody."""
    from support import payments

    if "payment-signature" not in request.headers:
        return Response(
            "{}", 402, {"PAYMENT-REQUIRED": payments.CHALLENGE_HEADER.decode()}, mimetype="application/json"
        )
    headers = {"PAYMENT-RESPONSE": payments.RECEIPT_HEADER.decode()}
    if kind == "stream":
        return Response((b"part %d\n" % number for number in range(3)), 200, headers, mimetype="text/plain")
    return Response(settings.REPORT, 200, headers, mimetype="application/json")


if "FACILITATOR" in os.environ:
    from x402 import x402ResourceServerSync
    from x402.http import HTTPFacilitatorClientSync
    from x402.http.middleware.flask import PaymentMiddleware
    from x402.mechanisms.evm.exact import ExactEvmServerScheme

    server = x402ResourceServerSync(HTTPFacilitatorClientSync(settings.facilitator_config()))
    server.register(settings.NETWORK, ExactEvmServerScheme())
    PaymentMiddleware(app, settings.routes(), server)

forge = settings.make_forge()
if forge is not None:
    app.wsgi_app = forge.wsgi(app.wsgi_app)
    if "WARM_UP" in os.environ:
        # What a merchant's own check at import does, in the process that forks.
        forge.engine.enqueue_event(b'{"type":"warm-up"}')
        forge.flush()
application = app
