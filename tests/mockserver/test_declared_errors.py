"""Errors of operations that declare other statuses, and other shapes, than the catalogue has."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver.mock import Mock, Settings
from wafermock.spec import load_contract
from wafermock.spec.document import read_document
from wafermock.spec.errors import ErrorCatalogue

Ask = Callable[..., Any]

OOPS = {"type": "object", "required": ["oops"], "properties": {"oops": {"type": "string"}}}
HINT = {"type": "object", "required": ["hint"], "properties": {"hint": {"type": "integer"}}}
TEXT = {"type": "string"}
FASTAPI = {
    "type": "object",
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["loc", "msg", "type"],
                "properties": {
                    "loc": {"type": "array", "items": {"type": ["string", "integer"]}},
                    "msg": TEXT,
                    "type": TEXT,
                },
            },
        }
    },
}
WORD = {"type": "object", "required": ["word"], "properties": {"word": TEXT}}
PROFILES = ("documented", "observed")
JSON = "application/json"


def say(
    tmp_path: Path, errors: dict[str, Any], profile: str = "documented", media_type: str = JSON
) -> Mock:
    """A mock of one operation that declares these errors, each with its schema, or None."""
    responses: dict[str, Any] = {"200": {"description": "Said."}}
    for status, schema in errors.items():
        content = {} if schema is None else {"content": {media_type: {"schema": schema}}}
        responses[status] = {"description": "Not said.", **content}
    wanted = {"required": True, "content": {JSON: {"schema": WORD}}}
    post = {"operationId": "say", "requestBody": wanted, "responses": responses}
    root = {
        "openapi": "3.1.0",
        "info": {"title": "own", "version": "1"},
        "paths": {"/v2/say": {"post": post}},
    }
    path = tmp_path / "own.json"
    path.write_text(json.dumps(root))
    return Mock(load_contract(profile, documents=[path]), Settings(max_body=1000))


# By the status that the catalogue has for it in each profile.
FAULTS: dict[str, tuple[tuple[int, int], Any, dict[str, str]]] = {
    "schema": ((422, 400), {"word": 3}, {}),
    "JSON": ((422, 400), b'{"word":', {}),
    "empty": ((422, 400), b"", {}),
    "gzip": ((400, 400), b"{}", {"content-encoding": "gzip"}),
    "size": ((413, 413), {"word": "w" * 2000}, {}),
    "media type": ((415, 415), b"{}", {"content-type": "text/plain"}),
    "coding": ((415, 415), b"{}", {"content-encoding": "br"}),
}


def ask_wrongly(mock: Mock, ask: Ask, fault: str) -> Any:
    _, body, headers = FAULTS[fault]
    return ask(mock, "/v2/say", body, headers)


def violations(answer: Any) -> str:
    return str(answer.headers.get("x-wafermock-violations", ""))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("status", [400, 422])
def test_what_is_declared_of_bad_requests_is_answered(
    tmp_path: Path, ask: Ask, profile: str, fault: str, status: int
) -> None:
    mock = say(tmp_path, {str(status): OOPS}, profile)
    got = ask_wrongly(mock, ask, fault)
    assert got.status == status
    assert got.headers["content-type"] == JSON
    assert set(json.loads(got.body)) == {"oops"}
    assert violations(got)
    assert ask_wrongly(mock, ask, fault).body == got.body


def test_the_header_says_what_is_wrong(tmp_path: Path, ask: Ask) -> None:
    mock = say(tmp_path, {"400": OOPS})
    assert violations(ask_wrongly(mock, ask, "schema")) == (
        "body.word: Input should be a valid string"
    )
    assert "text/plain" in violations(ask_wrongly(mock, ask, "media type"))


def test_a_status_of_its_own_comes_first(tmp_path: Path, ask: Ask) -> None:
    both = say(tmp_path, {"400": OOPS, "422": HINT})
    assert set(json.loads(ask_wrongly(both, ask, "schema").body)) == {"hint"}
    assert set(json.loads(ask_wrongly(both, ask, "gzip").body)) == {"oops"}
    # For what neither is meant for, RFC 9110 has 400.
    assert ask_wrongly(both, ask, "media type").status == 400
    declared = say(tmp_path, {"400": OOPS, "415": HINT})
    assert ask_wrongly(declared, ask, "media type").status == 415


@pytest.mark.parametrize("covering", ["4XX", "default"])
def test_a_range_comes_behind(tmp_path: Path, ask: Ask, covering: str) -> None:
    """The document says what a bad request is: a range, or `default`, is for all the others."""
    mock = say(tmp_path, {"400": OOPS, covering: HINT})
    got = ask_wrongly(mock, ask, "schema")
    assert (got.status, set(json.loads(got.body))) == (400, {"oops"})
    got = ask_wrongly(say(tmp_path, {covering: HINT}), ask, "schema")
    assert (got.status, set(json.loads(got.body))) == (422, {"hint"})


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("profile", PROFILES)
def test_without_any_the_catalogue_s_is_answered(
    tmp_path: Path, ask: Ask, profile: str, fault: str
) -> None:
    got = ask_wrongly(say(tmp_path, {"404": OOPS}, profile), ask, fault)
    assert got.status == FAULTS[fault][0][PROFILES.index(profile)]
    assert set(json.loads(got.body)) & {"message", "detail"}
    assert not violations(got)


def test_what_is_chosen_keeps_its_status(tmp_path: Path, ask: Ask) -> None:
    mock = say(tmp_path, {"400": OOPS, "404": OOPS})
    got = ask(mock, "/v2/say", {"word": "a"}, {"prefer": "code=404"})
    assert (got.status, set(json.loads(got.body))) == (404, {"oops"})
    got = ask(mock, "/v2/say", {"word": "a"}, {"prefer": "code=422"})
    assert got.status == 400
    assert "declares no status 422" in violations(got)


# ---------------------------------------------------------------------- bodies


def test_a_message_is_told_where_there_is_a_place_for_it(tmp_path: Path, ask: Ask) -> None:
    """The catalogue has an error in two shapes: where the document declares one of them, or a part
    of it, no words are invented."""
    flat = dict.fromkeys(("message", "type", "param", "code"), TEXT)
    mock = say(tmp_path, {"400": {"type": "object", "required": list(flat), "properties": flat}})
    got = ask_wrongly(mock, ask, "schema")
    line = "body.word: Input should be a valid string"
    assert json.loads(got.body) == {
        "message": line,
        "type": "invalid_request_error",
        "param": "validation_error",
        "code": "wrong_api_format",
    }
    message = {"type": "object", "required": ["message"], "properties": {"message": TEXT}}
    for status in ("400", "422", "4XX", "default"):
        got = ask_wrongly(say(tmp_path, {status: message}), ask, "schema")
        assert json.loads(got.body) == {"message": line}
        assert violations(got) == line


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_document_of_fastapi_s(tmp_path: Path, ask: Ask, profile: str, fault: str) -> None:
    got = ask_wrongly(say(tmp_path, {"422": FASTAPI}, profile), ask, fault)
    assert got.status == 422
    (detail,) = json.loads(got.body)["detail"]
    assert detail["loc"][0] == "body"
    assert set(detail) == {"loc", "msg", "type"}  # `input` and `ctx` have no place there
    assert len(detail["msg"]) > 10


def test_an_open_shape_gets_no_keys_that_it_does_not_name(tmp_path: Path, ask: Ask) -> None:
    loose = {"type": "object", "properties": {"oops": TEXT}}
    for status in (400, 422):
        got = ask_wrongly(say(tmp_path, {str(status): loose}), ask, "schema")
        assert got.status == status
        assert set(json.loads(got.body)) <= {"oops"}
        assert violations(got)
    takes_more: list[dict[str, Any]] = [
        {"additionalProperties": True},
        {"additionalProperties": {}},
        {"unevaluatedProperties": {"type": "array"}},
        {"allOf": [{"properties": {"detail": {}}}]},
    ]
    for more in takes_more:
        got = ask_wrongly(say(tmp_path, {"422": {**loose, **more}}), ask, "schema")
        assert set(json.loads(got.body)) == {"detail"}, more


def test_a_media_type_of_its_own(tmp_path: Path, ask: Ask) -> None:
    problem = {
        "type": "object",
        "required": ["title"],
        "properties": {"type": TEXT, "title": TEXT, "detail": TEXT},
    }
    name = "application/problem+json"
    for schema in (problem, {"type": "object"}):
        got = ask_wrongly(say(tmp_path, {"400": schema}, media_type=name), ask, "schema")
        assert (got.status, got.headers["content-type"]) == (400, name)
        assert violations(got)
    got = ask_wrongly(say(tmp_path, {"400": {}}, media_type="application/*"), ask, "schema")
    assert (got.status, json.loads(got.body)["code"]) == (400, "wrong_api_format")


def test_a_status_alone(tmp_path: Path, ask: Ask) -> None:
    """A response without content says nothing of the body: it is the catalogue's."""
    got = ask_wrongly(say(tmp_path, {"400": None}), ask, "schema")
    assert (got.status, json.loads(got.body)["code"]) == (400, "wrong_api_format")


