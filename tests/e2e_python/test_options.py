"""Options in their Python form, the log, and the types that editors see."""

import ast
import json
import logging
import pathlib
from pathlib import Path

import forge_x402
import pytest
from forge_x402 import Forge, ForgeMiddleware, ForgeWSGI

ROOT = Path(__file__).resolve().parents[2]
KEY = "ffk_test_0123456789abcdef"


def test_d23_an_unknown_option_turns_everything_off_and_says_so(caplog):
    forge = Forge(api_key=KEY, no_such_option=1)
    assert "no_such_option: unknown option" in caplog.text
    assert forge.engine.on_request("GET", b"/feedback", [], None) is None


def test_d23_strict_raises_and_names_the_way_out():
    with pytest.raises(ValueError, match="describe_challenge: unknown option; did you mean describe_challenges"):
        Forge(api_key=KEY, describe_challenge=True, strict=True)
    with pytest.raises(ValueError, match="public_url"):
        ForgeMiddleware(None, api_key=KEY, public_url="https://a.example/path", strict=True)


@pytest.mark.parametrize("key", [KEY + "\n", "a\0b", " " + KEY, "", 7, KEY.encode(), pathlib])
def test_d21_p36_a_key_that_is_none_is_a_fault_and_is_not_shown(caplog, key):
    assert Forge(api_key=key).engine.faults() and "api_key: " in caplog.text
    assert KEY not in caplog.text


def test_p36_a_key_from_a_file_makes_the_same_ids(tmp_path, caplog):
    for ending in ("", "\n", "\r\n"):
        file = tmp_path / "key"
        file.write_bytes(KEY.encode() + ending.encode())
        for path in (file, str(file)):
            forge = Forge(api_key_file=path, strict=True)
            assert forge.engine.verify_id(Forge(api_key=KEY).engine.mint_id()) == "valid"
    file.write_bytes(b"\xff\xfe")
    assert Forge(api_key_file=file).engine.faults() == [
        f'api_key_file: the key in "{file}" is not UTF-8; write the key alone into the file'
    ]
    assert Forge(api_key_file=tmp_path / "none").engine.faults()


def test_d22_a_public_url_with_a_path_is_refused_with_the_way_out(caplog):
    Forge(api_key=KEY, public_url="https://api.example.com/v1")
    assert 'has more than an origin; use "https://api.example.com"' in caplog.text


def test_values_that_json_has_not_are_faults_and_no_exceptions(caplog):
    for value in (object(), {1, 2}, float("nan"), b"x", print):
        assert Forge(api_key=KEY, public_url=value).engine.faults()


def test_none_is_an_option_left_out():
    options = {row["name"]: None for row in json.loads((ROOT / "options.json").read_text())}
    assert Forge(**{**options, "api_key": KEY}).engine.faults() == []


def test_an_openapi_document_may_be_given_as_an_object(caplog):
    document = {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {}}
    for given in (document, json.dumps(document)):
        assert Forge(api_key=KEY, openapi={"document": given}, strict=True).engine.faults() == []


def test_lines_of_the_engine_go_to_the_logger(caplog):
    with caplog.at_level(logging.WARNING, "forge_x402"):
        forge = Forge(api_key=KEY)
    assert [(record.name, record.levelname) for record in caplog.records] == [("forge_x402", "WARNING")]
    assert "backend_url is not set" in caplog.text and forge.diagnostics() == []


def test_an_unreachable_backend_is_said_while_traffic_flows(make_forge, caplog):
    forge = make_forge(backend_url="http://127.0.0.1:9", flush_interval_ms=100)
    forge.engine.enqueue_event(b'{"type":"custom"}')
    assert forge.flush(0.5) is False
    assert "the backend is not reached: connection refused; 1 events wait" in caplog.text
    assert forge.stats()["failed_posts"] >= 1 and forge.stats()["queued"] == 1
    assert forge.shutdown(0.2) is False and forge.stats()["dropped"] == 1


def test_an_event_of_the_hosts_own_is_checked(forge):
    for wrong in (b"", b"[]", b"{}", b'{"type":1}'):
        with pytest.raises(ValueError, match="event"):
            forge.engine.enqueue_event(wrong)


def test_stats_are_counted(forge):
    forge.engine.mint_id()
    assert forge.stats()["minted"] == 1 and forge.stats()["skips"] == {} and forge.stats()["worker_running"] is False


def test_the_stubs_name_every_option_with_its_text():
    rows = json.loads((ROOT / "options.json").read_text())
    stub = ast.parse((Path(forge_x402.__file__).parent / "__init__.pyi").read_text())
    (options,) = (node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "Options")
    fields = [node.target.id for node in options.body if isinstance(node, ast.AnnAssign)]
    texts = [node.value.value for node in options.body if isinstance(node, ast.Expr)]
    assert fields == [row["name"] for row in rows] and texts == [row["doc"] for row in rows]


def test_the_stubs_name_what_is_there():
    package = Path(forge_x402.__file__).parent
    for stub, module in (("__init__.pyi", forge_x402), ("_native.pyi", forge_x402._native)):
        for node in ast.parse((package / stub).read_text()).body:
            if isinstance(node, ast.ClassDef) and hasattr(module, node.name):
                real = getattr(module, node.name)
                named = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__init__", "__new__"}
                there = {name for name in vars(real) if not name.startswith("_")} | {"__call__"}
                assert named <= there, node.name
                assert there - {"__call__"} <= named, node.name
    assert (package / "py.typed").exists()


def test_the_page_names_every_option():
    page = (ROOT / "docs/python.md").read_text()
    for row in json.loads((ROOT / "options.json").read_text()):
        assert f"`{row['name']}`" in page, row["name"]


def test_adapters_share_a_forge_that_is_given():
    forge = Forge(api_key=KEY)
    assert forge.asgi(None).forge is forge and forge.wsgi(None).forge is forge
    assert ForgeMiddleware(None, forge=forge).forge is forge and ForgeWSGI(None, forge=forge).forge is forge
