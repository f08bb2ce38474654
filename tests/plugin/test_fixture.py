"""The fixture `wafermock`, in test runs of their own."""

from collections.abc import Callable

import pytest

from wafermock import MockServer

from .conftest import Ask

pytest_plugins = ["pytester"]

CLIENT = """
import json, urllib.request
import pytest
from wafermock import anything, contains

MODEL = "gpt-oss-120b"

def ask(url, text="hi", **more):
    body = {"model": MODEL, "messages": [{"role": "user", "content": text}], **more}
    headers = {"authorization": "Bearer x", "content-type": "application/json"}
    data = json.dumps(body).encode()
    request = urllib.request.Request(url + "/v1/chat/completions", data, headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)["choices"][0]["message"]["content"]
"""

Run = Callable[..., pytest.RunResult]


@pytest.fixture(scope="session")
def warm(server: MockServer, ask: Ask) -> None:
    """Import what a run needs: each run in this process would import it anew, and forget it."""
    with server.space() as space:
        space.load_script("rules:\n  - reply: {text: a}\n")
        space.on(last_user="hi").fails("server_error").times(1)
        for _ in range(2):
            ask(space)
        assert space.report


@pytest.fixture
def run(warm: None, pytester: pytest.Pytester) -> Run:
    """Run tests that have a client; every warning is an error, as in careful projects."""
    # What else is installed here is of no interest, and some of it warns without settings.
    quiet = (
        "-p",
        "no:asyncio",
        "-p",
        "no:schemathesis",
        "-p",
        "no:faker",
        "-p",
        "no:cacheprovider",
    )
    pytester.makeini("[pytest]\nfilterwarnings = error\nxfail_strict = true\n")

    def run(tests: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(CLIENT + tests)
        return pytester.runpytest_inprocess(*quiet, "--strict-markers", *options)

    return run


def test_a_test_that_passes(run: Run) -> None:
    result = run("""
def test_it(wafermock):
    wafermock.on(last_user=contains("h")).replies("Hello.")
    assert ask(wafermock.url) == "Hello."
    wafermock.assert_called(times=1, model=MODEL)

def test_canned_answers_need_no_expectation(wafermock):
    assert ask(wafermock.url)
""")
    result.assert_outcomes(passed=2)


def test_every_test_has_a_space_of_its_own(run: Run) -> None:
    result = run("""
URLS = set()

@pytest.mark.parametrize("n", range(3))
def test_it(wafermock, n):
    assert len(wafermock.calls) == 0
    wafermock.on().replies(str(n)).times(1)
    assert ask(wafermock.url) == str(n)
    URLS.add(wafermock.url)
    assert len(URLS) == n + 1

def test_the_server_is_the_same(wafermock, wafermock_server):
    assert {url.partition("/t/")[0] for url in URLS} == {wafermock_server.url}
""")
    result.assert_outcomes(passed=4)


def test_an_unmatched_call_fails_the_test(run: Run) -> None:
    result = run("""
def test_it(wafermock):
    wafermock.on(last_user="ho", model="gpt-*").replies("x")
    ask(wafermock.url)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "1 call fits no expectation, and got an answer that the test has not asked for:",
            '  1. POST /v1/chat/completions gpt-oss-120b "hi" → 200 * by no expectation',
            "    nearest: on(last_user='ho', model='gpt-[*]') (*.py:*)",
            "      last_user: expected the user's text equals 'ho', got 'hi'",
            "Say with on(...) what such a call gets. Where any answer will do, allow it:",
            "wafermock.allow_unmatched() in the test, or @*.wafermock(unmatched=False) on it.",
            "*- wafermock calls -*",
            '1. POST /v1/chat/completions gpt-oss-120b "hi" → 200 * by no expectation',
            "FAILED *::test_it - Failed: 1 call fit*",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_unmatched_calls_can_be_allowed(run: Run, pytester: pytest.Pytester) -> None:
    tests = """
def unmatched(wafermock):
    wafermock.on(last_user="ho").replies("x")
    ask(wafermock.url)

def test_by_ini(wafermock):
    unmatched(wafermock)

@pytest.mark.wafermock(unmatched=True)
def test_by_marker(wafermock):
    unmatched(wafermock)

def test_by_method(wafermock):
    wafermock.allow_unmatched()
    unmatched(wafermock)
"""
    run(tests).assert_outcomes(failed=2, passed=1)
    run(tests, "-o", "wafermock_unmatched=false").assert_outcomes(failed=1, passed=2)
    changed = tests.replace("unmatched=True", "unmatched=False")
    run(changed).assert_outcomes(failed=1, passed=2)


def test_a_test_that_fails_by_itself_fails_once(run: Run) -> None:
    result = run("""
def test_it(wafermock):
    wafermock.on(last_user="ho").replies("x")
    assert ask(wafermock.url) == "x"
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: assert '*' == 'x'", "*- wafermock calls -*"])
    result.stdout.fnmatch_lines(["  nearest: on(last_user='ho') (*"])


def test_assertions_point_at_the_line_of_the_test(run: Run) -> None:
    result = run("""
def test_it(wafermock):
    ask(wafermock.url)
    wafermock.assert_called(times=2, last_user="ho")
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>*wafermock.assert_called(times=2, last_user="ho")',
            "E  *expected 2 calls with last_user='ho', but there was none.",
            "E  *nearest: call 1",
            "E  *last_user: expected the user's text equals 'ho', got 'hi'",
            "*test_assertions_point_at_the_line_of_the_test.py:*: AssertionError",
        ]
    )
    result.stdout.no_fnmatch_line("*space.py*")


def test_introspection_shows_the_calls(run: Run) -> None:
    result = run("""
def test_length(wafermock):
    ask(wafermock.url)
    assert len(wafermock.calls) == 2

def test_index(wafermock):
    ask(wafermock.url)
    assert wafermock.calls[1].model == MODEL
""")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E  *assert 1 == 2",
            "E  *where 1 = len(<1 call:*1. POST /v1/chat/completions *",
            "E  *IndexError: there is no call 1; 1 call:",
        ]
    )


def test_a_mistake_in_a_test_is_one_sentence(run: Run) -> None:
    result = run("""
def test_it(wafermock):
    wafermock.on(last_usr="x")

def test_again(wafermock):
    wafermock.on().fails("servererror")
""")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E  *TypeError: there is no criterion 'last_usr', did you mean 'last_user'?*",
            "E  *ValueError: there is no failure 'servererror', did you mean 'server_error'?*",
        ]
    )
    result.stdout.no_fnmatch_line("*expectation.py*")


@pytest.mark.parametrize(
    "mistake",
    [
        "wafermock.on('x')",
        "wafermock.on().replies('x').times(0)",
        "wafermock.on().then",
        "wafermock.on().held()",
        "wafermock.on().reply('x')",
        "wafermock.when()",
        "wafermock.fail_next('servererror')",
        "wafermock.fail_next('server_error', times=0)",
        "wafermock.every_answer(delivery='clrf')",
        "wafermock.load_script('nowhere.yaml')",
        "wafermock.hold_next().emit(0)",
        "wafermock.hold_next().until_sent(1, timeout=0.01)",
        "MockServer(sede=1)",
        "MockServer().url",
        "MockServer().start().start()",
        "MockServer(port=int(wafermock.url.split('/')[2].split(':')[1])).start()",
    ],
)
def test_no_mistake_shows_the_way_it_came(run: Run, mistake: str) -> None:
    """The line of the test and a sentence: nothing of the code that has found it."""
    result = run(f"""
from wafermock import MockServer

def test_it(wafermock):
    {mistake}
""")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*/wafermock/*.py:*")
    result.stdout.no_fnmatch_line("*asyncio*")


def test_the_plugin_stands_in_nobodys_traceback(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
import pytest

@pytest.fixture
def broken():
    raise OSError("no disk")
""")
    result = run("""
def test_it(broken):
    pass
""")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E*OSError: no disk"])
    result.stdout.no_fnmatch_line("*pytest_guard*")


def test_what_a_function_raises_fails_the_test_where_it_was_raised(run: Run) -> None:
    result = run("""
def test_it(wafermock):
    def answer(request):
        assert request.model == "other"

    wafermock.on().replies(answer)
    with pytest.raises(OSError) as caught:
        ask(wafermock.url)
    caught.value.close()
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>*assert request.model == "other"',
            "E*AssertionError: assert 'gpt-oss-120b' == 'other'",
            "E*raised while answering for on() (*",
        ]
    )


def test_what_a_function_raises_is_shown_with_a_test_that_failed_by_it(run: Run) -> None:
    result = run("""
def test_it(wafermock):
    wafermock.on().replies(lambda request: {}["city"])
    with pytest.raises(KeyError):
        try:
            ask(wafermock.url)
        except OSError as error:
            error.close()
            raise
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*- wafermock problems -*", "*KeyError: 'city'"])


def test_markers(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", rules="rules: [{match: {last: hi}, reply: {text: by the file}}]")
    result = run("""
pytestmark = pytest.mark.wafermock(seed=7, script="rules.yaml")

def test_script(wafermock):
    assert ask(wafermock.url) == "by the file"
    assert wafermock.settings.seed == 7

@pytest.mark.wafermock(seed=3, limits="rpm=1", profile="observed", validate="off")
def test_the_closest_counts(wafermock):
    assert (wafermock.settings.seed, wafermock.contract.profile) == (3, "observed")
    assert ask(wafermock.url) == "by the file"
    with pytest.raises(OSError, match="429") as caught:
        ask(wafermock.url)
    caught.value.close()
    wafermock.clock.advance(60)
    assert ask(wafermock.url) == "by the file"
""")
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("sed=1", "there is no setting 'sed', did you mean 'seed'?*"),
        ("limits='rpm'", "limits rpm: 'rpm' lacks its number; write it as rpm=5"),
        ("tokens_per_second='fast'", "tokens_per_second: 'fast' is no rate; *"),
        ("script='nowhere.yaml'", "*nowhere.yaml: No such file or directory"),
        ("'rules.yaml'", "keywords are wanted, as script='rules.yaml'"),
    ],
)
def test_a_mistake_in_a_marker(run: Run, arguments: str, sentence: str) -> None:
    result = run(f"""
@pytest.mark.wafermock({arguments})
def test_it(wafermock):
    pass
""")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"@pytest.mark.wafermock: {sentence}"])


