"""Challenges, payments and receipts of x402 v2 as header values, for tests without the payment packages."""

import base64
import json


def encoded(value):
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return base64.b64encode(text.encode())


def decoded(value):
    return json.loads(base64.b64decode(value))


REQUIREMENT = {
    "scheme": "exact",
    "network": "eip155:84532",
    "amount": "10000",
    "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    "payTo": "0x1111111111111111111111111111111111111111",
    "maxTimeoutSeconds": 60,
    "extra": {"name": "USDC", "version": "2"},
}
RESOURCE = {"url": "https://shop.example.com/weather", "description": "Weather.", "mimeType": "application/json"}
CHALLENGE = {"x402Version": 2, "error": "Payment required", "resource": RESOURCE, "accepts": [REQUIREMENT]}
PAYER = "0x2222222222222222222222222222222222222222"
PAYMENT = {
    "x402Version": 2,
    "payload": {"signature": "0x00", "authorization": {"from": PAYER, "to": REQUIREMENT["payTo"], "value": "10000"}},
    "accepted": REQUIREMENT,
}
RECEIPT = {"success": True, "transaction": "0xabc", "network": "eip155:84532", "payer": PAYER}

CHALLENGE_HEADER = encoded(CHALLENGE)
PAYMENT_HEADER = encoded(PAYMENT)
RECEIPT_HEADER = encoded(RECEIPT)
PAID = [(b"host", b"shop.example.com"), (b"payment-signature", PAYMENT_HEADER)]
