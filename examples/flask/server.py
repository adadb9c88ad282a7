"""Runs the merchant on its own, against a facilitator of your choice.

FORGE_API_KEY=… FACILITATOR_URL=https://… PAY_TO=0x… PUBLIC_URL=https://… gunicorn server:app
"""

import os

from forge_x402 import Forge
from merchant import create_merchant

forge = Forge(
    api_key=os.environ["FORGE_API_KEY"],
    public_url=os.environ["PUBLIC_URL"],
    backend_url=os.environ.get("FORGE_BACKEND_URL"),
)
app = create_merchant(os.environ["FACILITATOR_URL"], os.environ["PUBLIC_URL"], os.environ["PAY_TO"], forge)
