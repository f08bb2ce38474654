"""The page in a real browser: headless Chromium, driven by playwright.

Skipped where either is missing. No test waits for a time: the browser says when something is there.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from wafermock.mockserver.control.entry import Miss, Why
from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.service import Turn

from .browser import PATIENCE, served

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
    """A browser, and in it one window that pages open in."""
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(PATIENCE * 1000)
        yield context
        browser.close()


# The page looks for news twice a second. Here it looks ten times as often, so that nobody waits.
HURRIED = """
const later = window.setTimeout;
window.setTimeout = (deed, pause) => later(deed, pause < 1000 ? pause / 10 : pause);
"""


@pytest.fixture
def address(bench: Any) -> Iterator[str]:
    with served(bench) as address:
        yield address


@pytest.fixture
def complaints() -> list[str]:
    """What the browser has complained of; a test that provokes it may clear the list."""
    return []


@pytest.fixture
def page(chromium: Any, address: str, complaints: list[str]) -> Iterator[Any]:
    """The page, open. Whatever the browser complains of fails the test."""
    tab = chromium.new_page()
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.add_init_script(HURRIED)
    tab.goto(f"{address}/__wafermock__/")
    yield tab
    tab.close()
    assert complaints == []
    foreign = [url for url in asked if not url.startswith((address, "data:"))]
    assert foreign == []


def rows(page: Any) -> Any:
    return page.get_by_role("option")


def test_calls_appear_as_they_come(bench: Any, page: Any, say: Callable[..., Any]) -> None:
    expect(page.locator("#count")).to_have_text("No calls yet")
    bench.call(say("The first")).end(0.1)
    expect(rows(page)).to_have_count(1)
    call = bench.call(say("The second"))
    expect(rows(page).first).to_contain_text("The second")  # the newest is on top
    expect(rows(page).first).to_contain_text("in flight")
    call.end(0.25)
    expect(rows(page).first).to_contain_text("0.25 s")


def test_a_call_and_all_that_is_known_of_it(bench: Any, page: Any, say: Callable[..., Any]) -> None:
    near = (Miss("greetings", ("the model is 'gpt-oss-120b'", "no stream")),)
    bench.call(say("Why is fast inference important?", stream=True), why=Why(nearest=near)).end(1)
    rows(page).first.click()
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("Why is fast inference important?")
    expect(panel).to_contain_text("greetings")
    expect(panel).to_contain_text("no stream")
    expect(panel).to_contain_text("finish_reason stop")
    page.get_by_role("tab", name="Events").click()
    events = bench.control.journal[1].answer.parts
    expect(panel.locator(".events li")).to_have_count(len(events))
    expect(panel.get_by_role("img")).to_have_attribute(
        "aria-label", f"{len(events)} events, all at once"
    )
    page.get_by_role("tab", name="Request").click()
    expect(panel).to_contain_text("Bearer ***")
    expect(panel).not_to_contain_text("csk-0123")
    page.get_by_role("tab", name="Answer").click()
    expect(panel).to_contain_text("data: [DONE]")
    page.get_by_role("tab", name="curl").click()
    expect(panel).to_contain_text("curl http://127.0.0.1:")
    page.get_by_role("tab", name="Rule").click()
    expect(panel).to_contain_text("equals: Why is fast inference important?")


EVIL = "<img src=x onerror='document.title=\"hacked\"'><script>document.title='hacked'</script>"


def test_what_calls_carry_is_text(bench: Any, page: Any, say: Callable[..., Any]) -> None:
    body = {"error": {"message": EVIL}}
    answer = Answer(400, {"x-evil": EVIL}, (json.dumps(body).encode(),))
    why = Why(rule=EVIL, nearest=(Miss(EVIL, (EVIL,)),), failure=EVIL)
    evil = {**say(EVIL), "model": EVIL}
    bench.call(evil, answer=answer, why=why, scope=EVIL, headers={"x-evil": EVIL}).end(0.1)
    chunk = {"choices": [{"delta": {"content": EVIL}, "finish_reason": EVIL}]}
    part = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    bench.call(evil, answer=Answer(200, {}, (part, part), True), why=Why(nearest=why.nearest))
    expect(rows(page)).to_have_count(2)
    for number in (0, 1):
        rows(page).nth(number).click()
        expect(page.locator(".title")).to_contain_text(f"#{2 - number} ")
        for tab in page.get_by_role("tab").all_inner_texts():
            page.get_by_role("tab", name=tab).click()
            expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
            if tab in ("curl", "Rule"):
                expect(page.get_by_role("tabpanel").locator("pre")).not_to_have_text("…")
    expect(page.get_by_text(EVIL).first).to_be_attached()
    assert page.locator("img, script:not(head script):not(body > script)").count() == 0
    assert page.title() == "Wafermock"


def test_the_policy_forbids_what_escaping_would_miss(chromium: Any, address: str) -> None:
    """Markup that came into the page all the same would not be taken."""
    tab = chromium.new_page()
    tab.goto(f"{address}/__wafermock__/")
    for attempt in (
        "document.body.innerHTML = '<b>x</b>'",
        "document.createElement('script').text = '1'",
    ):
        done = tab.evaluate(
            f"() => {{ try {{ {attempt}; return true; }} catch {{ return false; }} }}"
        )
        assert done is False, attempt
    away = "fetch('http://localhost:9/').then(() => true, () => false)"
    policy = "new Promise((r) => document.addEventListener('securitypolicyviolation', "
    violated = tab.evaluate(
        f"() => {{ const seen = {policy}(e) => r(e.violatedDirective))); {away}; return seen; }}"
    )
    assert violated == "connect-src"
    tab.close()


def test_ten_thousand_calls(bench: Any, page: Any, say: Callable[..., Any]) -> None:
    headers = {"authorization": "Bearer any", "content-type": "application/json"}
    body = json.dumps(say("One of many")).encode()
    request = Request("POST", "/v1/chat/completions", "", headers, body)
    answer = bench.service.begin(request).answer
    for number in range(10_000):
        slow = Answer(429, {}, (b"{}",)) if number % 100 == 0 else answer
        bench.control.note(request, Turn(slow)).end(0.001)
    expect(page.locator("#count")).to_have_text("10,000 calls")
    assert rows(page).count() < 60  # only what is in sight is in the page
    expect(rows(page).first).to_have_attribute("aria-setsize", "10000")
    page.locator("#list").press("End")
    expect(rows(page).last).to_contain_text("#1")
    expect(page.locator(".title")).to_contain_text("#1 ")
    page.get_by_role("button", name="Errors").click()
    expect(page.locator("#count")).to_have_text("100 of 10,000 calls")
    # A full journal: the newest push out the oldest, here as there.
    bench.control.note(request, Turn(answer)).end(0.001)
    page.get_by_role("button", name="All").click()
    expect(rows(page).first).to_contain_text("#10001")
    expect(page.locator("#count")).to_have_text("10,000 calls")


SEARCHES = {
    "weather": 1,
    "status:4xx": 1,
    "status:422": 1,
    "model:gemma*": 1,
    "model:gpt* is:stream": 1,
    "rule:lim*": 1,
    "scope:a": 1,
    "is:missed": 0,
    "is:error": 1,
    "#2": 1,
    "status:2xx weather": 1,
    "status:4xx weather": 0,
    "model:g*": 4,
    "path:*/chat/*": 4,
    "a.b": 0,
    "(": 0,
}


def test_search(bench: Any, page: Any, say: Callable[..., Any]) -> None:
    bench.call(say("Weather?"), scope="a").end(0.1)
    bench.call(say("Hi", stream=True)).end(0.1)
    bench.call({**say("Hi"), "model": "gemma-4-31b"}, why=Why(rule="limits")).end(0.1)
    bench.call(say("Hi", temperature=9)).end(0.1)
    expect(rows(page)).to_have_count(4)
    for search, count in SEARCHES.items():
        page.get_by_label("Search calls").fill(search)
        expect(page.locator("#count")).to_have_text(
            "4 calls" if count == 4 else f"{count} of 4 calls"
        )
    page.get_by_label("Search calls").press("Escape")
    expect(page.locator("#count")).to_have_text("4 calls")


def test_enter_searches_the_bodies(bench: Any, page: Any, say: Callable[..., Any]) -> None:
    bench.call(say("Hi", user="needle-in-the-body")).end(0.1)
    bench.call(say("Hi")).end(0.1)
    expect(rows(page)).to_have_count(2)
    page.get_by_label("Search calls").fill("needle-in")
    expect(page.locator("#count")).to_have_text("0 of 2 calls")
    page.get_by_label("Search calls").press("Enter")
    expect(page.locator("#count")).to_have_text("1 of 2 calls")


def test_keys(bench: Any, page: Any, say: Callable[..., Any]) -> None:
    for text in ("one", "two", "three"):
        bench.call(say(text)).end(0.1)
    expect(rows(page)).to_have_count(3)
    selected = page.locator("[aria-selected=true][role=option]")
    for key, text in (("j", "three"), ("ArrowDown", "two"), ("j", "one"), ("j", "one"),
                      ("k", "two"), ("Home", "three"), ("End", "one")):  # fmt: skip
        page.keyboard.press(key)
        expect(selected).to_contain_text(text)
    expect(page.locator("#list")).to_have_attribute("aria-activedescendant", "call-1")
    page.keyboard.press("r")
    expect(page.get_by_role("tab", name="Rule")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("1")
    expect(page.get_by_role("tab", name="Overview")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Overview").press("ArrowRight")
    expect(page.get_by_role("tab", name="Request")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Search calls")).to_be_focused()
    page.keyboard.type("jz?")  # letters there, not keys
    expect(page.locator("#count")).to_have_text("0 of 3 calls")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("copy the curl command")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_held_stream_is_moved_from_the_page(
    bench: Any, page: Any, address: str, say: Callable[..., Any]
) -> None:
    page.get_by_role("button", name="Hold next stream").click()
    expect(page.get_by_role("status")).to_contain_text("will stand still")
    body = say("Why?", stream=True)
    seen: list[bytes] = []

    def client() -> None:
        url, headers = f"{address}/v1/chat/completions", {"authorization": "Bearer any"}
        with httpx.stream("POST", url, json=body, headers=headers, timeout=PATIENCE) as answer:
            seen.extend(answer.iter_raw())

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(client)
        assert bench.control.holds.until_held(1, PATIENCE)
        rows(page).first.click()
        expect(page.get_by_text("Held: 0 of")).to_be_visible()
        page.get_by_role("button", name="Emit one").click()
        expect(page.get_by_text("Held: 1 of")).to_be_visible()
        assert b"[DONE]" not in b"".join(seen)
        page.get_by_role("button", name="Release").click()
        done.result(PATIENCE)
    assert b"".join(seen).endswith(b"data: [DONE]\n\n")
    expect(rows(page).first).not_to_contain_text("in flight")


def test_coverage_and_clearing(bench: Any, page: Any, say: Callable[..., Any]) -> None:
    bench.call(say("Hi")).end(0.1)
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="Coverage").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This session saw")
    expect(dialog.locator("li.no", has_text="parallel tool calls")).to_have_count(1)
    expect(dialog.locator("li:not(.no)", has_text="finish_reason stop")).to_have_count(1)
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#count")).to_have_text("No calls yet")
    assert len(bench.control.journal) == 0


def test_a_server_that_is_away_and_comes_back(
    bench: Any, page: Any, say: Any, complaints: list[str]
) -> None:
    page.route("**/__wafermock__/journal*", lambda route: route.fulfill(status=503, body="{}"))
    expect(page.get_by_role("alert")).to_be_visible()
    page.unroute("**/__wafermock__/journal*")
    bench.call(say("Back"))
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_role("alert")).to_be_hidden()
    assert all("503" in complaint for complaint in complaints)
    complaints.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(bench: Any, page: Any, say: Any, scheme: str) -> None:
    """Text has the contrast that WCAG 2.2 asks for (4.5 to 1), in both schemes."""
    page.emulate_media(color_scheme=scheme)
    bench.call(say("Hi", temperature=9)).end(0.1)
    bench.call(say("Hi"), why=Why(rule="r", failure="f")).end(0.1)
    rows(page).first.click()
    expect(page.get_by_role("tabpanel")).to_be_visible()
    worst = page.evaluate(
        """() => {
          const parts = (text) => text.match(/[\\d.]+/g).map(Number);
          const light = (text) => { const [r, g, b] = parts(text).map((v) => {
            v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const behind = (node) => { for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (!/, 0\\)$/.test(colour)) return colour; } return "rgb(255, 255, 255)"; };
          let worst = [99, ""];
          for (const node of document.querySelectorAll("body *")) {
            const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
            if (!own || !node.checkVisibility() || node.closest("#toast, script")) continue;
            const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < worst[0]) worst = [ratio, node.className + ": " + node.textContent];
          }
          return worst;
        }"""
    )
    assert worst[0] >= 4.5, worst


def test_everything_that_can_be_pressed_has_a_name(bench: Any, page: Any, say: Any) -> None:
    bench.call(say("Why?", stream=True)).end(0.1)
    rows(page).first.click()
    expect(page.get_by_role("tabpanel")).to_be_visible()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, [role=listbox], [role=tablist]")]
          .filter((node) => node.checkVisibility())
          .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim()))
          .map((node) => node.outerHTML)"""
    )
    assert nameless == []
