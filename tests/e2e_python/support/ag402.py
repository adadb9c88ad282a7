"""An ag402 gateway on loopback with a service behind it, and its client; only the chain is imitated, by a mock of ag402."""

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import uvicorn
from ag402_core.config import RunMode, X402Config
from ag402_core.gateway.auth import PaymentVerifier
from ag402_core.middleware.x402_middleware import X402PaymentMiddleware
from ag402_core.payment.solana_adapter import MockSolanaAdapter
from ag402_core.wallet.agent_wallet import AgentWallet
from ag402_mcp.gateway import X402Gateway

SELLER = "GtwRecipientAddr1111111111111111111111111111"
PAYER = "MockWa11etAddress1111111111111111111111111111"
PRICE = "0.05"


class Service:
    """What is sold: JSON, or the status named in the path."""

    def __init__(self):
        self.seen = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _handler(service):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                service.seen.append((self.path, dict(self.headers)))
                body = json.dumps({"city": "Oslo", "temperature": 6.5}).encode()
                self.send_response(500 if self.path.startswith("/broken") else 200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler


class Gateway:
    """The gateway as ag402 makes it, on a uvicorn of its own; `wrap` puts something around its application."""

    def __init__(self, service, folder, wrap=lambda app: app, **options):
        self.chain = MockSolanaAdapter(address=PAYER)
        self.gateway = X402Gateway(
            service.url,
            PRICE,
            address=SELLER,
            verifier=PaymentVerifier(self.chain),
            replay_db_path=str(folder / f"replay-{id(self)}.db"),
            **{"replay_window": 3600, **options},
        )
        config = uvicorn.Config(
            wrap(self.gateway.create_app()), host="127.0.0.1", port=0, log_level="critical", http="h11", loop="asyncio"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self):
        self._thread.start()
        end = time.monotonic() + 20
        while not self._server.started:
            assert time.monotonic() < end and self._thread.is_alive(), "the gateway did not start"
            time.sleep(0.01)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join(10)

    def pay(self):
        """A transaction as the chain would have it."""
        return asyncio.run(self.chain.pay(SELLER, float(PRICE))).tx_hash

    def requests_seen(self):
        return self.gateway._metrics["requests_total"]


def buy(gateway, folder, path="/weather", headers=None, times=1):
    """The ag402 client with a wallet of its own; gives its results."""

    async def run():
        wallet = AgentWallet(db_path=str(folder / f"wallet-{time.monotonic_ns()}.db"))
        await wallet.init_db()
        await wallet.deposit(50)
        client = X402PaymentMiddleware(wallet, gateway.chain, X402Config(mode=RunMode.TEST))
        try:
            return [await client.handle_request("GET", gateway.url + path, headers) for _ in range(times)]
        finally:
            await client.close()
            await wallet.close()

    return asyncio.run(run())
