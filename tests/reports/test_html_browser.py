"""The page in a real browser, opened from disk: headless Chromium, driven by playwright.

Skipped where either is missing. No test waits for a time: the browser says when something is there.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wafermock.reports.html import render
from wafermock.reports.run import Run

from .sample_runs import (
    HOSTILE_BODIES,
    LINES,
    clean_run,
    hostile_run,
    large_run,
    rich_run,
    small_run,
)

PATIENCE = 30
CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH")
expect = sync_api.expect


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[], Run]], Path]:
    """Write the page of a sample run, once."""
    folder = tmp_path_factory.mktemp("pages")

    def write(make: Callable[[], Run]) -> Path:
        file = folder / f"{make.__name__}.html"
        if not file.exists():
            file.write_text(render(make()), encoding="utf-8")
        return file

    return write


@pytest.fixture
def opened(chromium: Any, written: Any) -> Iterator[Callable[..., Any]]:
    """Open the page of a sample run. Whatever the browser complains of fails the test, and so does
    any request but that for the page."""
    complaints: list[str] = []
    asked: list[str] = []
    contexts: list[Any] = []

    def open_it(make: Callable[[], Run], fragment: str = "", **settings: Any) -> Any:
        settings.setdefault("viewport", {"width": 1280, "height": 800})
        context = chromium.new_context(**settings)
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("console", lambda said: complaints.append(said.text))
        tab.on("dialog", lambda dialog: complaints.append(dialog.message))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(written(make).as_uri() + fragment)
        return tab

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:image/svg+xml,"))] == []
    assert sum(url.startswith("file:") for url in asked) == len(contexts)


def rules(page: Any) -> Any:
    return page.locator("details.rule:not([hidden])")


def unfold_all(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")


# ---------------------------------------------------------------------- what is hostile


def test_nothing_that_was_sent_runs_or_hides(opened: Any) -> None:
    page = opened(hostile_run)
    unfold_all(page)
    assert page.title().startswith("Does not conform: <script>")
    assert page.locator("body img, body iframe, body object, body a:not([href^='#'])").count() == 0
    assert page.locator("script, style").count() == 2
    assert "hacked" not in page.title().split("<script>")[0]
    shown = page.locator("main").inner_text()
    assert "\u202e" not in shown
    assert "\\u202e" in shown
    assert "{{ 7*7 }}" in shown
    # A body stands in the page sign by sign: what cannot be seen as its escape.
    number = next(n for n, body in enumerate(HOSTILE_BODIES) if body == LINES.encode())
    body = page.locator(f"#finding-F-{number} .came pre").text_content()
    wanted = LINES.replace("\r", "\\r").replace("\x85", "\\u0085")
    for sign in "\u2028\u2029":
        wanted = wanted.replace(sign, f"\\u{ord(sign):04x}")
    for sign in "\x0b\x0c\x00\x1b\x7f":
        wanted = wanted.replace(sign, f"\\x{ord(sign):02x}")
    assert body.strip("\n") == wanted


def huge_run() -> Run:
    """Bodies of 10 MB: of script tags, of bidi marks, of bytes that are no UTF-8."""
    attack = b"</pre></script><script>document.title='hacked'</script>"
    pieces = (attack, "\u202e".encode(), b"\xff\x00")
    return hostile_run(tuple(piece * (10_000_000 // len(piece)) for piece in pieces))


def test_bodies_of_10_mb_are_cut_and_run_nothing(opened: Any, written: Any) -> None:
    page = opened(huge_run)
    unfold_all(page)
    assert written(huge_run).stat().st_size < 1_000_000
    assert "hacked" not in page.title().split("<script>")[0]
    assert page.locator("script, style").count() == 2
    body = page.locator("#finding-F-0 .came pre").first.text_content()
    assert body.strip().startswith("</pre></script><script>document.title='hacked'</script>")
    shown = page.locator("main").inner_text()
    assert "\u202e" not in shown
    marks = page.locator("#finding-F-1 .came pre").first.text_content()
    assert marks.strip().startswith("\\u202e\\u202e")


def test_the_policy_forbids_what_escaping_would_miss(opened: Any, written: Any) -> None:
    """Markup that came into the page all the same would not run, load or send anything."""
    file = written(small_run).with_name("spoilt.html")
    text = written(small_run).read_text(encoding="utf-8")
    spoilt = (
        "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
    )
    file.write_text(text.replace("<main>", f"<main>{spoilt}"), encoding="utf-8")
    browser = opened(small_run).context.browser
    context = browser.new_context()
    tab = context.new_page()
    blocked: list[str] = []
    tab.on("console", lambda said: blocked.append(said.text))
    tab.goto(file.as_uri())
    assert "hacked" not in tab.title()
    assert sum("Content Security Policy" in text for text in blocked) >= 2
    for attempt in (
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.insertAdjacentHTML('x','')",
    ):
        done = tab.evaluate(
            f"() => {{ try {{ {attempt}; return true; }} catch {{ return false; }} }}"
        )
        assert done is False, attempt
    context.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(opened: Any, width: int) -> None:
    for make in (rich_run, hostile_run):
        page = opened(make, viewport={"width": width, "height": 800})
        unfold_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# ---------------------------------------------------------------------- search, filter, keys


def test_search(opened: Any) -> None:
    page = opened(rich_run)
    expect(rules(page)).to_have_count(103)
    search = page.get_by_role("searchbox")
    search.fill("[done] stream-done")
    expect(rules(page)).to_have_count(1)
    expect(page.locator("#found")).to_have_text("1 rule, 1 finding")
    search.fill("F-007")  # a finding
    expect(rules(page)).to_have_count(1)
    expect(rules(page)).to_contain_text("ERR-SHAPE")
    search.fill("encoding must gzip")  # a group, a level, an id
    expect(rules(page).first).to_contain_text("ENC-MSGPACK-GZIP")
    search.fill("no such thing")
    expect(page.locator("#nothing")).to_be_visible()
    expect(page.locator("section.group:not([hidden])")).to_have_count(0)
    page.get_by_role("button", name="Show everything").click()
    expect(rules(page)).to_have_count(103)
    expect(search).to_be_focused()


def test_filter(opened: Any) -> None:
    page = opened(rich_run)
    page.get_by_role("button", name="FAIL").click()
    expect(rules(page)).to_have_count(7)
    page.get_by_role("button", name="WARN").click()
    expect(rules(page)).to_have_count(9)
    expect(page.locator("#found")).to_have_text("9 rules, 9 findings")
    page.get_by_role("searchbox").fill("stream-")
    expect(rules(page)).to_have_count(2)
    page.keyboard.press("Escape")
    expect(rules(page)).to_have_count(103)
    expect(page.get_by_role("button", name="FAIL")).to_have_attribute("aria-pressed", "false")


def test_a_search_of_findings_hides_the_others(opened: Any) -> None:
    page = opened(large_run)
    page.get_by_role("searchbox").fill('"kind 22"')
    expect(page.locator("#found")).to_contain_text("86 findings")
    page.get_by_role("searchbox").fill("F-1999")
    expect(page.locator("#found")).to_have_text("1 rule, 1 finding")
    page.get_by_role("button", name="Open all").click()
    expect(page.locator("li.f:visible")).to_have_count(1)


def test_keys(opened: Any) -> None:
    page = opened(rich_run)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("seq-role-first")
    expect(rules(page)).to_have_count(1)
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("j")
    expect(rules(page).locator("> summary")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    expect(page.locator("#finding-F-001 summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#finding-F-001").get_by_text("Expected")).to_be_visible()
    page.keyboard.press("k")
    expect(rules(page).locator("> summary")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    expect(page.locator("details.rule[open]")).to_have_count(103)
    page.keyboard.press("o")
    expect(page.locator("details.rule[open]")).to_have_count(0)


def test_a_link_opens_what_it_leads_to(opened: Any) -> None:
    page = opened(rich_run, "#finding-F-002")
    expect(page.locator("#finding-F-002").get_by_text("Expected")).to_be_in_viewport()
    page.get_by_role("searchbox").fill("nothing of the kind")
    page.get_by_role("link", name="SCHEMA-TYPE").click()
    expect(page.locator("#rule-SCHEMA-TYPE")).to_have_attribute("open", "")
    expect(page.locator("#rule-SCHEMA-TYPE > summary")).to_be_focused()
    for odd in ("#%", "#%E0%A4%A", "#nowhere", "#search", "#' onclick"):
        page.evaluate("(odd) => { location.hash = odd; }", odd)


def test_copying(opened: Any) -> None:
    page = opened(small_run, "#finding-F-001", permissions=["clipboard-read", "clipboard-write"])
    found = small_run().findings[0]
    for name, text in (("curl", found.curl), ("Python", found.python)):
        page.get_by_role("button", name=f"Copy {name}").click()
        expect(page.locator("#toast")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()").strip("\n") == text


def test_copying_without_a_clipboard_interface(opened: Any) -> None:
    page = opened(small_run, "#finding-F-001", permissions=[])
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_role("button", name="Copy curl").click()
    expect(page.locator("#toast")).to_have_text("Copied")
    assert page.evaluate("getSelection().toString()").strip("\n") == small_run().findings[0].curl


def test_2000_findings_are_there(opened: Any) -> None:
    page = opened(large_run)
    expect(page.locator("li.f")).to_have_count(2000)
    page.get_by_role("button", name="Open all").click()
    expect(page.locator("details.rule[open]")).to_have_count(103)


def test_without_scripts_everything_can_be_read(opened: Any) -> None:
    page = opened(rich_run, java_script_enabled=False)
    expect(page.get_by_role("searchbox")).to_be_hidden()
    page.locator("#rule-SEQ-ROLE-FIRST > summary").click()
    page.locator("#finding-F-001 summary").click()
    expect(page.locator("#finding-F-001").get_by_text("Expected")).to_be_visible()
    expect(page.get_by_role("button", name="Copy curl")).to_be_hidden()


# ---------------------------------------------------------------------- dark, print, screen reader


def test_dark_and_print(opened: Any) -> None:
    page = opened(rich_run, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(19, 22, 24)"
    page.emulate_media(color_scheme="light")
    assert page.evaluate(paper) == "rgb(251, 251, 249)"
    page.emulate_media(color_scheme="dark", media="print")
    ink = page.evaluate("getComputedStyle(document.querySelector('main')).color")
    assert ink == "rgb(28, 32, 35)"  # paper is white, whatever the screen is
    expect(page.get_by_role("searchbox")).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#finding-F-001").get_by_text("Expected")).to_be_visible()
    expect(page.locator("#rule-ROLE")).not_to_have_attribute("open", "")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("details[open]")).to_have_count(0)


@pytest.mark.parametrize(
    ("make", "scheme"), [(rich_run, "light"), (rich_run, "dark"), (clean_run, "light")]
)
def test_axe_finds_no_fault(opened: Any, make: Callable[[], Run], scheme: str) -> None:
    """axe-core knows WCAG's rules: contrast, names, headings, landmarks, and more."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe is not installed (pip install axe-playwright-python)",
    )
    page = opened(make, color_scheme=scheme, bypass_csp=True)
    page.evaluate(
        "document.querySelectorAll('details').forEach((node) => {"
        " node.open = !node.matches('.rule') || !!node.querySelector('li.f'); })"
    )
    found = axe.Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
