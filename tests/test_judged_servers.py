"""The script that judges other people's servers: what it does without any of them."""

import re
import socket
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from wafermock.spec import load_contract
from wafermock.spec.bundle import bundle

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "servers.md"


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package `benchmarks.judged`: it is run from the folder of the checkout."""
    monkeypatch.syspath_prepend(ROOT)
    import benchmarks.judged
    import benchmarks.judged.page
    import benchmarks.judged.prism
    import benchmarks.judged.running
    import benchmarks.judged.samples

    return benchmarks.judged


def test_every_package_is_pinned_and_every_port_is_one_s_own(judged: Any) -> None:
    for server in judged.SERVERS:
        sign = "@" if server.client == "npm" else "=="
        assert all(re.fullmatch(rf".+{sign}\d[\w.]*", package) for package in server.packages)
        assert re.fullmatch(r"\d[\w.]*", server.version)
    assert len({server.port for server in judged.SERVERS}) == len(judged.SERVERS)


def test_the_document_for_prism_is_openapi_3_1(judged: Any) -> None:
    document = judged.prism.openapi_3_1(bundle(load_contract()))
    OpenAPIV31SpecValidator(document).validate()
    chat = document["paths"]["/v1/chat/completions"]["post"]["responses"]["200"]["content"]
    assert chat["text/event-stream"] == {"schema": {"type": "string"}}
    assert "itemSchema" not in str(document)


def test_the_page_tells_what_the_samples_say(judged: Any, tmp_path: Path) -> None:
    runs = judged.samples.read(ROOT / "docs" / "samples")
    assert set(runs) == {server.name for server in judged.SERVERS}
    page = tmp_path / "servers.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    judged.page.update(page, runs)
    assert page.read_text("utf-8") == PAGE.read_text("utf-8")


def server(judged: Any, *command: str) -> Any:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    words = tuple(word.replace("PORT", str(port)) for word in command)
    return judged.server.Server("test", "test", "pip", ("test==1",), port, lambda place: words)


def test_a_server_runs_as_long_as_it_is_judged(judged: Any, tmp_path: Path) -> None:
    page = server(judged, sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "PORT")
    with judged.running.running(page, tmp_path) as place:
        assert not place.has_ended()
        assert urllib.request.urlopen(place.url).status == 200
        with pytest.raises(judged.running.CannotStart, match="listens on port"):
            judged.running.running(page, tmp_path).__enter__()
    assert place.has_ended()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(place.url)


def test_a_server_that_does_not_come_up_is_told_with_its_words(judged: Any, tmp_path: Path) -> None:
    broken = server(judged, sys.executable, "-c", "import sys; sys.exit('no model here')")
    with (
        pytest.raises(judged.running.CannotStart, match="no model here"),
        judged.running.running(broken, tmp_path),
    ):
        raise AssertionError("it runs")


def test_a_page_without_a_place_for_the_table_is_told(judged: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Nothing here\n", "utf-8")
    with pytest.raises(ValueError, match="no place for the table"):
        judged.page.update(page, {})
