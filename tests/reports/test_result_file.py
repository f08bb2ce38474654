"""The result file: written, read, and described by its schema."""

import json
import string
import types
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from wafermock.reports import run as model
from wafermock.reports.result_file import ResultFileError, read, schema, write
from wafermock.reports.run import Part, Rule, Run, Traffic

from .sample_runs import HOSTILE_BODIES, clean_run, hostile_run, large_run, rich_run, small_run

MAKERS = (small_run, rich_run, clean_run, hostile_run)
MODEL = [kind for kind in vars(model).values() if isinstance(kind, type) and is_dataclass(kind)]
VALIDATOR = Draft202012Validator(schema())


def document(run: Run | None = None) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(write(run or small_run()))
    return made


def refused(data: bytes | dict[str, Any], name: str = "run.json") -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(ResultFileError) as caught:
        read(raw, name)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------------- there and back


@pytest.mark.parametrize("make", MAKERS)
def test_a_run_comes_back_as_it_was(make: Any) -> None:
    run = make()
    data = write(run)
    assert read(data) == run
    assert write(read(data)) == data
    data.decode("ascii")
    VALIDATOR.validate(json.loads(data))


@pytest.mark.parametrize("body", [*HOSTILE_BODIES, b"x" * 10_000_000, b"\xff" * 1_000_000])
def test_every_body_is_kept_whole(body: bytes) -> None:
    exchange = replace(small_run().findings[0].traffic[0], parts=(Part(0.5, body),))
    run = small_run()
    run = replace(run, findings=(replace(run.findings[0], traffic=(exchange,)),))
    assert read(write(run)).findings[0].traffic[0].body == body


TEXTS = st.text(st.characters(), max_size=20)
SENSIBLE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=20),
    bytes: st.binary(max_size=40),
    int: st.integers(-(2**70), 2**70),
    float: st.floats(allow_nan=False, allow_infinity=False),
    Any: st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    ),
}


def likely(kind: Any) -> st.SearchStrategy[Any]:
    """Return values of what the model declares somewhere."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in SENSIBLE:
        return SENSIBLE[kind]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        made: Any = kind
        return st.builds(made, **{name: likely(hint) for name, hint in hints.items()})
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, types.UnionType):
        return st.none() | likely(inner[0])
    if origin is tuple and inner[1:] == (Ellipsis,):
        return st.lists(likely(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(likely(each) for each in inner))
    return st.dictionaries(st.text(max_size=8), likely(inner[1]), max_size=2)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Any run that is consistent: rules have ids of their own, and nothing names an unknown one."""
    run: Run = draw(likely(Run))
    rules = {rule.id: rule for rule in (*run.rules, draw(likely(Rule)))}
    name = next(iter(rules))
    verdicts = dict(zip(rules, run.verdicts, strict=False))
    findings = {finding.id: replace(finding, rule=name) for finding in run.findings}
    return replace(
        run,
        rules=tuple(rules.values()),
        verdicts=tuple(replace(verdict, rule=rule) for rule, verdict in verdicts.items()),
        findings=tuple(findings.values()),
    )


@given(runs())
@settings(deadline=None, max_examples=30)
def test_any_run_comes_back_as_it_was(run: Run) -> None:
    data = write(run)
    assert read(data) == run
    assert write(read(data)) == data


def test_the_same_run_gives_the_same_bytes() -> None:
    run = rich_run()
    turned = replace(
        run,
        timings=dict(reversed(list(run.timings.items()))),
        tool=replace(run.tool, libraries=dict(reversed(list(run.tool.libraries.items())))),
        cost=replace(run.cost, seconds=5),
    )
    whole = replace(run, cost=replace(run.cost, seconds=5.0))
    assert turned == whole
    assert write(turned) == write(whole)


