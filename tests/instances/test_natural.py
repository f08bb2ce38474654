"""Values look like what their name, title and format promise."""

import datetime
import ipaddress
import re
import subprocess
import sys
import uuid
from typing import Any

import pytest

from wafermock.mockserver.instances import InstanceMaker, make_instance
from wafermock.mockserver.instances.formats import FORMATS, SHORTEST, format_check
from wafermock.mockserver.instances.vocabulary import kind_of, words_of


def _values(name: str, member: dict[str, Any], count: int = 12) -> list[Any]:
    maker = InstanceMaker({"type": "object", "required": [name], "properties": {name: member}})
    return [maker.make(seed)[name] for seed in range(count)]


NAMES = {
    "email": r"[^@\s]+@example\.(com|org|net)",
    "contactEmail": r"[^@\s]+@example\.(com|org|net)",
    "first_name": r"[A-Z][a-z]+",
    "name": r"[A-Z][\w'-]+ [A-Z][\w'-]+",
    "phoneNumber": r"\+1-\d{3}-555-\d{4}",
    "postal_code": r"\d{5}",
    "homepage": r"https://\S+",
    "created_at": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "birthDate": r"\d{4}-\d\d-\d\d",
    "ip_address": r"\d+\.\d+\.\d+\.\d+",
    "currency": r"[A-Z]{3}",
    "version": r"\d+\.\d+\.\d+",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_promises_a_kind_of_text(name: str) -> None:
    for value in _values(name, {"type": "string"}):
        assert re.fullmatch(NAMES[name], value), value


def test_a_city_is_one_of_fakers_cities() -> None:
    assert kind_of("city") == kind_of("homeCity") == "city"
    assert len(set(_values("city", {"type": "string"}))) > 6


@pytest.mark.parametrize(
    ("name", "low", "high"), [("age", 18, 90), ("latitude", -90, 90), ("confidence", 0, 1)]
)
def test_a_name_promises_the_size_of_a_number(name: str, low: int, high: int) -> None:
    for value in _values(name, {"type": "number"}):
        assert low <= value <= high


def test_bounds_come_before_the_name() -> None:
    for value in _values("age", {"type": "integer", "minimum": 500}):
        assert value >= 500
    for value in _values("email", {"type": "string", "maxLength": 5}):
        assert len(value) <= 5


@pytest.mark.parametrize("name", sorted({*FORMATS, *SHORTEST}))
def test_every_format_is_met(name: str) -> None:
    check = format_check(name)
    for value in _values("x", {"type": "string", "format": name}, 8):
        assert check(value), value
    assert check(SHORTEST.get(name, _values("x", {"type": "string", "format": name}, 1)[0]))


@pytest.mark.parametrize("name", ["email", "uri", "hostname", "date-time", "json-pointer", "iri"])
def test_a_format_beside_a_length(name: str) -> None:
    for low, high in ((40, 60), (0, 24)):
        member = {"type": "string", "format": name, "minLength": low, "maxLength": high}
        for value in _values("x", member, 8):
            assert low <= len(value) <= high
            assert format_check(name)(value), value


def test_formats_hold_by_other_judges_too() -> None:
    uuid.UUID(make_instance({"type": "string", "format": "uuid"}, 0))
    ipaddress.IPv6Address(make_instance({"type": "string", "format": "ipv6"}, 0))
    value = make_instance({"type": "string", "format": "date-time"}, 0)
    datetime.datetime.fromisoformat(value)


def test_a_format_that_cannot_be_met_gives_way_as_it_is_an_annotation() -> None:
    assert make_instance({"const": "not a date", "format": "date"}, 0) == "not a date"


def test_a_format_is_no_assertion_where_a_branch_turns_on_it() -> None:
    """Without assertion of formats both branches are met, which `oneOf` does not allow."""
    schema = {
        "type": "object",
        "required": ["a"],
        "oneOf": [
            {"properties": {"a": {"type": "string", "format": "date"}}},
            {"properties": {"a": {"type": "string", "format": "ipv4"}, "b": {"type": "null"}}},
        ],
        "properties": {"b": {"type": "integer"}},
    }
    maker = InstanceMaker(schema)
    for seed in range(10):
        assert isinstance(maker.make(seed)["b"], int)


def test_words_of_a_name() -> None:
    assert words_of("shippingAddress2") == ("shipping", "address", "2")
    assert words_of("HTTPServer-name") == ("http", "server", "name")


def test_faker_is_loaded_only_where_it_is_needed() -> None:
    code = (
        "import sys; from wafermock.mockserver.instances import make_instance;"
        "assert not {'faker', 'hypothesis'} & set(sys.modules), 'loaded on import';"
        "make_instance({'type': 'integer'}, 0); assert 'faker' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=_environment())


def _environment() -> dict[str, str]:
    import os
    from pathlib import Path

    import wafermock.mockserver.instances as instances

    return {**os.environ, "PYTHONPATH": str(Path(instances.__file__).parents[3])}
