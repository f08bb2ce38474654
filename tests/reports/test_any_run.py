"""Any run, whatever texts are in it, is written in every format and read back."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wafermock.reports import (
    badge,
    compare_html,
    compare_markdown,
    github,
    junit,
    markdown,
    sarif,
    summary,
    text,
)
from wafermock.reports.compare import compare
from wafermock.reports.markdown_text import size
from wafermock.reports.run import (
    STATES,
    Budget,
    Capability,
    Cost,
    Endpoint,
    Exercised,
    Finding,
    Part,
    Rule,
    Run,
    Spread,
    Tool,
    Traffic,
    Verdict,
)
from wafermock.reports.visible import visible

from .readers import read_html, read_junit, read_markdown, read_sarif
from .sample_runs import HALF, HOSTILE_BODIES, HOSTILE_TEXTS, WORKFLOW
from .test_github import read as read_github

# Every character, half surrogate pairs as well; what means something in a format, often.
SIGNS = "`~|\\[](){}<>!@#&%:,;*_-+=.\n\r\t\x00\x1b\u202e\u2028\ud800 /'\""
TEXTS = st.one_of(
    st.text(st.characters(), max_size=12),
    st.text(st.sampled_from(SIGNS), max_size=20),
    st.sampled_from([*(one[:400] for one in HOSTILE_TEXTS), WORKFLOW, HALF]),
)  # fmt: skip
BODIES = st.binary(max_size=40) | st.sampled_from(HOSTILE_BODIES)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple)
IDS = st.sampled_from(["RULE-1", "RULE-2", "é|`\x1b\n"])
COUNTS = st.integers(0, 10**6)
TRAFFIC = st.builds(
    Traffic,
    TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, PAIRS, BODIES, st.none() | st.integers(100, 599), TEXTS,
    PAIRS, st.lists(st.builds(Part, st.floats(0, 9), BODIES), max_size=2).map(tuple),
    st.sampled_from(["complete", "cut", "timeout", "left", "overlong"]), TEXTS, COUNTS,
)  # fmt: skip
FINDINGS = st.builds(
    Finding,
    TEXTS, IDS, st.sampled_from(["FAIL", "WARN", "INFO"]), TEXTS, TEXTS, TEXTS, TEXTS, TEXTS,
    st.lists(TRAFFIC, max_size=2).map(tuple), COUNTS, TEXTS, TEXTS, TEXTS,
)  # fmt: skip
LEVELS = st.sampled_from(["MUST", "SHOULD", "MAY"])
RULES = st.lists(st.builds(Rule, IDS, TEXTS, LEVELS, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple)
VERDICTS = st.lists(
    st.builds(Verdict, IDS, st.sampled_from(STATES), COUNTS, COUNTS, why=TEXTS), max_size=2
).map(tuple)
SPREADS = st.builds(Spread, COUNTS, *[st.floats(0, 1e9)] * 3)
RUNS = st.builds(
    Run,
    tool=st.builds(Tool, TEXTS, TEXTS, TEXTS),
    endpoint=st.builds(Endpoint, TEXTS, TEXTS, TEXTS),
    began=st.floats(allow_nan=False),
    seed=st.integers(),
    budget=st.builds(Budget, TEXTS),
    cost=st.builds(Cost, COUNTS, COUNTS, COUNTS, st.floats(0, 1e9)),
    rules=RULES,
    verdicts=VERDICTS,
    findings=st.lists(FINDINGS, max_size=2).map(tuple),
    capabilities=st.lists(
        st.builds(Capability, TEXTS, st.sampled_from(STATES), TEXTS), max_size=1
    ).map(tuple),
    timings=st.dictionaries(TEXTS, SPREADS, max_size=1),
    coverage=st.lists(st.builds(Exercised, TEXTS, TEXTS, TEXTS, COUNTS), max_size=2).map(tuple),
    ended_by=st.sampled_from(["done", "budget", "interrupted", "unreachable"]),
    notes=st.lists(TEXTS, max_size=1).map(tuple),
)
EXAMPLES = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@EXAMPLES
@given(RUNS)
def test_every_format_is_read_back(run: Run) -> None:
    judged = summary.judged(run)
    read_markdown(markdown.render(run))
    assert size(markdown.render(run, 3000)) <= 3000
    cases = sum(suite.tests for suite in read_junit(junit.render(run)))
    assert cases == len(judged) + (run.ended_by in ("interrupted", "unreachable"))
    assert len(read_sarif(sarif.render(run))["results"]) == len(run.findings)
    read_github(github.render(run))
    shown = text.render(run, 60)
    assert visible(shown, lines=True) == shown
    assert len(text.render(run, quiet=True).splitlines()) == 1
    assert badge.badge(run)["schemaVersion"] == 1


@settings(EXAMPLES, max_examples=12)  # a strict parser of HTML takes its time
@given(RUNS, RUNS)
def test_comparisons_are_read_back(one: Run, other: Run) -> None:
    for named in ([("a", one), ("b", other)], [("b", other), ("a", one), ("c", replace(one))]):
        made = compare(named)
        read_markdown(compare_markdown.render(made))
        tree = read_html(compare_html.render(made))
        assert {element.tag for element in tree.iter()} & {"script", "img", "a", "iframe"} == set()


@EXAMPLES
@given(RUNS)
def test_reports_are_functions_of_the_run(run: Run) -> None:
    for render in (markdown.render, junit.render, sarif.render, github.render, text.render):
        assert render(run) == render(run)
