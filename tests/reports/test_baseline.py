"""What is known to be broken."""

import contextlib
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.reports.baseline import BaselineError, apply, first, read
from wafermock.reports.run import Finding, Run

from .sample_runs import clean_run, hostile_run, large_run, rich_run, small_run

TODAY = date(2026, 11, 30)


def applied(run: Run, text: str, today: date = TODAY) -> tuple[Run, tuple[str, ...]]:
    return apply(run, read(text.encode(), "baseline.yaml"), today)


def entry(**keys: str) -> str:
    lines = [f"{key}: {value}" for key, value in {"rule": "X", "reason": "why", **keys}.items()]
    return "entries:\n  - " + "\n    ".join(lines) + "\n"


@pytest.mark.parametrize("make", [rich_run, hostile_run, large_run])
def test_the_first_baseline_knows_everything(make: object) -> None:
    assert callable(make)
    run, notes = applied(make(), first(make()))
    assert all(finding.known == "found on 2026-11-30" for finding in run.findings)
    assert run.conforms
    assert notes == ()


def test_the_first_baseline_of_nothing_is_a_baseline() -> None:
    assert applied(clean_run(), first(clean_run()))[1] == ()


def test_a_reason_for_all() -> None:
    run, _ = applied(small_run(), first(small_run(), "ticket 12"))
    assert [finding.known for finding in run.findings] == ["ticket 12"]


@given(st.tuples(*[st.text(st.characters()) for _ in range(3)]))
def test_the_first_baseline_matches_any_text_literally(key: tuple[str, str, str]) -> None:
    rule, location, kind = key
    found = Finding("F1", rule or "R", "FAIL", location or "l", kind or "k", "", "", "")
    if not all(text.strip() for text in found.key):
        return
    other = replace(found, kind=found.kind + "x")
    run = replace(small_run(), findings=(found,))
    marked, _ = applied(replace(run, findings=(found, other)), first(run))
    assert [bool(finding.known) for finding in marked.findings] == [True, False]


def test_new_findings_fail() -> None:
    run, _ = applied(rich_run(), first(small_run()))
    assert [finding.id for finding in run.findings if finding.known] == ["F-001"]
    assert not run.conforms


def test_an_earlier_baseline_counts_no_more() -> None:
    run, _ = applied(rich_run(), "entries: []")
    assert not any(finding.known for finding in run.findings)


@pytest.mark.parametrize(
    ("keys", "known"),
    [
        ({"rule": "SEQ-ROLE-FIRST"}, True),
        ({"rule": "SEQ-*"}, True),
        ({"rule": "seq-role-first"}, False),
        ({"rule": "SEQ-*", "kind": "streamed"}, True),
        ({"rule": "SEQ-*", "kind": "stream"}, False),
        ({"rule": "SEQ-*", "location": '"#/components/schemas/*/role"'}, True),
        ({"rule": "SEQ-*", "location": '"#/components"'}, False),
        ({"rule": "SEQ-ROLE-FIRS[ST]"}, True),
    ],
)
def test_patterns(keys: dict[str, str], known: bool) -> None:
    run, _ = applied(small_run(), entry(**keys))
    assert bool(run.findings[0].known) is known


@pytest.mark.parametrize(
    ("expires", "known"), [("2026-11-29", False), ("2026-11-30", True), ("2027-01-01", True)]
)
def test_an_entry_counts_to_its_last_day(expires: str, known: bool) -> None:
    run, notes = applied(small_run(), entry(rule="SEQ-ROLE-FIRST", expires=expires))
    assert bool(run.findings[0].known) is known
    told = (
        "baseline.yaml:2: the entry for SEQ-ROLE-FIRST expired on 2026-11-29; "
        "it would have matched 1 finding: mend them, or renew it"
    )
    assert notes == (() if known else (told,))


def test_stale_entries_are_named() -> None:
    _, notes = applied(small_run(), entry(rule="ENC-GZIP"))
    assert notes == (
        "baseline.yaml:2: the entry for ENC-GZIP is stale: it matches nothing any more; remove it",
    )
    _, (note,) = applied(small_run(), entry(rule="ENC-GZIP", expires="2020-01-01"))
    assert note.endswith("expired on 2020-01-01; it matches nothing any more: remove it")


