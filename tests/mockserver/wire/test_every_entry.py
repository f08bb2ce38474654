"""Every entry of the three catalogues, behind the real server, in the raw bytes of a socket."""

from collections.abc import Iterator
from typing import Any

import pytest

from wafermock.mockserver.wire import DEFECTS, DELIVERIES, Catalogue
from wafermock.spec import load_contract

from .asked import asking
from .bench import Bench
from .looks import CASES, Case, looks
from .looks.before import DIFFER, PROMPT, STREAM, another_s, ask_another

TEXT_PATH = "/v1/completions"
OWN = asking(PROMPT, TEXT_PATH)


@pytest.fixture(scope="module")
def bench(failures: Catalogue, slow_mock: Any) -> Iterator[Bench]:
    catalogues = {"failure": failures, "delivery": DELIVERIES, "defect": DEFECTS}
    with Bench(slow_mock, catalogues) as bench:
        yield bench


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_entry(case: Case, bench: Bench) -> None:
    plain = bench.get(case.asked)
    assert plain.whole
    assert plain.ended == "closed"
    if case.before:
        case.before(bench)
    assert case.look(bench.get(case.asked, case.kind, case.text), plain)
    assert looks(case.look, plain, plain) == case.usual


def test_every_entry_is_looked_at() -> None:
    """Whoever adds an entry to a catalogue says here what its bytes look like."""
    looked = {(case.kind, case.entry) for case in CASES}
    errors = load_contract("observed").errors
    from wafermock.mockserver.wire import failure_catalogue

    there_are = (failure_catalogue(errors), DELIVERIES, DEFECTS)
    assert looked == {(entries.noun, name) for entries in there_are for name in entries}


@pytest.mark.parametrize(("text", "same"), [(text, same) for text, _, same in DIFFER])
def test_what_does_not_differ_is_left_alone(text: str, same: Any, bench: Bench) -> None:
    assert bench.get(same, "defect", text).body == bench.get(same).body


def test_every_answer_to_what_should_repeat_is_another(bench: Bench) -> None:
    words = [bench.get(OWN, "defect", "unrepeatable").text for _ in range(5)]
    assert len(set(words)) == 5


def test_only_the_kind_that_was_chosen_is_taken_for_good(bench: Bench) -> None:
    assert bench.get(asking(b"{"), "defect", "malformed_accepted:kind=gzip").status == 400


# ---------------------------------------------------------------------- between calls


def test_the_form_of_a_mixed_up_answer_is_what_was_asked_for(bench: Bench) -> None:
    own = bench.get(asking(STREAM))
    ask_another("mixed_up")(bench)  # a whole answer
    got = bench.get(asking(STREAM), "defect", "mixed_up")
    assert (got.text, got.usage) == (own.text, own.usage)


def test_calls_of_other_scopes_do_not_mix(bench: Bench) -> None:
    own = bench.get(OWN)
    ask_another("mixed_up")(bench)
    elsewhere = asking(PROMPT, f"/t/elsewhere{TEXT_PATH}")
    assert bench.get(elsewhere, "defect", "mixed_up").body == own.body
    assert another_s(bench.get(OWN, "defect", "mixed_up"), own)


def test_a_list_of_models_does_not_mix(bench: Bench) -> None:
    models = asking(b"", "/v1/models")
    models = type(models)("GET", models.path, "", {"authorization": "Bearer key"})
    plain = bench.get(models)
    ask_another("mixed_up")(bench)
    assert bench.get(models, "defect", "mixed_up").body == plain.body
    assert another_s(bench.get(OWN, "defect", "mixed_up"), plain)


def test_one_call_is_spoilt_for_each_that_hangs_up(bench: Bench) -> None:
    bench.hang_up(asking(STREAM))
    statuses = [bench.get(OWN, "defect", "hang_up_spoils").status for _ in range(2)]
    assert statuses == [500, 200]
    bench.hang_up(asking(STREAM, "/t/elsewhere/v1/chat/completions"))
    assert bench.get(OWN, "defect", "hang_up_spoils").status == 200
    there = asking(PROMPT, f"/t/elsewhere{TEXT_PATH}")
    assert bench.get(there, "defect", "hang_up_spoils").status == 500


# ---------------------------------------------------------------------- together


def test_an_error_that_is_chosen_is_delivered_as_chosen(bench: Bench) -> None:
    got = bench.get(
        OWN, "failure", "server_error", headers={"x-wafermock-delivery": "close_delimited"}
    )
    assert got.status == 500
    assert "content-length" not in got.headers
    got = bench.get(OWN, "failure", "server_error", headers={"x-wafermock-defect": "error_shape"})
    assert (got.status, got.value) == (500, {"ok": False, "errors": [1]})