def test_the_headers_of_an_error_go_with_every_shape(tmp_path: Path, ask: Ask) -> None:
    got = ask_wrongly(say(tmp_path, {"415": OOPS}), ask, "coding")
    assert (got.status, got.headers["Accept-Encoding"]) == (415, "gzip")


def test_an_error_that_nothing_can_be(tmp_path: Path, ask: Ask) -> None:
    impossible = {"type": "integer", "minimum": 5, "maximum": 4}
    got = ask_wrongly(say(tmp_path, {"400": impossible}), ask, "schema")
    assert (got.status, set(json.loads(got.body))) == (400, {"detail"})


# ---------------------------------------------------------------------- the catalogue


def test_statuses_that_stand_in_are_no_circle_of_meanings() -> None:
    path = Path(load_contract.__code__.co_filename).parent / "errors.yaml"
    errors = ErrorCatalogue(read_document(path), "documented")
    statuses = {entry.status for entry in errors}
    for status in statuses:
        others = errors.instead_of(status)
        assert status not in others
        assert set(others) <= {400, 422}
    # What clients go by: whether to try again, whether the key is wrong.
    for status in (401, 402, 403, 404, 405, 408, 429, 500, 502, 503, 504):
        assert errors.instead_of(status) == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_forms_of_an_error_begin_with_its_own(profile: str) -> None:
    errors = load_contract(profile).errors
    for entry in errors:
        first, *others = errors.forms(entry)
        assert first == entry
        shapes = [form.shape for form in (first, *others)]
        assert len(set(shapes)) == len(shapes)
        assert all(form.name == entry.name for form in others)
        assert set(shapes) >= ({"html"} if entry.shape == "html" else {"flat", "fastapi"})
