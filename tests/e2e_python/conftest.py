"""Fixtures of all tests: backends, facilitators, event loops; and a last line that says how it went."""

import asyncio
import functools

import pytest
import trio
from forge_x402 import Forge
from support.backend import Backend

OPTIONS = {"api_key": "ffk_test_0123456789abcdef", "public_url": "https://api.example.com", "strict": True}


@pytest.fixture
def backend():
    backend = Backend()
    yield backend
    backend.close()


@pytest.fixture
def facilitator():
    from support.facilitator import Facilitator

    facilitator = Facilitator()
    yield facilitator
    facilitator.close()


@pytest.fixture
def make_forge():
    """Forge with the options of the tests and more; shut down at the end."""
    made = []

    def make(**options):
        made.append(Forge(**{**OPTIONS, "flush_interval_ms": 100, **options}))
        return made[-1]

    yield make
    for forge in made:
        forge.shutdown(0.5)


@pytest.fixture
def forge(make_forge):
    return make_forge()


@pytest.fixture(params=["asyncio", "trio"])
def run(request):
    """Runs a coroutine function to its end on either loop."""

    def run(function, *arguments):
        if request.param == "trio":
            return trio.run(functools.partial(function, *arguments))
        return asyncio.run(function(*arguments))

    run.name = request.param
    return run


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("skipped", ()):
        terminalreporter.write_line(f"skipped: {report.nodeid}: {report.longrepr[2]}")


def pytest_unconfigure(config):
    """The last line, for whoever adds up the tests of all languages."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    count = {kind: len(reporter.stats.get(kind, ())) for kind in ("passed", "failed", "error")}
    print(f"{count['passed']} passed, {count['failed'] + count['error']} failed")
