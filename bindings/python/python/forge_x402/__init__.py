"""forge-x402: the feedback loop for paid HTTP APIs, for ASGI and WSGI applications.

from forge_x402 import ForgeMiddleware
app.add_middleware(ForgeMiddleware, api_key="ffk_…")    # FastAPI, Starlette: add it last, so that it is outermost

from forge_x402 import Forge
app.wsgi_app = Forge(api_key="ffk_…").wsgi(app.wsgi_app)    # Flask; Django: application = forge.wsgi(application)
"""

from ._forge import Forge
from .asgi import ForgeMiddleware
from .wsgi import ForgeWSGI

__all__ = ["Forge", "ForgeMiddleware", "ForgeWSGI"]
