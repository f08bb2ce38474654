"""However an entry is chosen, the same happens: by option, by a script's rule, or armed.

By header each is looked at in test_every_entry.py.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver.acting import read_choices
from wafermock.mockserver.clock import Clock
from wafermock.mockserver.control.armed import Armed, Arming
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.script import Script, ScriptState
from wafermock.mockserver.service import Service
from wafermock.mockserver.wire import DEFECTS, DELIVERIES, Catalogue

from .asked import asking
from .bench import Bench
from .looks import CASES, Case
from .looks.before import CHAT, CONTINUE, EXPECTING, PROMPT
from .seen import Seen

# One look for each entry.
FIRST = list({(case.kind, case.entry): case for case in CASES}.values())
OWN = asking(PROMPT, "/v1/completions")


@pytest.fixture(scope="module")
def catalogues(failures: Catalogue) -> dict[str, Catalogue]:
    return {"failure": failures, "delivery": DELIVERIES, "defect": DEFECTS}


@pytest.fixture(scope="module")
def plain(slow_mock: Any, catalogues: dict[str, Catalogue]) -> Iterator[Callable[[Case], Seen]]:
    """`plain(case)`: what is answered where nothing is chosen."""
    with Bench(slow_mock, catalogues) as bench:
        asked = cache(lambda number: bench.get(FIRST[number].asked))
        yield lambda case: asked(FIRST.index(case))


@pytest.fixture(scope="module")
def bench_of_all(make_mock: Any, catalogues: dict[str, Catalogue]) -> Iterator[Bench]:
    mock = make_mock("observed", models="strict", api_key="key", max_body=100_000)
    with Bench(mock, catalogues) as bench:
        yield bench


@pytest.fixture
def bench(bench_of_all: Bench, tmp_path: Path) -> Bench:
    """A server where nothing is chosen, and that speaks slowly to those who ask for it."""
    bench_of_all.service.choices = bench_of_all.service.armed = None
    script(bench_of_all, tmp_path, slowly())
    return bench_of_all


def script(bench: Bench, folder: Path, *rules: Any) -> None:
    path = folder / "script.json"
    path.write_text(json.dumps({"rules": rules}))
    bench.mock.script = ScriptState(Script.load([path], bench.mock.contract))


def slowly(**more: Any) -> dict[str, Any]:
    """Return a rule for those who ask for slow speech; `more` are further keys of its reply."""
    pace = {"ttft": "1s", "tokens_per_second": 10}
    return {"match": {"last": {"contains": "slowly"}}, "reply": {"pace": pace, **more}}


def option(bench: Bench, **texts: str) -> None:
    given = {"delivery": "", "failure": "", "defect": "", **texts}
    bench.service.choices = read_choices(bench.mock.contract.errors, **given)


def arm(bench: Bench, kind: Any, text: str, **more: Any) -> None:
    bench.service.armed = bench.service.armed or Armed()
    chosen = bench.catalogues[kind].parse(text)
    bench.service.armed.arm(Arming(kind, text, chosen, **more))


def check(case: Case, bench: Bench, plain: Seen) -> None:
    if case.before:
        case.before(bench)
    assert case.look(bench.get(case.asked, case.kind, case.text, by_header=False), plain)


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_by_option(case: Case, bench: Bench, plain: Any) -> None:
    option(bench, **{case.kind: case.text})
    check(case, bench, plain(case))


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_armed(case: Case, bench: Bench, plain: Any) -> None:
    expected = plain(case)
    # What asks for no words uses up only what names an operation.
    bodiless = isinstance(case.asked, Request) and not case.asked.body
    named = {"operation": "*"} if bodiless else {}
    arm(bench, case.kind, case.text, times=None if case.before else 1, **named)
    check(case, bench, expected)
    if not case.before:
        assert bench.service.armed is not None
        assert bench.service.armed.listed == []  # it was used up, once


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_by_script(case: Case, bench: Bench, plain: Any, tmp_path: Path) -> None:
    """A rule is looked for once a request is found good: what is refused has none."""
    reply = {case.kind: case.text}
    script(bench, tmp_path, slowly(**reply) if case.asked == "slow stream" else {"reply": reply})
    expected = plain(case)
    if expected.status < 400 or case.entry == "oversize_accepted":
        check(case, bench, expected)
    else:
        got = bench.get(case.asked, case.kind, case.text, by_header=False)
        assert (got.status, got.body) == (expected.status, expected.body)


# ---------------------------------------------------------------------- what counts before what


def test_what_is_armed_counts_most_and_options_least(bench: Bench, tmp_path: Path) -> None:
    def says(text: str) -> str:
        return f"null_value:key={text}"

    def nulls(**headers: str) -> list[str]:
        value = bench.get(OWN, headers=headers).value
        return [name for name in ("id", "model", "object", "created") if value[name] is None]

    assert nulls() == []
    option(bench, defect=says("id"))
    assert nulls() == ["id"]
    script(bench, tmp_path, {"reply": {"defect": says("model")}})
    assert nulls() == ["model"]
    header = {"x-wafermock-defect": says("object")}
    assert nulls(**header) == ["object"]
    arm(bench, "defect", says("created"))
    assert nulls(**header) == ["created"]
    assert nulls(**header) == ["object"]


def test_kinds_do_not_push_each_other_out(bench: Bench, tmp_path: Path) -> None:
    option(bench, delivery="crlf")
    script(bench, tmp_path, {"reply": {"failure": "unfinished"}})
    streamed = asking({**PROMPT, "stream": True}, "/v1/completions")
    got = bench.get(streamed, headers={"x-wafermock-defect": "same_id"})
    assert b"\r\n\r\n" in got.body
    assert b"[DONE]" not in got.body
    assert got.completions[0]["id"].startswith("chatcmpl-00000000")


# ---------------------------------------------------------------------- rates


WAYS = ("option", "header", "script")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", ["failure server_error", "failure no_body", "defect nan"])
def test_a_rate_is_the_seed_s_and_repeats(
    way: str, text: str, make_mock: Any, tmp_path: Path
) -> None:
    """For the same calls again and for other ones; another seed hits others."""
    kind, name = text.split()
    choice = f"{name}:rate=0.4"

    def hits(seed: int) -> tuple[list[bool], list[bool]]:
        service = Service(make_mock("observed", seed=seed), Clock("frozen"))
        header = {f"x-wafermock-{kind}": choice} if way == "header" else {}
        if way == "option":
            given = {"delivery": "", "failure": "", "defect": "", kind: choice}
            service.choices = read_choices(service.mock.contract.errors, **given)
        if way == "script":
            path = tmp_path / "script.json"
            path.write_text(json.dumps({"rules": [{"reply": {kind: choice}}]}))
            service.mock.script = ScriptState(Script.load([path], service.mock.contract))

        def hit(prompt: str) -> bool:
            asked = asking({**PROMPT, "prompt": prompt}, "/v1/completions", **header)
            turn = service.begin(asked)
            acting = turn.acting
            return turn.answer.status == 500 or bool(acting and (acting.failure or acting.defects))

        return [hit("Rivers") for _ in range(60)], [hit(str(n)) for n in range(60)]

    same, others = hits(0)
    assert 12 < sum(same) < 36
    assert 12 < sum(others) < 36
    assert hits(0) == (same, others)
    assert hits(1) != (same, others)
    assert hits(1)[0] != same


# ---------------------------------------------------------------------- before a body is read


def continues(bench: Bench, asked: Any = EXPECTING, **headers: str) -> bool:
    return bench.get(asked, headers=headers).raw.startswith(CONTINUE)


def test_a_rate_of_requests_is_not_told_to_go_on(bench: Bench) -> None:
    option(bench, defect="no_continue:rate=0.5")
    assert {continues(bench) for _ in range(20)} == {True, False}


# Of a rule: what it asks for, what else it says, and whether the client is told to go on.
HEADS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({}, {}, False),
    ({"header": {"x-case": "a"}, "api_key": "key"}, {}, False),
    ({"operation": "createChatCompletion"}, {}, False),
    ({"scope": "mine"}, {}, True),
    ({"header": {"x-case": "b"}}, {}, True),
    ({"model": "*"}, {}, True),
    ({"header": {"x-case": "a"}, "stream": False}, {}, True),
    ({}, {"after": 1}, True),
    ({}, {"scenario": {"name": "s"}}, True),
    ({}, {"times": 1}, False),
]


@pytest.mark.parametrize(("match", "more", "told"), HEADS)
def test_a_rule_that_asks_for_more_than_the_head_comes_too_late(
    match: dict[str, Any], more: dict[str, Any], told: bool, bench: Bench, tmp_path: Path
) -> None:
    rule = {"match": match, "reply": {"defect": "no_continue"}, **more}
    script(bench, tmp_path, rule)
    assert continues(bench, **{"x-case": "a"}) is told
    script(bench, tmp_path, slowly(), rule)  # which may be the one that answers
    assert continues(bench, **{"x-case": "a"})


def test_a_rule_that_has_no_answer_left_is_passed_over(bench: Bench, tmp_path: Path) -> None:
    once = {"times": 1, "reply": {"defect": "no_continue"}}
    script(bench, tmp_path, once)
    assert [continues(bench) for _ in range(2)] == [False, True]
    script(bench, tmp_path, {"times": 1, "reply": {"text": "One."}}, once)
    assert [continues(bench) for _ in range(3)] == [True, False, True]


def test_what_is_used_up_for_a_head_is_used_up_for_its_call(bench: Bench) -> None:
    arm(bench, "defect", "no_continue", times=2)
    arm(bench, "failure", "server_error")
    assert [continues(bench) for _ in range(3)] == [False, False, True]
    assert bench.get(asking(CHAT)).status == 200  # the third was for the call before


def test_nothing_is_settled_where_nothing_is_chosen(bench: Bench, monkeypatch: Any) -> None:
    bench.mock.script = None
    asked: list[Any] = []
    at_head = bench.service.at_head
    monkeypatch.setattr(bench.service, "at_head", lambda head: asked.append(at_head(head)))
    assert continues(bench)
    assert asked == [None]
    bench.get(OWN)
    assert asked == [None]  # no other request has that looked at


def test_a_choice_that_cannot_be_read_is_the_answer_behind_the_100(bench: Bench) -> None:
    got = bench.get(EXPECTING, headers={"x-wafermock-defect": "no_continu"})
    assert got.raw.startswith(CONTINUE + b"HTTP/1.1 400 ")
    assert b"did you mean 'no_continue'?" in got.raw
