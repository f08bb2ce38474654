"""Choosing from a catalogue, and the pages of the docs."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.wire import (
    DEFECTS,
    DELIVERIES,
    Catalogue,
    CatalogueError,
    Chosen,
    failure_catalogue,
    happening,
)
from wafermock.mockserver.wire.pages import pages
from wafermock.spec import load_contract

DOCS = Path(__file__).parents[3] / "docs"
FAILURES = failure_catalogue(load_contract("documented").errors)
ALL = [(catalogue, entry) for catalogue in (FAILURES, DELIVERIES, DEFECTS)
       for entry in catalogue.values()]  # fmt: skip


def test_parameters_and_defaults() -> None:
    stall = FAILURES.parse("stall")
    assert (dict(stall.values), stall.rate) == ({"after": 3, "seconds": 30.0}, 1)
    stall = FAILURES.parse(" stall : after = 5 , seconds=200ms, rate=30% ")
    assert (dict(stall.values), stall.rate) == ({"after": 5, "seconds": 0.2}, 0.3)
    assert FAILURES.choose("stall", after=5, seconds=0.2, rate=0.3) == stall
    assert FAILURES.parse("reset-in-body").name == "reset_in_body"
    assert [c.name for c in DEFECTS.parse_all("same_id; usage_sum:by=3;")] == [
        "same_id",
        "usage_sum",
    ]
    assert DEFECTS.parse_all(" ") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stal", "there is no failure 'stal', did you mean 'stall'?; there are: context_length_"),
        ("", "there is no failure ''; there are: "),
        ("503", "no failure '503'; by their names, of this status there are: service_unavailable"),
        ("599", "there is no failure '599'; there are: "),
        ("stall:", "failure 'stall:': '' is not key=value; write it as stall:after=3"),
        ("stall:3", "failure 'stall:3': '3' is not key=value; write it as stall:after=3"),
        ("no_body:x", "failure 'no_body:x': 'x' is not key=value; write it as no_body or "),
        ("stall:aftr=3", "failure stall: there is no 'aftr'; it takes after, seconds, rate"),
        ("stall:after=x", "failure stall: after='x' is no whole number from 0 to 1000000000"),
        ("stall:after=-1", "failure stall: after='-1' is no whole number from 0"),
        ("stall:after=1.5", "failure stall: after='1.5' is no whole number"),
        ("stall:after=" + "9" * 5000, "failure stall: after='9999"),
        ("stall:after=٣", "failure stall: after='٣' is no whole number"),
        ("stall:seconds=soon", "failure stall: seconds: 'soon' is not a duration"),
        ("stall:after=1,after=2", "failure 'stall:after=1,after=2': after is given twice"),
        ("stall:rate=2", "failure stall: rate='2' is not from 0 to 1, as 0.3 or 30%"),
        ("stall:rate=nan", "failure stall: rate='nan' is not from 0 to 1"),
        ("stall:rate=x%", "failure stall: rate='x%' is not from 0 to 1"),
        ("html_page:status=501", "failure html_page: status='501' is not one of 403, 500, 502"),
        ("error_event:error=servererror", "did you mean 'server_error'?"),
    ],
)
def test_what_cannot_be_chosen(text: str, message: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        FAILURES.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(("catalogue", "entry"), ALL, ids=[entry.name for _, entry in ALL])
def test_an_entry_is_described_and_can_be_written_again(catalogue: Catalogue, entry: Any) -> None:
    assert entry.says.rstrip(")").endswith(".")
    assert entry.advice.rstrip(")").endswith(".")
    chosen = catalogue.parse(entry.name)
    assert str(chosen) == entry.name
    for parameter in entry.parameters:
        assert parameter.default is None or parameter.read(parameter.default) == parameter.default
        other = {"number": parameter.least + 1, "seconds": 1.25, "text": "x"}.get(
            parameter.kind, parameter.choices[-1] if parameter.choices else ""
        )
        chosen = catalogue.choose(entry.name, **{parameter.name: other}, rate=0.25)
        assert catalogue.parse(str(chosen)) == chosen


def test_groups_follow_the_rules() -> None:
    assert list(DEFECTS.groups) == [
        "SCHEMA", "FRAMING", "SEQUENCE", "SEMANTICS", "ERRORS", "ENCODING", "METAMORPHIC",
        "HEADERS",
    ]  # fmt: skip
    assert sum(map(len, DEFECTS.groups.values())) == len(DEFECTS)


# ---------------------------------------------------------------------- rates


def hits(chosen: Chosen, count: int = 1000) -> list[int]:
    return [n for n in range(count) if chosen.happens(b"call", n)]


def test_a_rate_is_kept_and_repeats() -> None:
    some = FAILURES.parse("stall:rate=0.3")
    assert 250 < len(hits(some)) < 350
    assert hits(some) == hits(FAILURES.parse("stall:rate=30%"))
    assert hits(FAILURES.parse("stall:rate=0")) == []
    assert len(hits(FAILURES.parse("stall"))) == 1000
    # Figures of any machine and version: they may never change.
    assert hits(some, 20) == [2, 3, 4, 5, 8, 13, 14]


def test_rates_of_calls_and_entries_are_apart() -> None:
    one, other = FAILURES.parse("stall:rate=0.5"), FAILURES.parse("crawl:rate=0.5")
    assert hits(one) != hits(other)
    assert [one.happens(bytes([n])) for n in range(99)] != [one.happens(b"x", n) for n in range(99)]
    assert happening((one, other), b"call", 5) == tuple(
        choice for choice in (one, other) if choice.happens(b"call", 5)
    )


@given(st.floats(0, 1), st.floats(0, 1), st.binary(max_size=4), st.integers(0, 9))
def test_a_higher_rate_hits_what_a_lower_one_does(
    low: float, high: float, identity: bytes, position: int
) -> None:
    low, high = sorted((low, high))
    if FAILURES.choose("stall", rate=repr(low)).happens(identity, position):
        assert FAILURES.choose("stall", rate=repr(high)).happens(identity, position)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    for catalogue in (FAILURES, DELIVERIES, DEFECTS):
        for given_text in (text, f"stall:{text}", f"bom:{text}", f"same_id:{text}"):
            try:
                catalogue.parse(given_text)
            except CatalogueError as error:
                said = str(error)
            else:
                continue
            assert len(said) > 20


# ---------------------------------------------------------------------- pages


def test_the_pages_are_current() -> None:
    """To write them anew: `python -m wafermock.mockserver.wire.pages docs`."""
    for name, text in pages(load_contract("documented").errors).items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"docs/{name} is out of date"


def test_a_page_has_every_entry() -> None:
    texts = pages(load_contract("documented").errors)
    for name, catalogue in zip(texts, (FAILURES, DELIVERIES, DEFECTS), strict=True):
        for entry in catalogue:
            assert texts[name].count(f"| `{entry}` |") == 1