def test_what_a_smaller_run_did_not_ask_for_makes_nothing_stale() -> None:
    run = small_run()
    assert run.cells
    unasked = entry(rule="ENC-GZIP", kind="a kind that no quick run asks")
    _, notes = applied(run, unasked)
    assert notes == ()
    cell = replace(run.cells[0], kind="a kind that no quick run asks")
    _, (note,) = applied(replace(run, cells=(cell,)), unasked)
    assert "is stale" in note


def test_misspelt_rules_are_named() -> None:
    _, notes = applied(small_run(), entry(rule="ENC-GZPI"))
    assert notes == (
        "baseline.yaml:2: the entry for ENC-GZPI names no rule of this run "
        "(is ENC-GZIP meant?): mend or remove it",
    )


def test_what_was_not_judged_makes_nothing_stale() -> None:
    run = small_run()
    not_run = replace(run.verdicts[1], state="NOT RUN")
    assert (
        applied(replace(run, verdicts=(run.verdicts[0], not_run)), entry(rule="ENC-GZIP"))[1] == ()
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "entries:\n", "version: 1\nentries: []\n"])
def test_empty_baselines(text: str) -> None:
    assert read(text.encode(), "b.yaml").entries == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- rule: X\n", "b.yaml:1: a baseline is a mapping with version and entries"),
        ("entries: 7\n", "b.yaml:1: `entries` is no list: begin each entry with `- rule: ...`"),
        ("version: 1\n", "b.yaml:1: `entries` is missing: a list of what is known"),
        ("version: 2\nentries: []\n", "b.yaml:1: `version` is not 1: this Wafermock is too old"),
        ("entries:\n- X\n", "b.yaml:2: an entry is a mapping with rule and location"),
        ("entries:\n- rule: X\n", "b.yaml:2: `reason` is missing: say why it is accepted"),
        ("entries:\n- reason: X\n", "b.yaml:2: `rule` is missing: say the id of a rule"),
        ("entries:\n- rule: X\n  reasn: y\n", "b.yaml:3: an entry has no key `reasn`; is `reason`"),
        ("entries:\n- rule: X\n  zzz: y\n", "b.yaml:3: an entry has no key `zzz`; there are rule"),
        ("entries:\n- rule: X\n  rule: y\n", "b.yaml:3: `rule` stands twice: keep one"),
        ("entries:\n- rule: X\n  reason: ''\n", "b.yaml:3: `reason` is no text: write one"),
        ("entries:\n- rule: X\n  reason: y\n  location: #/a\n", "b.yaml:4: `location` is no text"),
        ("entries:\n- rule: [X]\n  reason: y\n", "b.yaml:2: `rule` is no text"),
        (
            "entries:\n- rule: X\n  reason: y\n  expires: soon\n",
            "b.yaml:4: `expires` is no date: 'soon'; write year, month and day, as 2027-03-31",
        ),
        ("entries:\n- rule: X\n  reason: y\n  expires: 2026-02-30\n", "b.yaml:4: `expires` is no"),
        ("entries:\n- rule: X\n  reason: y\n  expires: 20261231\n", "b.yaml:4: `expires` is no"),
        ("entries: [\nrule: }\n", "b.yaml:2: this is no YAML"),
        ("entries: \x00\n", "b.yaml: this is no YAML"),
        ("[" * 5000, "b.yaml"),
        ("? [a]\n: b\n", "b.yaml:1: a baseline has no key `(no text)`"),
        ("entries: *nobody\n", "b.yaml:1: this is no YAML"),
    ],
)
def test_bad_baselines_tell_where_and_what_to_do(text: str, message: str) -> None:
    with pytest.raises(BaselineError) as raised:
        read(text.encode(), "b.yaml")
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("data", [b"\xff\xfe\xff", b"entries: \xff\n", b"\x80"])
def test_bytes_that_are_no_text(data: bytes) -> None:
    with pytest.raises(BaselineError, match=r"^b\.yaml: this is no YAML"):
        read(data, "b.yaml")


@given(st.binary(max_size=60) | st.text(st.sampled_from("entris:-[]{}&*! \n\"'#")).map(str.encode))
def test_anything_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(BaselineError):
        assert read(data, "b.yaml").name == "b.yaml"
