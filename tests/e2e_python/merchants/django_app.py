"""Django, one file: WSGI and ASGI, with a payment layer that asks nobody."""

import os

import django
from django.conf import settings as django_settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import FileResponse, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from support import payments

from merchants import settings

django_settings.configure(
    ALLOWED_HOSTS=["*"],
    DEBUG=False,
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"] if os.environ.get("COMMON", "1") == "1" else [],
    ROOT_URLCONF=__name__,
    SECRET_KEY="of the tests",
)
django.setup()


def pays(view):
    def paid(request, **arguments):
        if "payment-signature" not in request.headers:
            return HttpResponse(
                b"{}", "application/json", 402, headers={"PAYMENT-REQUIRED": payments.CHALLENGE_HEADER.decode()}
            )
        response = view(request, **arguments)
        response["PAYMENT-RESPONSE"] = payments.RECEIPT_HEADER.decode()
        return response

    return paid


@pays
def report(request, **_):
    return HttpResponse(settings.REPORT, "application/json")


@pays
def echo(request):
    return HttpResponse(request.body, "application/json", headers={"x-query": request.META["QUERY_STRING"]})


@pays
def stream(request):
    return StreamingHttpResponse((b"part %d\n" % number for number in range(3)), content_type="text/plain")


@pays
def file(request):
    return FileResponse(open(os.path.join(os.path.dirname(__file__), "report.json"), "rb"))


def free(request):
    return JsonResponse({"free": True})


urlpatterns = [
    path("free", free),
    path("stub/report", report),
    path("stub/echo", echo),
    path("stub/stream", stream),
    path("stub/file", file),
]
forge = settings.make_forge()
application = get_wsgi_application()
asgi = get_asgi_application()
if forge is not None:
    application, asgi = forge.wsgi(application), forge.asgi(asgi)
