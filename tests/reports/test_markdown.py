"""The report for pull requests and language models."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.reports.markdown import LIMIT, render
from wafermock.reports.markdown_text import code, fence, prose, size, table
from wafermock.reports.visible import line

from . import golden
from .readers import headings, read_markdown, tokens
from .sample_runs import (
    BIDI,
    BREAKOUTS,
    LINES,
    MARKDOWN,
    SCRIPT,
    clean_run,
    hostile_run,
    large_run,
    rich_run,
    small_run,
)

ATTACKS = (
    SCRIPT, BREAKOUTS, BIDI, LINES, MARKDOWN,
    "@octocat", "see #12", "octocat/repo#1", "GH-1", "www.evil.example", "https://evil.example",
    "a@evil.example", "mailto:a", "deadbeefcafe1234", ":tada:", "- item", "1. item", "# title",
    "> quote", "    indented", "===", "---", "```", "~~~", "`", "``", "a`b", "`` ` ``", "|", "\\|",
    "\\", "a\\", "<!--", "]]>", "&lt;", "&#64;", "$x$", "", " ", "\n\n# title", "[x]: http://y",
)  # fmt: skip


def test_golden() -> None:
    golden.check("small.md", render(small_run()))


@pytest.mark.parametrize("make", [small_run, rich_run, clean_run, hostile_run, large_run])
def test_it_is_read_back_and_fits_into_a_comment(make: object) -> None:
    assert callable(make)
    text = render(make())
    assert size(text) <= LIMIT
    read = read_markdown(text)
    assert headings(read)[0].startswith("Wafermock: ")


def test_a_finding_has_all_that_is_needed_to_mend_it() -> None:
    run = small_run()
    (found,) = run.findings
    fences = [token.content for token in read_markdown(render(run)) if token.type == "fence"]
    expected, actual, request, answer, curl = fences
    assert expected == f"{found.expected}\n"
    assert actual == f"{found.actual}\n"
    assert request.startswith("POST /v1/chat/completions\n")
    assert found.traffic[0].request_body.decode() in request
    assert answer.startswith("200 OK\nContent-Type: text/event-stream\n")
    assert found.traffic[0].body.decode().rstrip("\n") in answer
    assert curl == f"{found.curl}\n"
    text = render(run)
    for fact in (run.rules[0].source, found.kind, found.where, "12 times"):
        assert fact in text


def test_what_is_left_out_is_told() -> None:
    text = render(large_run())
    assert "Left out, since this text would be too long: " in text
    assert "findings" in text.split("Left out, ")[1]
    assert "Left out" not in render(rich_run())


@pytest.mark.parametrize("limit", [2000, 5000, 10_000, 30_000])
def test_it_keeps_to_any_limit(limit: int) -> None:
    for run in (rich_run(), hostile_run()):
        text = render(run, limit)
        assert size(text) <= limit
        read_markdown(text)


def test_every_broken_rule_has_one_finding_before_any_has_two() -> None:
    text = render(rich_run())
    for item in rich_run().findings:
        assert f"(`{item.id}`)" in text
    assert "Further findings" not in text


@pytest.mark.parametrize("text", ATTACKS)
@pytest.mark.parametrize("cell", [False, True])
def test_texts_stay_texts(text: str, cell: bool) -> None:
    for shown in (code(text, cell=cell), prose(text, cell=cell)):
        if not cell:
            read = read_markdown(f"- {shown}\n\nend\n")
            types = [token.type for token in read]
            assert types.count("bullet_list_open") == 1
            assert "heading_open" not in types
            continue
        page = f"before\n\n{table(['a', 'b'], [[shown, 'last']])}\nafter\n"
        read = read_markdown(page)
        assert sum(token.type == "td_open" for token in read) == 2, page
        assert read[-2].content == "after"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_code_shows_the_very_text(text: str) -> None:
    shown = line(text, 300)
    if not shown.strip():
        return
    (span,) = [token for token in tokens(f"x {code(text)}\n") if token.type == "code_inline"]
    assert span.content == shown or span.content.strip() == shown.strip()


@given(st.text(st.sampled_from("`~ab|\\\n \u202e")))
def test_fences_hold(text: str) -> None:
    read = read_markdown(f"{fence(text)}\nend\n")
    (fenced,) = [token for token in read if token.type == "fence"]
    assert fenced.content.rstrip("\n") == text.replace("\u202e", "\\u202e").rstrip("\n")
    assert read[-2].content == "end"


@given(st.lists(st.text(st.sampled_from("`~ab|\\ *_[]<>@#:/.-1")), min_size=3, max_size=3))
def test_cells_hold(texts: list[str]) -> None:
    rows = [[prose(text, cell=True), code(text, cell=True)] for text in texts]
    read = read_markdown(table(["a", "b"], rows))
    assert sum(token.type == "td_open" for token in read) == 6


def test_sentences_of_rules_look_as_they_were_meant() -> None:
    told = prose("The finish reason is `tool_calls` where tools are called: 1.5 and x*y.")
    assert told == "The finish reason is `tool_calls` where tools are called: 1.5 and x\\*y."


def test_the_header_at_fault_is_shown_and_rate_limits_come_last() -> None:
    run = small_run()
    (found,) = run.findings
    limits = tuple((f"X-RateLimit-{number}", "1") for number in range(20))
    headers = (*limits, ("X-Other", "2"))
    sent = replace(found.traffic[0], headers=headers)
    at = replace(found, where="header x-ratelimit-19", traffic=(sent,))
    text = render(replace(run, findings=(at,)))
    assert "200 OK\nX-RateLimit-1: 1\nX-RateLimit-19: 1\nX-Other: 2\n" in text
    assert "... 9 more headers" in text


def test_how_a_body_ended_is_told() -> None:
    run = small_run()
    (found,) = run.findings
    (sent,) = found.traffic
    cut = replace(found, traffic=(replace(sent, ended="cut", error="reset after 57 bytes"),))
    none = replace(found, traffic=(replace(sent, status=None, ended="timeout", error=""),))
    assert "The body ended by `cut`. `reset after 57 bytes`" in render(
        replace(run, findings=(cut,))
    )
    assert "Answer: none. `timeout`" in render(replace(run, findings=(none,)))
