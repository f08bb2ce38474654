"""A path that the contract has not: the body is the catalogue's, a header tells what is wrong."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from wafermock.mockserver.exchange import Moment, Request
from wafermock.mockserver.mock import Mock
from wafermock.spec import load_contract

CHAT = "/v1/chat/completions"


def told(mock: Mock, path: str, method: str = "POST") -> str | None:
    answer = mock.answer(Request(method, path, "", {}, b"{}"), Moment(0.0, None))
    assert answer.status == 404
    assert json.loads(b"".join(answer.parts)) == {
        "message": f"There is no path {path}.", "type": "not_found_error", "param": "path",
        "code": "path_not_found", "id": "",
    }  # fmt: skip
    return answer.headers.get("x-wafermock-hint")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/chat/completions", f"there is {CHAT}: is /v1 missing in the base URL?"),
        ("/models/any", "there is /v1/models/any: is /v1 missing in the base URL?"),
        (f"/v1{CHAT}", f"there is {CHAT}: is /v1 too much in the base URL?"),
        (f"/api/openai{CHAT}", f"there is {CHAT}: is /api/openai too much in the base URL?"),
        (f"{CHAT}/", f"there is {CHAT}: is the slash at the end too much?"),
        ("/", None),
        ("/v1", None),
        ("/v1/embeddings", None),
        ("/a" * 5000, None),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_what_the_base_url_may_lack(
    make_mock: Callable[..., Mock], path: str, hint: str | None
) -> None:
    assert told(make_mock(), path) == hint


def test_a_hint_is_what_a_header_can_carry(make_mock: Callable[..., Mock]) -> None:
    hint = told(make_mock(), f"/ä\r\nx: y{CHAT}")
    assert hint is not None
    assert hint.isascii()
    assert hint.isprintable()


def test_a_document_whose_paths_have_no_root_in_common(
    make_mock: Callable[..., Mock], tmp_path: Any
) -> None:
    """`/cats/7` has nothing to do with `/pets/cats/7`."""
    operation = {"get": {"responses": {"200": {"description": "Fine"}}}}
    paths = {"/pets/{kind}/{id}": operation, "/shops": operation}
    document = tmp_path / "pets.json"
    info = {"title": "Pets", "version": "1"}
    document.write_text(json.dumps({"openapi": "3.1.0", "info": info, "paths": paths}))
    mock = Mock(load_contract("documented", [document]))
    assert told(mock, "/cats/7", "GET") is None
