"""The fixtures wafermock_delivery and wafermock_failure, and the summary of a session."""

import pytest

from wafermock.mockserver.robustness import delivery_trials, failure_trials
from wafermock.spec import load_contract

from .conftest import Run

CLIENT = """
    import json, httpx, pytest

    class Cut(Exception): pass

    def ask(url, tries=2):
        body = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "hi"}]}
        with httpx.Client(trust_env=False, verify=False, timeout=20) as client:
            for _ in range(tries):
                try:
                    answer = client.post(f"{url}/v1/chat/completions", json=body,
                                         headers={"authorization": "Bearer test"})
                    answer.raise_for_status()
                    return answer.json()["choices"][0]["message"]["content"]
                except (httpx.HTTPError, ValueError, KeyError) as error:
                    failed = error
        raise failed
"""
TRIED = """
    def test_client(wafermock, wafermock_failure):
        wafermock.on().replies("Hello.")
        with wafermock_failure.watch() as client:
            client.returned = ask(wafermock.url)
        client.verdict.assert_ok()
"""


def test_one_test_runs_for_every_delivery(run: Run) -> None:
    result = run(
        CLIENT
        + """
    def test_reads(wafermock, wafermock_delivery):
        wafermock.on().replies("Grüße, 世界")
        assert ask(wafermock.url) == "Grüße, 世界"
        assert wafermock.calls[0].entry.why.delivery == str(wafermock_delivery)
    """
    )
    result.assert_outcomes(passed=len(delivery_trials()))
    # This client asks for no stream: most deliveries have not been tried on it at all.
    idle = sum("stream" in trial.on for trial in delivery_trials())
    result.stdout.fnmatch_lines([
        "*= wafermock: the clients under test =*",
        f"no stream was asked for in {idle} tests of a delivery of streams: test_reads?*",
    ])  # fmt: skip


def test_streams_were_tried(run: Run) -> None:
    result = run(
        CLIENT
        + """
    @pytest.mark.parametrize("wafermock_delivery", ["crlf", "bytewise"], indirect=True)
    def test_reads(wafermock, wafermock_delivery):
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
        httpx.post(f"{wafermock.url}/v1/chat/completions", json=body,
                   headers={"authorization": "Bearer test"})
    """
    )
    result.stdout.no_fnmatch_line("*no stream*")


def test_one_test_runs_for_every_failure(run: Run) -> None:
    result = run(CLIENT + TRIED, "-v", "-k", "not slow and not crawl and not stall")
    trials = [t for t in failure_trials(load_contract()) if "seconds" not in t.chosen.values]
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] + outcomes["failed"] == len(trials)
    # It asks again whatever happens, at once: these show it.
    result.stdout.fnmatch_lines_random([
        "*::test_client?wrong_api_key? FAILED*",
        "*::test_client?service_unavailable? PASSED*",
        "*::test_client?request_quota_exceeded:retry_after=1? FAILED*",
        "*::test_client?reset_before_headers for ever? PASSED*",
        "E * retried_in_vain: Call 1 was answered with 401 wrong_api_key, and call 2 asked *",
    ])  # fmt: skip
    result.stdout.fnmatch_lines([
        "*= wafermock: the clients under test =*",
        f"{len(trials)} trials of clients: * as they should be, {outcomes['failed']} not",
        "  retried_in_vain (*): test_client?*",
        "      Do not try that again: tell what the message says.",
        "  ignored_retry_after (2): *",
        "  nothing happened in *",
    ])  # fmt: skip


def test_a_test_may_choose(run: Run) -> None:
    result = run(CLIENT + """
    SOME = ["bad_gateway", "html_page:status=503"]
    @pytest.mark.parametrize("wafermock_failure", SOME, indirect=True)
    def test_some(wafermock, wafermock_failure):
        wafermock.on().replies("Hello.")
        with wafermock_failure.watch() as client:
            client.returned = ask(wafermock.url, tries=1)
        assert client.verdict.names == ("gave_up",)
        assert client.raised is not None
        assert wafermock_failure.name in ("bad_gateway", "html_page")

    @pytest.mark.parametrize("wafermock_failure", ["bad_gatewy"], indirect=True)
    def test_wrong(wafermock, wafermock_failure):
        pass
    """)  # fmt: skip
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["there is no failure 'bad_gatewy', did you mean 'bad_gateway'*"])


@pytest.mark.parametrize("fixture", ["wafermock_failure", "wafermock_delivery"])
@pytest.mark.parametrize("indirect", ["", ", indirect=False", ", indirect=['other']"])
def test_a_name_that_would_come_in_place_of_the_fixture(
    run: Run, fixture: str, indirect: str
) -> None:
    result = run(CLIENT + f"""
    @pytest.fixture
    def other(request):
        pass

    @pytest.mark.parametrize("{fixture}, other", [("stall", 1)]{indirect})
    def test_it(wafermock, other, {fixture}):
        pass
    """)  # fmt: skip
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*::test_it: {fixture} is chosen by its name: *indirect=True)"])


@pytest.mark.parametrize("indirect", ["True", "['wafermock_failure']"])
def test_a_trial_among_other_parameters(run: Run, indirect: str) -> None:
    result = run(CLIENT + f"""
    @pytest.fixture
    def other(request):
        return request.param

    @pytest.mark.parametrize("wafermock_failure,other", [("stall", 1)], indirect={indirect})
    def test_it(wafermock, wafermock_failure, other):
        assert (wafermock_failure.name, other) == ("stall", 1)
    """)  # fmt: skip
    result.assert_outcomes(passed=1)


def test_patience_is_the_test_s(run: Run) -> None:
    result = run(CLIENT + """
    @pytest.mark.wafermock_patience(0.2)
    def test_slow(wafermock, wafermock_failure):
        with wafermock_failure.watch() as client:
            client.returned = ask(wafermock.url)
        assert client.verdict.names == ("no_time_limit",)
    """, "-v", "-k", "slow_first_byte")  # fmt: skip
    result.assert_outcomes(passed=1, deselected=len(failure_trials(load_contract())) - 1)
    result.stdout.fnmatch_lines(["*slow_first_byte:seconds=0.3*"])
    wrong = run(CLIENT + """
    @pytest.mark.wafermock_patience(0)
    def test_slow(wafermock, wafermock_failure):
        pass
    """)  # fmt: skip
    assert "wafermock_patience(seconds) wants a number above 0" in wrong.stdout.str()


def test_verdicts_come_from_workers_too(run: Run) -> None:
    result = run(CLIENT + TRIED, "-n1", "-k", "wrong_api_key or bad_gateway")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([
        "2 trials of clients: 1 as they should be, 1 not",
        "  retried_in_vain (1): test_client?wrong_api_key?",
    ])  # fmt: skip


def test_a_session_without_trials_says_nothing(run: Run) -> None:
    result = run(
        CLIENT
        + """
    def test_plain(wafermock):
        assert ask(wafermock.url)
    """
    )
    result.assert_outcomes(passed=1)
    assert "clients under test" not in result.stdout.str()


@pytest.mark.parametrize("name", ["pytest_guard", "pytest_robustness", "pytest_live"])
def test_loading_them_imports_nothing_but_pytest(name: str) -> None:
    import subprocess
    import sys

    heavy = ("aiohttp", "hypothesis", "wafermock.spec", "wafermock.mockserver", "asyncio")
    check = f"import sys, pytest; before = set(sys.modules); import wafermock.{name}; "
    check += f"print([m for m in {heavy} if m in set(sys.modules) - before])"
    ran = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.strip() == "[]"