def test_half_a_surrogate_pair_comes_back() -> None:
    run = replace(small_run(), notes=("a \ud800 b \udfff c",))
    assert read(write(run)) == run


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"began": float("nan")}, "/began: nan"),
        ({"settings": {"a": [1, {2}]}}, "/settings/a/1: set"),
        ({"settings": {1: 2}}, "/settings: the key 1"),
        ({"settings": {"a": b""}}, "/settings/a: bytes"),
    ],
)
def test_what_json_cannot_carry_is_not_written(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        write(replace(small_run(), **change))


# ---------------------------------------------------------------------- the schema


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("kind", MODEL)
def test_the_schema_describes_the_model(kind: Any) -> None:
    """Every field is there, and those without a default are required."""
    described = schema() if kind is Run else schema()["$defs"][kind.__name__]
    own = {"format", "version"} if kind is Run else set()
    names = [field.name for field in fields(kind)]
    assert [name for name in described["properties"] if name not in own] == names
    needed = [field.name for field in fields(kind) if not _has_default(field)]
    assert [name for name in described["required"] if name not in own] == needed
    assert described["description"]


def _has_default(field: Any) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def test_the_schema_knows_the_version() -> None:
    assert schema()["$id"].endswith(f":{model.VERSION}")
    for name in ("State", "Level", "Meant"):
        assert sorted(schema()["$defs"][name]["enum"]) == sorted(get_args(getattr(model, name)))


def test_a_large_run_is_valid() -> None:
    VALIDATOR.validate(json.loads(write(large_run(200))))


@pytest.mark.parametrize("change", [
    {"version": "2.0"}, {"rules": {}}, {"seed": "1"}, {"cost": {"requests": -1}}, {"format": "x"},
    {"verdicts": [{"rule": "A", "state": "BAD"}]}, {"timings": {"a": {"count": 1}}},
])  # fmt: skip
def test_the_schema_refuses(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({**document(), **change})


# ---------------------------------------------------------------------- files that are none


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "run.json: the file is empty"),
        (b" \n", "run.json: the file is empty"),
        (b"\xff\xfe{}", "run.json: byte 0 is no UTF-8"),
        (b'{"a":\n nope}', "run.json: line 2, column 2: this is no JSON (Expecting value)"),
        (b"[" * 200_000, "run.json: the JSON is nested too deeply"),
        (b'{"a": NaN}', "run.json: NaN is no JSON"),
        (b'{"a": 1, "b": 2, "a": 3}', "run.json: the key 'a' stands twice in one object"),
        (b"[]", 'run.json: this is no result file: it has no "format": "wafermock-run"'),
        (b'{"openapi": "3.1.0"}', 'run.json: this is no result file: it has no "format": '),
        (b'{"seed": ' + b"9" * 5000 + b"}", "run.json: Exceeds the limit (4300 digits)"),
    ],
)
def test_no_result_file(data: bytes, complaint: str) -> None:
    assert refused(data).startswith(complaint)


def test_a_file_of_a_later_version() -> None:
    complaint = refused({**document(), "version": "2.0"})
    assert complaint.startswith("run.json: /version: version 2.0 is newer than 1.0")
    assert "use a newer one" in complaint
    assert read(json.dumps({**document(), "version": "1.99"}).encode()) == small_run()
    for version in (None, 1, "", "1", "x.y", "1.0.0", "-1.0", "².0", "9" * 5000 + ".0"):
        assert "/version: a version like" in refused({**document(), "version": version})


def test_keys_that_are_not_known_are_passed_over() -> None:
    def spread_over(value: Any) -> Any:
        if isinstance(value, list):
            return [spread_over(item) for item in value]
        if isinstance(value, dict):
            inside = {key: spread_over(item) for key, item in value.items()}
            return {**inside, "new": [1], **({"facts": {}} if "facts" in value else {})}
        return value

    plain = document()
    plain.update(settings={}, timings={})
    plain["tool"]["libraries"] = {}
    changed = spread_over(plain)
    changed.update(settings={}, timings={})
    changed["tool"]["libraries"] = {}
    assert read(json.dumps(changed).encode()) == read(json.dumps(plain).encode())


