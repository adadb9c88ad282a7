"""FastAPI with the payment middleware of the x402 package, or a stub of it where there is no facilitator.

LAYERS names the middleware around it, outermost first.
"""

import asyncio
import os
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request, WebSocket
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from forge_x402 import ForgeMiddleware
from starlette.background import BackgroundTask

from merchants import settings
from merchants.stub_payments import StubPayments

app = FastAPI(title="Weather", version="1")
finished = []


@app.get("/free")
async def free():
    return {"free": True}


@app.get("/paid/report")
async def report():
    return Response(settings.REPORT, media_type="application/json")


@app.get("/paid/weather/{city}", responses={402: {"description": "Payment required"}})
async def weather(city: str) -> dict:
    return {"city": city, "temperature": 21.5}


@app.post("/paid/echo")
async def echo(request: Request):
    body = await request.body()
    return Response(body or b"nothing", media_type="application/json", headers={"x-query": request.url.query})


@app.get("/paid/stream")
async def stream():
    async def parts():
        for number in range(3):
            yield f"data: {number}\n\n"
            await asyncio.sleep(0.05)

    return StreamingResponse(parts(), media_type="text/event-stream")


@app.get("/paid/file")
async def file():
    return FileResponse(Path(__file__).parent / "report.json", media_type="application/json")


@app.get("/paid/raises")
async def raises():
    raise RuntimeError("the handler's own error")


@app.get("/paid/teapot")
async def teapot():
    raise HTTPException(418, "short and stout")


@app.get("/paid/background")
async def background():
    return JSONResponse({"queued": True}, background=BackgroundTask(finished.append, 1))


@app.get("/finished")
async def count():
    return {"finished": len(finished)}


@app.get("/big")
async def big():
    async def parts():
        for _ in range(80):
            yield b"x" * 65_536

    return StreamingResponse(parts(), media_type="application/octet-stream")


@app.websocket("/socket")
async def socket(websocket: WebSocket):
    await websocket.accept()
    await websocket.send_text(await websocket.receive_text())
    await websocket.close()


if "FACILITATOR" in os.environ:
    from x402 import x402ResourceServer
    from x402.http import HTTPFacilitatorClient
    from x402.http.middleware.fastapi import PaymentMiddlewareASGI
    from x402.mechanisms.evm.exact import ExactEvmServerScheme

    server = x402ResourceServer(HTTPFacilitatorClient(settings.facilitator_config()))
    server.register(settings.NETWORK, ExactEvmServerScheme())
    app.add_middleware(PaymentMiddlewareASGI, routes=settings.routes(), server=server)
else:
    app.add_middleware(StubPayments)

forge = settings.make_forge()
for layer in reversed(os.environ.get("LAYERS", "forge").split(",")):
    if layer == "cors":
        app.add_middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], expose_headers=["x-own"])
    elif layer == "gzip":
        app.add_middleware(GZipMiddleware, minimum_size=10)
    elif layer == "forge" and forge is not None:
        app.add_middleware(ForgeMiddleware, forge=forge)
