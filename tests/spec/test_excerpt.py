"""Excerpts: what is left of a large invalid instance is small, invalid, and where it was."""

from typing import Any

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from wafermock.spec.excerpt import SHORT, Excerpt
from wafermock.spec.pointer import resolve

SCHEMA = {
    "properties": {
        "prompt": {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}},
                {"type": "array", "items": {"type": "integer"}},
                {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
            ]
        },
        "few": {"maxItems": 30},
    }
}
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)


def of(instance: Any) -> Excerpt:
    assert not VALIDATOR.is_valid(instance)
    found = Excerpt(instance, VALIDATOR.is_valid)
    assert not VALIDATOR.is_valid(found.value)
    return found


def test_only_the_item_at_fault_is_kept() -> None:
    found = of({"prompt": [[1]] * 1000 + [["a"]] + [[2]] * 1000})
    assert found.value == {"prompt": [["a"]]}
    assert found.original(("prompt", 0, 0)) == ("prompt", 1000, 0)


def test_arrays_within_arrays() -> None:
    found = of({"prompt": [[1]] * 50 + [[1] * 99 + [None] + [1] * 50]})
    assert found.value == {"prompt": [[None]]}
    assert found.original(("prompt", 0, 0)) == ("prompt", 50, 99)


def test_too_many_items_stay_too_many() -> None:
    found = of({"few": list(range(1000))})
    assert found.value == {"few": list(range(31))}
    assert found.original(("few", 3)) == ("few", 3)


def test_a_fault_elsewhere() -> None:
    found = of({"prompt": ["a"] * 1000, "few": list(range(31))})
    assert found.value == {"prompt": [], "few": list(range(31))}


@given(st.lists(st.lists(st.integers() | st.text(), max_size=40), min_size=1, max_size=60))
def test_what_is_left_stands_where_it_stood(prompt: list[Any]) -> None:
    instance = {"prompt": prompt}
    if VALIDATOR.is_valid(instance):
        return
    found = of(instance)
    for at, item in enumerate(found.value["prompt"]):
        inner = resolve(instance, found.original(("prompt", at)))
        assert item == inner or len(inner) > SHORT


def test_an_item_that_is_wrong_beside_others() -> None:
    found = of({"prompt": [1] * 1000 + ["a"]} | {"few": []})
    assert found.value["prompt"] == [1, "a"]
    assert found.original(("prompt", 1)) == ("prompt", 1000)