def test_keys_that_have_a_default_may_be_absent() -> None:
    short = {key: document()[key] for key in (*schema()["required"],)}
    assert read(json.dumps(short).encode()).findings == ()


@pytest.mark.parametrize(
    ("pointer", "value", "reason"),
    [
        ("/seed", "7", 'an integer is wanted, not "7"'),
        ("/seed", 1.5, "an integer is wanted, not 1.5"),
        ("/seed", True, "an integer is wanted, not a boolean"),
        ("/began", None, "a number is wanted, not null"),
        ("/began", 10**400, "the number is too large"),
        ("/rules", {}, "an array is wanted, not an object"),
        ("/rules/0", [], "an object is wanted, not an array"),
        ("/rules/1/level", "WOULD", 'one of MUST, SHOULD, MAY is wanted, not "WOULD"'),
        ("/rules/1/level", [], "one of MUST, SHOULD, MAY is wanted, not an array"),
        ("/rules/1/id", "SEQ-ROLE-FIRST", "'SEQ-ROLE-FIRST' is there already"),
        ("/verdicts/1/rule", "NO-SUCH", "there is no rule 'NO-SUCH' in /rules"),
        ("/findings/0/rule", "NO-SUCH", "there is no rule 'NO-SUCH' in /rules"),
        ("/findings/0/traffic/0/status", "x", 'an integer is wanted, not "x"'),
        ("/findings/0/traffic/0/headers/0", ["a"], "2 items are wanted, not 1"),
        ("/findings/0/traffic/0/request_body", "abc", "bytes are wanted: "),
        ("/findings/0/traffic/0/request_body", {"text": "a", "base64": ""}, "bytes are wanted: "),
        ("/findings/0/traffic/0/request_body/base64", "~~", "this is no base64"),
        ("/findings/0/traffic/0/request_body/text", "\ud800", "half a surrogate pair is no text"),
        ("/timings/first_byte/p50", "fast", 'a number is wanted, not "fast"'),
        ("/timings/first_byte/histogram/3/1", None, "an integer is wanted, not null"),
        ("/tool/libraries/a~1b", 3, "a string is wanted, not 3"),
        ("/notes/0", "n" * 100, None),
        ("/notes", "n" * 100, f'an array is wanted, not "{"n" * 59}...'),
    ],
)
def test_the_place_is_named(pointer: str, value: object, reason: str | None) -> None:
    broken = document()
    *way, last = (key.replace("~1", "/") for key in pointer.split("/")[1:])
    at: Any = broken
    for key in way:
        at = at[int(key)] if isinstance(at, list) else at[key]
    if last in ("base64", "text"):
        at.clear()
    if isinstance(at, list):
        at[int(last)] = value
    else:
        at[last] = value
    if reason is None:
        read(json.dumps(broken).encode())
    else:
        assert refused(broken).startswith(f"run.json: {pointer}: {reason}")


def test_a_key_that_must_be_there() -> None:
    broken = document()
    del broken["findings"][0]["traffic"][0]["method"]
    assert refused(broken) == "run.json: /findings/0/traffic/0: the key 'method' is missing"


@given(st.binary(max_size=200) | st.text(string.printable, max_size=80).map(str.encode))
@settings(deadline=None)
def test_any_other_bytes_are_refused(data: bytes) -> None:
    refused(data)


def test_traffic_of_nothing() -> None:
    run = small_run()
    silent = Traffic("E-1", "c", "k", "GET", "/", status=None, error="refused")
    run = replace(run, findings=(replace(run.findings[0], traffic=(silent,)),))
    assert read(write(run)) == run


def test_the_schema_is_in_the_package() -> None:
    home = Path(model.__file__).parent
    assert (home / "run.schema.json").is_file()
