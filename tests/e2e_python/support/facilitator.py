"""A facilitator on loopback: /supported, /verify and /settle of x402 v1 and v2.

The payment check is the real one (EIP-712 signature of an EIP-3009 transfer, payee, amount, time window, a nonce used once);
only the chain is imitated, by a transaction hash made from the signature.
"""

import hashlib
import time

from eth_account import Account
from eth_account.messages import encode_typed_data

from .loopback import Loopback

CHAIN_IDS = {"eip155:84532": 84532, "base-sepolia": 84532}
SUPPORTED = {
    "kinds": [
        {"x402Version": 2, "scheme": "exact", "network": "eip155:84532"},
        {"x402Version": 1, "scheme": "exact", "network": "base-sepolia"},
    ],
    "extensions": [],
    "signers": {},
}
FIELDS = [("from", "address"), ("to", "address"), ("value", "uint256")]
FIELDS += [("validAfter", "uint256"), ("validBefore", "uint256"), ("nonce", "bytes32")]


class Facilitator(Loopback):
    def __init__(self):
        #: (path, body) of every call.
        self.calls = []
        #: path -> (status, JSON) to answer with instead.
        self.fail = {}
        self._nonces = set()
        super().__init__()

    def get(self, _path, _headers):
        return 200, SUPPORTED

    def post(self, path, _headers, body):
        self.calls.append((path, body))
        if path in self.fail:
            return self.fail[path]
        return 200, self._verify(body) if path == "/verify" else self._settle(body)

    def _verify(self, body):
        payload, wanted = body["paymentPayload"]["payload"], body["paymentRequirements"]
        given = payload["authorization"]
        payer, now = given["from"], int(time.time())

        def invalid(reason):
            return {"isValid": False, "invalidReason": reason, "payer": payer}

        if _signer(payload["signature"], given, wanted) != payer.lower():
            return invalid("invalid_exact_evm_payload_signature")
        if given["to"].lower() != wanted["payTo"].lower():
            return invalid("invalid_exact_evm_payload_recipient_mismatch")
        if int(given["value"]) != int(wanted.get("amount") or wanted["maxAmountRequired"]):
            return invalid("invalid_exact_evm_payload_authorization_value")
        if not int(given["validAfter"]) <= now < int(given["validBefore"]):
            return invalid("invalid_exact_evm_payload_authorization_valid_before")
        if given["nonce"] in self._nonces:
            return invalid("invalid_exact_evm_nonce_already_used")
        return {"isValid": True, "payer": payer}

    def _settle(self, body):
        verdict, network = self._verify(body), body["paymentRequirements"]["network"]
        if not verdict["isValid"]:
            return {
                "success": False,
                "errorReason": verdict["invalidReason"],
                "payer": verdict["payer"],
                "transaction": "",
                "network": network,
            }
        payload = body["paymentPayload"]["payload"]
        self._nonces.add(payload["authorization"]["nonce"])
        transaction = "0x" + hashlib.sha256(payload["signature"].encode()).hexdigest()
        return {"success": True, "payer": verdict["payer"], "transaction": transaction, "network": network}


def _signer(signature, given, wanted):
    message = {name: given[name] if kind != "uint256" else int(given[name]) for name, kind in FIELDS}
    typed = {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in FIELDS],
        },
        "primaryType": "TransferWithAuthorization",
        "domain": {
            "name": wanted["extra"]["name"],
            "version": wanted["extra"]["version"],
            "chainId": CHAIN_IDS[wanted["network"]],
            "verifyingContract": wanted["asset"],
        },
        "message": message,
    }
    try:
        return Account.recover_message(encode_typed_data(full_message=typed), signature=signature).lower()
    except Exception:
        return None
