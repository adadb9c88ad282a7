"""The real client of the x402 package, with an account made for the run."""

import requests
from eth_account import Account
from x402 import x402Client, x402ClientSync
from x402.http.clients.httpx import x402HttpxClient
from x402.http.clients.requests import wrapRequestsWithPayment
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client


class Buyer:
    def __init__(self):
        self.account = Account.create()

    async def pay(self, method, url, **keywords):
        client = x402Client()
        register_exact_evm_client(client, EthAccountSigner(self.account))
        async with x402HttpxClient(client, timeout=30) as http:
            answer = await http.request(method, url, **keywords)
            await answer.aread()
            return answer

    def pay_by_requests(self, method, url, **keywords):
        client = x402ClientSync()
        register_exact_evm_client(client, EthAccountSigner(self.account))
        with wrapRequestsWithPayment(requests.Session(), client) as session:
            return session.request(method, url, timeout=30, **keywords)
