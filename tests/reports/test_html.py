"""The page, as a function of the run: what is in it, how large it is, and that it is HTML."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.reports.html import render
from wafermock.reports.html.anchors import anchors
from wafermock.reports.html.difference import marked
from wafermock.reports.html.fitting import Placed, in_turns
from wafermock.reports.html.markup import UNSEEN, block, line, plain, prose, shown
from wafermock.reports.html.plots import histogram, time_line
from wafermock.reports.html.quantities import seconds
from wafermock.reports.html.table import below, blocks
from wafermock.reports.html.view import copyable, entries, headline, shown_traffic
from wafermock.reports.run import Cell, Part, Rule, Run, Spread, Verdict

from . import golden
from .sample_runs import (
    HOSTILE_BODIES,
    HOSTILE_TEXTS,
    SCRIPT,
    clean_run,
    hostile_run,
    large_run,
    rich_run,
    small_run,
    traffic,
)
from .test_result_file import runs

MAKERS: tuple[Callable[[], Run], ...] = (small_run, rich_run, clean_run, hostile_run, large_run)
HTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {make.__name__: render(make()) for make in MAKERS}


@cache
def tree(page: str) -> Any:
    """Read a page as HTML; the first error of its syntax fails the test."""
    return html5lib.HTMLParser(strict=True).parse(page)


def text_of(page: str) -> str:
    return "".join(tree(page).find(f"{HTML}body").itertext())


# ---------------------------------------------------------------------- the page as a whole


def test_the_golden_page(pages: dict[str, str]) -> None:
    golden.check("small.html", pages["small_run"])


@pytest.mark.parametrize("make", MAKERS)
def test_the_page_is_html_and_not_too_large(make: Callable[[], Run], pages: dict[str, str]) -> None:
    page = pages[make.__name__]
    assert len(page.encode()) < 1_000_000
    assert page.startswith("<!doctype html>")
    tree(page)


@pytest.mark.parametrize("make", MAKERS)
def test_every_id_is_there_once_and_every_link_leads_somewhere(
    make: Callable[[], Run], pages: dict[str, str]
) -> None:
    nodes = list(tree(pages[make.__name__]).iter())
    ids = Counter(node.get("id") for node in nodes if node.get("id"))
    assert max(ids.values()) == 1
    links = {node.get("href") for node in nodes if node.tag == f"{HTML}a"}
    assert {link.removeprefix("#") for link in links} <= ids.keys()
    for node in nodes:
        for name in (node.get("aria-labelledby") or "").split():
            assert name in ids


def test_the_page_needs_nothing_else(pages: dict[str, str]) -> None:
    for page in pages.values():
        for node in tree(page).iter():
            assert node.tag.removeprefix(HTML) not in ("img", "iframe", "object", "embed", "base")
            assert node.get("src") is None
            assert node.get("style") is None
            assert not [name for name in node.attrib if str(name).startswith("on")]
            href = node.get("href") or "#"
            assert href.startswith(("#", "data:image/svg+xml,"))
        assert Counter(re.findall(r"<(script|style)\b", page)) == {"script": 1, "style": 1}
        assert "default-src 'none'" in page


@pytest.mark.parametrize("make", MAKERS)
def test_headings_do_not_skip_a_level(make: Callable[[], Run], pages: dict[str, str]) -> None:
    levels = [int(level) for level in re.findall(r"<h(\d)\b", pages[make.__name__])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    for before, after in pairwise(levels):
        assert after <= before + 1 or (before, after) == (3, 5)


def test_the_verdict_is_on_top() -> None:
    run = rich_run()
    page = render(run)
    assert "<h1>Does not conform</h1>" in page
    assert "<b>89</b><span>%</span>" in page
    assert (
        "81 of 91 judged rules kept, 7 MUST rules broken, 1 SHOULD rule broken, 1 MAY rule broken,"
        " 1 finding known to the baseline."
    ) in page
    assert "<h1>Conforms</h1>" in render(clean_run())
    found = tuple(replace(item, known="a reason") for item in run.findings)
    assert "<h1>Conforms</h1>" in render(replace(run, findings=found))
    warned = tuple(item for item in run.findings if item.state == "WARN")
    assert "<h1>Conforms, with warnings</h1>" in render(replace(run, findings=warned))
    nothing = replace(run, verdicts=(), findings=(), ended_by="unreachable")
    assert "<h1>Not judged</h1>" in render(nothing)
    assert "the endpoint could not be reached." in render(nothing)
    assert "the run was interrupted." in render(replace(run, ended_by="interrupted"))


def test_100_is_said_of_nothing_that_is_broken() -> None:
    run = clean_run()
    many = tuple(Rule(f"R{number}", "G", "MUST", "", "", "") for number in range(999))
    kept = tuple(Verdict(rule.id, "PASS", 1) for rule in many)
    run = replace(run, rules=many, verdicts=kept)
    assert headline(run, entries(run)).score == 100
    run = replace(run, verdicts=(*kept[1:], Verdict("R0", "FAIL", 0, 1)))
    assert headline(run, entries(run)).score == 99


def test_all_that_is_known_of_a_finding() -> None:
    run = small_run()
    found = run.findings[0]
    said = text_of(render(run))
    for text in (
        found.id, found.location, found.where, found.expected, found.actual, found.curl,
        found.python, run.rules[0].requirement, run.rules[0].source, run.rules[0].guards,
        found.traffic[0].request_body.decode(), "authorization: Bearer ***", "81 ms", "×12",
    ):  # fmt: skip
        assert text in said


def test_an_empty_run_has_a_page() -> None:
    run = replace(
        small_run(), rules=(), verdicts=(), findings=(), cells=(), capabilities=(), timings={},
        coverage=(), notes=(), settings={},
    )  # fmt: skip
    page = render(run)
    tree(page)
    assert 'href="#table"' not in page


@given(runs())
@settings(deadline=None, max_examples=12)
def test_any_run_has_a_page(run: Run) -> None:
    page = render(run)
    page.encode("utf-8")
    tree(page)


def test_the_page_is_a_function_of_the_run() -> None:
    assert render(rich_run()) == render(rich_run())


# ---------------------------------------------------------------------- what is hostile


def test_nothing_that_was_sent_is_markup() -> None:
    page = render(hostile_run())
    assert "<script>document" not in page
    assert "<img" not in page
    assert not UNSEEN.search(page)
    assert not re.search(
        "[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2028\u2029\ufeff\x00\x1b]", page
    )
    assert "{{ 7*7 }}" in page  # as it came, not as 49
    root = tree(page)
    allowed = {f"{HTML}{name}" for name in ("script", "style", "title", "meta", "link")}
    assert not [node for node in root.find(f"{HTML}body").iter() if node.tag in allowed][1:]
    title = root.find(f"{HTML}head/{HTML}title").text
    assert title.startswith("Does not conform: <script>")
    assert SCRIPT in "".join(root.find(f"{HTML}body").itertext())


@pytest.mark.parametrize("body", [*HOSTILE_BODIES, b"<" * 10_000_000, b"\xff\x00" * 5_000_000])
def test_a_hostile_body_is_cut_and_readable(body: bytes) -> None:
    page = render(hostile_run((body,)))
    assert len(page.encode()) < 1_000_000
    tree(page)
    if len(body) > 10_000:
        assert "bytes not shown here; the result file has them." in page


def test_many_hostile_bodies_fit() -> None:
    bodies = tuple(bytes([number % 32]) * 3000 for number in range(300))
    page = render(hostile_run(bodies))
    assert len(page.encode()) < 1_000_000
    assert "without exchanges, for which" in page


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a<b>&\"'", "a&lt;b&gt;&amp;&#34;&#39;"),
        ("\u202eevil", "<i>\\u202e</i>evil"),
        ("a\nb\tc\rd", "a<i>\\n</i>b<i>\\t</i>c<i>\\r</i>d"),
        ("\x00\x1b\x7f", "<i>\\x00</i><i>\\x1b</i><i>\\x7f</i>"),
        ("\ud800", "<i>\\ud800</i>"),
        ("\U000e0041\U0010ffff", "<i>\\U000e0041</i><i>\\U0010ffff</i>"),
        ("schön 東京 🎉", "schön 東京 🎉"),
    ],
)
def test_a_line(text: str, wanted: str) -> None:
    assert line(text) == wanted
    assert "<" not in plain(text)


def test_a_block_keeps_its_lines() -> None:
    assert block('a\n\t"b"\r\n<') == 'a\n\t"b"<i>\\r</i>\n&lt;'
    assert prose("with `a<b`, ` and `\x00`") == (
        "with <code>a&lt;b</code>, <code> and </code><i>\\x00</i>`"
    )


@given(st.text() | st.sampled_from(HOSTILE_TEXTS))
def test_escapes_can_be_read_back(text: str) -> None:
    for shown_as in (line(text), block(text), prose(text)):
        fragment = html5lib.parseFragment(f'<p title="{plain(text)}">{shown_as}</p>')
        assert len(fragment) == 1
        said = "".join(fragment.itertext())
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", said)


# ---------------------------------------------------------------------- what is cut


@given(st.binary(max_size=300), st.integers(0, 120))
def test_what_is_shown_of_bytes_adds_up(data: bytes, limit: int) -> None:
    seen = shown(data, limit)
    if len(data) <= limit:
        assert not seen.left_out
    else:
        assert 0 <= seen.left_out <= len(data)
        assert seen.left_out >= len(data) - limit - 6


def test_no_character_is_torn() -> None:
    data = ("é" * 1000).encode()
    for limit in range(40, 60):
        seen = shown(data, limit)
        assert set(seen.head + seen.tail) == {"é"}
        assert 2 * len(seen.head + seen.tail) + seen.left_out == len(data)


def test_2000_findings(pages: dict[str, str]) -> None:
    page = pages["large_run"]
    assert len(re.findall('<li class="f"', page)) == 2000
    assert page.count("<h5>curl</h5>") > 60
    assert "findings without exchanges" in page


def test_20000_findings_are_counted() -> None:
    run = large_run(1000)
    found = tuple(
        replace(item, id=f"{turn}-{item.id}") for turn in range(20) for item in run.findings
    )
    page = render(replace(run, findings=found))
    assert len(page.encode()) < 1_000_000
    lines = len(re.findall('<li class="f"', page))
    left = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) more findings? of this", page)]
    assert lines + sum(left) == 20_000
    assert lines > 1000


def test_large_tables_fit() -> None:
    run = small_run()
    cells = tuple(
        Cell(f"#/components/schemas/A/properties/p{row}", f"kind {kind}", "R", "PASS", 1)
        for row in range(900)
        for kind in range(60)
    )
    page = render(replace(run, cells=cells))
    assert len(page.encode()) < 1_000_000
    assert "more locations in the result file" in page
    tree(page)


def test_rules_take_turns() -> None:
    found = rich_run().findings
    placed = [Placed(f"{item.id}-{turn}", item) for turn in range(2) for item in found]
    order = [item.anchor for item in in_turns(placed)]
    assert order[:1] == ["F-005-0"]  # FAIL first, by the names of rules
    assert order.index("F-001-1") > max(order.index(f"F-0{n:02}-0") for n in (1, 2, 3, 9))
    assert order[-2:] == ["F-004-0", "F-004-1"]  # known


# ---------------------------------------------------------------------- pieces


def test_anchors() -> None:
    assert anchors("rule", ["STREAM-DONE", "a b", "STREAM-DONE", "", "é"]) == [
        "rule-STREAM-DONE", "rule.1", "rule.2", "rule.3", "rule.4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "actual", "left", "right"),
    [
        ("a b c", "a x c", "a <mark>b</mark> c", "a <mark>x</mark> c"),
        ("400", "200", "400", "200"),
        ('{"a": 1}', '{"a": 1}', '{"a": 1}', '{"a": 1}'),
        ("a <b>", "a <c>", "a &lt;<mark>b</mark>&gt;", "a &lt;<mark>c</mark>&gt;"),
        ("", "", "", ""),
        ("a" * 2000, "a" * 1999, "a" * 2000, "a" * 1999),
    ],
)
def test_the_difference(expected: str, actual: str, left: str, right: str) -> None:
    assert marked(expected, actual) == (left, right)


@given(st.text(max_size=60), st.text(max_size=60))
def test_marks_change_no_text(expected: str, actual: str) -> None:
    for before, after in zip((expected, actual), marked(expected, actual), strict=True):
        assert re.sub("</?mark>", "", after) == block(before)


def test_the_table_shows_every_state() -> None:
    run = rich_run()
    first, second = blocks(run, {run.findings[0].key: "finding-F-001"})
    assert first.heading == "#/components/schemas/ChatCompletionRequest"
    assert second.heading == "#/paths/~1v1~1models/get"
    row = next(row for row in first.rows if row.location.endswith("/n"))
    square = row.squares[first.kinds.index("null")]
    assert square.states == (("WARN", 2), ("INFO", 1), ("PASS", 2))
    assert square.why == "SCHEMA-NULL: WARN 2; SCHEMA-TYPE: INFO 1"
    counts = Counter(cell.state for cell in run.cells for _ in range(cell.count))
    shown = Counter[str]()
    for each in (first, second):
        for item in each.rows:
            for one in item.squares:
                shown.update(dict(one.states))
    assert +shown == counts
    assert below(first.rows[0].location, first.heading) == "frequency_penalty"
    assert below(second.rows[0].location, second.heading) == "itself"


def test_a_failing_square_leads_to_its_finding() -> None:
    run = rich_run()
    found = run.findings[1]
    cells = (*run.cells, Cell(found.location, found.kind, found.rule, "FAIL", 3))
    assert '<a href="#finding-F-002">✗3</a>' in render(replace(run, cells=cells))


def test_parts_that_came_together_are_one() -> None:
    many = tuple(Part(number // 2 / 10, b"x" * 50) for number in range(200))
    seen = shown_traffic(traffic("E-1", parts=many), 4096)
    assert len(seen.parts) == 24
    assert seen.hidden == 76
    assert seen.answer is None
    assert seen.parts[-1].at == many[-1].at
    alone = shown_traffic(traffic("E-1", answer=b"abc"), 4096)
    assert alone.answer is not None
    assert alone.answer.head == "abc"


def test_a_time_line() -> None:
    line = time_line((Part(0.1, b"a"), Part(0.1, b"b"), Part(0.2, b"c")))
    assert line.count("<rect") == 2
    assert 'aria-label="3 parts of the answer, from 100 ms to 200 ms"' in line
    assert time_line((Part(0.0, b"a"),)).count("<rect") == 1
    assert time_line(()) == ""


@pytest.mark.parametrize(
    "bounds", [(0.5,), (0.1, 0.1001), (1e-6, 3600.0), (0.0, 2.0), (5e-324, 1.0), (1.0, 1e308)]
)
def test_a_histogram(bounds: tuple[float, ...]) -> None:
    spread = Spread(9, bounds[0], bounds[-1], bounds[-1], tuple((b, 3) for b in bounds))
    plot = histogram("<first & last>", spread, seconds)
    assert 'aria-label="&lt;first &amp; last&gt;, 9 samples: p50' in plot
    for place in re.findall(r'\bx\d?="([^"]+)"', plot):
        assert 0 <= float(place) <= 460
    html5lib.HTMLParser(strict=True).parseFragment(plot)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_histogram_of_a_hostile_name(text: str) -> None:
    plot = histogram(text, Spread(3, 0.5, 0.5, 0.5, ((0.5, 3),)), seconds)
    assert plain(text) in plot
    assert not UNSEEN.search(plot)


def test_no_samples_no_plot() -> None:
    assert histogram("x", Spread(0, 0, 0, 0), seconds) == ""


def test_what_can_be_copied() -> None:
    assert copyable("curl \\\n\t'é'", 100)
    assert not copyable("curl \u202e", 100)
    assert not copyable("c" * 101, 100)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0 ms"), (0.0004, "0.4 ms"), (0.0812, "81 ms"), (0.9999, "1 s"), (1.25, "1.25 s"),
     (59.94, "59.9 s"), (412.7, "6 min 52 s")],
)  # fmt: skip
def test_times(value: float, said: str) -> None:
    assert seconds(value) == said