def test_the_environment(run: Run) -> None:
    result = run("""
import os

def test_it(wafermock_env, wafermock):
    assert wafermock_env is wafermock
    assert os.environ["CEREBRAS_BASE_URL"] == wafermock.url
    assert os.environ["OPENAI_BASE_URL"] == wafermock.url + "/v1"
    assert os.environ["CEREBRAS_API_KEY"] == os.environ["OPENAI_API_KEY"] == "test"
    assert "127.0.0.1" in os.environ["NO_PROXY"].split(",")
    wafermock.on().replies("x")
    assert ask(os.environ["CEREBRAS_BASE_URL"]) == "x"
""")
    result.assert_outcomes(passed=1)


def test_a_server_of_the_projects_own(run: Run) -> None:
    result = run("""
from wafermock import MockServer

@pytest.fixture(scope="session")
def wafermock_server():
    with MockServer(seed=9) as server:
        yield server

@pytest.mark.wafermock(validate="off")
def test_it(wafermock):
    assert (wafermock.settings.seed, wafermock.settings.validate) == (9, "off")
""")
    result.assert_outcomes(passed=1)


def test_in_a_class_and_for_unittest(run: Run) -> None:
    result = run("""
import unittest

@pytest.mark.usefixtures("wafermock")
class TestIt:
    def test_it(self, wafermock):
        wafermock.on().replies("x")
        assert ask(wafermock.url) == "x"

class TestUnit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _mock(self, wafermock):
        self.mock = wafermock

    def test_it(self):
        self.mock.on(last_user="ho").replies("x")
        ask(self.mock.url)
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["1 call fits no expectation*"])


def test_a_late_call_of_a_test_before_is_told_so(run: Run) -> None:
    result = run("""
URLS = []

def test_before(wafermock):
    URLS.append(wafermock.url)

def test_after(wafermock):
    with pytest.raises(OSError, match="404") as caught:
        ask(URLS[0])
    assert b"space_closed" in caught.value.read()
    caught.value.close()
    assert len(wafermock.requests) == 0
""")
    result.assert_outcomes(passed=2)


def test_skips_and_expected_failures_are_left_alone(run: Run) -> None:
    result = run("""
def test_skip(wafermock):
    wafermock.on(last_user="ho").replies("x")
    ask(wafermock.url)
    pytest.skip("not now")

@pytest.mark.xfail
def test_xfail(wafermock):
    wafermock.on(last_user="ho").replies("x")
    ask(wafermock.url)
""")
    result.assert_outcomes(skipped=1, xfailed=1)


def test_with_other_plugins_over_two_workers(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process of its own, with pytest-asyncio, anyio and xdist together."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    names = ("xdist", "asyncio", "anyio", "wafermock")
    plugins = [word for name in names for word in ("-p", name)]
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\nasyncio_mode = auto\n"
        "asyncio_default_fixture_loop_scope = function\n"
    )
    pytester.makepyfile(
        CLIENT
        + """
import asyncio

async def test_async(wafermock):
    wafermock.on().replies("x")
    assert await asyncio.to_thread(ask, wafermock.url) == "x"

@pytest.mark.parametrize("n", range(6))
def test_sync(wafermock, n):
    wafermock.on().replies(str(n))
    assert ask(wafermock.url) == str(n)

def test_fails(wafermock):
    wafermock.on(last_user="ho").replies("x")
    ask(wafermock.url)
"""
    )
    result = pytester.runpytest_subprocess(*plugins, "-n2", timeout=120)
    result.assert_outcomes(passed=7, failed=1)
    result.stdout.fnmatch_lines(["*- wafermock calls -*", "1. POST /v1/chat/completions *"])


def test_the_guard_comes_with_it(run: Run) -> None:
    result = run(
        """
import socket

def test_mock(wafermock):
    assert ask(wafermock.url)

def test_away(wafermock):
    with pytest.raises(OSError, match="192.0.2.1"):
        socket.create_connection(("192.0.2.1", 9), timeout=1)
""",
        "--wafermock-guard",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*192.0.2.1:9*"])
