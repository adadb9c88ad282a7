"""An ag402 gateway on loopback with a service behind it, and its client; only the chain is imitated, by a mock of ag402."""

import asyncio
import threading
import time

import uvicorn
from ag402_core.config import RunMode, X402Config
from ag402_core.gateway.auth import PaymentVerifier
from ag402_core.middleware.x402_middleware import X402PaymentMiddleware
from ag402_core.payment.solana_adapter import MockSolanaAdapter
from ag402_core.wallet.agent_wallet import AgentWallet
from ag402_mcp.gateway import X402Gateway

from .loopback import Loopback

SELLER = "GtwRecipientAddr1111111111111111111111111111"
PAYER = "MockWa11etAddress1111111111111111111111111111"
PRICE = "0.05"


class Service(Loopback):
    """What is sold: JSON, or the status named in the path."""

    def __init__(self):
        self.seen = []
        super().__init__()

    def get(self, path, headers):
        self.seen.append((path, dict(headers)))
        return 500 if path.startswith("/broken") else 200, {"city": "Oslo", "temperature": 6.5}


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
