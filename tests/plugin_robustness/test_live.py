"""Live mode. A second mock is the real service: it wants a key, and answers in its own words."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wafermock import MockServer
from wafermock.live_shape import shape_differences
from wafermock.mockserver.exchange import Answer
from wafermock.mockserver.script import Script
from wafermock.spec import load_contract

from .conftest import Run

KEY = "csk-of-the-real-service-0123456789"
Live = Callable[..., pytest.RunResult]

CLIENT = """
    import json, httpx, pytest
    TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters":
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]

    def ask(mock, said="hi", path="/v1/chat/completions", key="test", **more):
        body = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": said}], **more}
        headers = {"authorization": f"Bearer {key}"} if key else {}
        with httpx.Client(trust_env=False, verify=False, headers=headers) as client:
            return client.post(f"{mock.url}{path}", json=body)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.fixture
def real(server: MockServer) -> Iterator[Any]:
    with server.space(api_key=KEY, unmatched=False) as space:
        yield space


@pytest.fixture
def live(run: Run, real: Any, monkeypatch: pytest.MonkeyPatch) -> Live:
    monkeypatch.setenv("CEREBRAS_API_KEY", "csk-another")
    monkeypatch.setenv("WAFERMOCK_API_KEY", KEY)

    def live(source: str, *options: str) -> pytest.RunResult:
        return run(CLIENT + source, f"--wafermock-live={real.url}/v1", *options)

    return live


def test_the_service_answers_with_its_own_words_and_the_real_key(live: Live, real: Any) -> None:
    real.on(last_user="hi").replies("From the service.")
    result = live(
        """
    def test_words(wafermock, wafermock_live):
        wafermock.on(last_user="hi").replies("From the mock.")
        answer = ask(wafermock)
        assert answer.json()["choices"][0]["message"]["content"] == "From the service."
        assert wafermock_live
        call = wafermock.calls[0]
        assert (call.text, call.ending) == ("From the service.", "complete")
        assert call.rule == "on(last_user='hi')"
        assert call.headers["authorization"] == "Bearer test"
        wafermock.assert_called(times=1)

    def test_stream(wafermock):
        wafermock.on().replies("Something.")
        answer = ask(wafermock, stream=True)
        assert answer.text.endswith("data: [DONE]\\n\\n")
        assert wafermock.calls[0].text == "From the service."

    def test_openai_style(wafermock):
        assert ask(wafermock, path="/chat/completions").status_code == 200

    def test_without_a_key(wafermock):
        wafermock.on().fails("missing_api_key")
        assert ask(wafermock, key=None).status_code == 401
    """,
        "--wafermock-guard",
    )
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["wafermock: live, 127.0.0.1:* answers"])
    assert [call.headers.get("authorization") for call in real.calls] == [f"Bearer {KEY}"] * 3 + [
        None
    ]
    assert {call.path for call in real.calls} == {"/v1/chat/completions"}


def test_what_is_not_of_the_shape_fails_the_test(live: Live, real: Any) -> None:
    real.on(last_user="tool").calls_tool("get_weather", city="Oslo")
    real.on(last_user="quota").fails("request_quota_exceeded")
    real.on().replies("A text.")
    result = live("""
    def test_a_call_of_a_tool(wafermock):
        wafermock.on().calls_tool("get_weather", city="Boston")
        ask(wafermock, "tool", tools=TOOLS)

    def test_no_call_of_a_tool(wafermock):
        wafermock.on().calls_tool("get_weather", city="Boston")
        ask(wafermock, "text", tools=TOOLS)

    def test_no_text(wafermock):
        wafermock.on().replies("A text.")
        ask(wafermock, "tool", tools=TOOLS)

    def test_no_json(wafermock):
        wafermock.on().answers_json({"a": 1})
        ask(wafermock, "text")

    def test_error_of_that_status(wafermock):
        wafermock.on().fails(429)
        assert ask(wafermock, "quota").status_code == 429

    def test_no_error(wafermock):
        wafermock.on().fails("server_error")
        ask(wafermock, "text")

    def test_an_error(wafermock):
        wafermock.on().replies("A text.")
        ask(wafermock, "quota")

    @pytest.mark.wafermock_live(False)
    def test_by_the_mock(wafermock):
        wafermock.on().fails("server_error")
        assert ask(wafermock, "text").status_code == 500
    """)
    result.assert_outcomes(passed=3, failed=5)
    result.stdout.fnmatch_lines_random([
        "*call 1 (POST *: a call of get_weather was scripted; it calls none",
        "*: a text was scripted, and none came (it calls get_weather)",
        "*: JSON was scripted, and a text came that is none: \"A text.\"",
        "*: an error of status 500 was scripted; the service answered with 200",
        "*: an answer was scripted; the service answered with 429: *",
    ])  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
def test_each_exchange_is_judged_by_the_contract(live: Live, real: Any, stream: bool) -> None:
    real.every_answer(defect="unknown_finish_reason")
    result = live(f"""
    def test_judged(wafermock):
        assert ask(wafermock, stream={stream}).status_code == 200
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*call 1 (POST */v1/chat/completions): SCHEMA-VALUE at *finish_reason*"]
    )


@pytest.mark.parametrize("failure", ["reset_before_headers", "close:after=1"])
def test_a_service_that_breaks_off_is_told(live: Live, real: Any, failure: str) -> None:
    real.every_answer(failure=failure)
    result = live("""
    def test_broken(wafermock):
        wafermock.on().replies("x")
        with pytest.raises(httpx.HTTPError):
            ask(wafermock, stream=True)
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*call 1 (POST *"])


def test_a_client_that_leaves_is_in_the_journal(live: Live, real: Any) -> None:
    real.every_answer(failure="slow_first_byte:seconds=20")
    result = live("""
    def test_leaves(wafermock):
        wafermock.on().replies("x")
        body = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "hi"}]}
        with httpx.Client(trust_env=False, verify=False, timeout=0.3) as client:
            with pytest.raises(httpx.ReadTimeout):
                client.post(f"{wafermock.url}/v1/chat/completions", json=body)
        for _ in range(500):
            if wafermock.calls:
                break
            import time
            time.sleep(0.01)
        assert wafermock.calls[0].ending == "client gone"
    """)
    result.assert_outcomes(passed=1)


def test_an_address_where_nobody_is_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAFERMOCK_API_KEY", KEY)
    source = """
    def test_nobody(wafermock):
        try:
            ask(wafermock)
        except httpx.HTTPError:
            pass
    """
    for url in ("http://127.0.0.1:9", "http://nobody.invalid"):
        result = run(CLIENT + source, f"--wafermock-live={url}")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["The real service does not answer as *"])


def test_trials_are_the_mock_s(live: Live, real: Any) -> None:
    result = live("""
    @pytest.mark.parametrize("wafermock_failure", ["server_error"], indirect=True)
    def test_trial(wafermock, wafermock_failure):
        with wafermock_failure.watch() as client:
            client.returned = ask(wafermock).raise_for_status()
        assert client.verdict.names == ("gave_up",)
    """)
    result.assert_outcomes(passed=1)
    assert not real.calls


def test_cassettes_hold_what_was_said_and_no_secret(
    live: Live, real: Any, tmp_path: Path, server: MockServer
) -> None:
    real.on(last_user="hi").replies("From the service.")
    folder = tmp_path / "tapes"
    source = """
    def test_one(wafermock):
        ask(wafermock)
    @pytest.mark.parametrize("said", ["a/b", "c"])
    def test_two(wafermock, said):
        ask(wafermock, said, stream=True)
    """
    for _ in range(2):  # recorded anew, not added to
        live(source, f"--wafermock-record={folder}").assert_outcomes(passed=3)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.yaml"))
    assert [name.partition("/")[2] for name in files] == [
        "test_one.yaml", "test_two-a-b.yaml", "test_two-c.yaml"
    ]  # fmt: skip
    contract = load_contract()
    for name in files:
        text = (folder / name).read_text()
        assert KEY not in text
        assert "csk-another" not in text
        assert len(Script.load([folder / name], contract).rules) == 1
    with server.space(script=folder / files[0]) as space:
        import httpx

        body = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "hi"}]}
        with httpx.Client(trust_env=False, headers={"authorization": "Bearer x"}) as client:
            answer = client.post(f"{space.url}/v1/chat/completions", json=body)
        assert answer.json()["choices"][0]["message"]["content"] == "From the service."


def test_a_service_that_is_away_takes_no_cassette_with_it(
    live: Live, real: Any, run: Run, tmp_path: Path
) -> None:
    real.on(last_user="hi").replies("From the service.")
    folder, away = tmp_path / "tapes", "http://127.0.0.1:9"
    source = "    def test_one(wafermock):\n        ask(wafermock)\n"
    live(source, f"--wafermock-record={folder}").assert_outcomes(passed=1)
    (tape,) = folder.rglob("*.yaml")
    before = tape.read_bytes()
    result = run(CLIENT + source, f"--wafermock-live={away}", f"--wafermock-record={folder}")
    assert result.ret == 1
    result.stdout.fnmatch_lines([
        "*: 127.0.0.1:9 has not answered (reset): does it run there?",
        f"wafermock: not recorded: {tape} stays as it was: not everything was answered",
    ])  # fmt: skip
    assert tape.read_bytes() == before
    assert [path for path in folder.rglob("*") if path.is_file()] == [tape]


def test_with_xdist(live: Live, real: Any) -> None:
    real.on().replies("From the service.")
    result = live("""
    def test_words(wafermock):
        wafermock.on().replies("x")
        assert "From the service." in ask(wafermock).text
    """, "-n1")  # fmt: skip
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("options", "keys", "said"),
    [
        (["--wafermock-live=http://127.0.0.1:9"], {}, "needs a key in the environment: WAFERMOCK_"),
        (["--wafermock-live=ftp://x"], {"CEREBRAS_API_KEY": "k"}, "is no URL of a server"),
        (["--wafermock-record=x"], {}, "give --wafermock-live URL too"),
    ],
)
def test_wrong_options_are_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str], keys: dict[str, str], said: str
) -> None:
    for name in ("WAFERMOCK_API_KEY", "CEREBRAS_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    result = run("def test_it(): pass", *options)
    assert said in result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_no_thread_stays(live: Live) -> None:
    live("""
    def test_words(wafermock):
        ask(wafermock)
    """)
    assert not [thread for thread in threading.enumerate() if thread.name == "wafermock live"]


def test_an_answer_is_of_its_own_shape() -> None:
    whole = Answer(200, {}, (b'{"choices": [{"message": {"content": "x"}}]}',))
    assert shape_differences(whole, whole) == []
    other = Answer(200, {}, (b'data: {"choices": []}\n\ndata: [DONE]\n\n',), streamed=True)
    assert shape_differences(whole, other) == [
        "a whole answer was scripted, and a stream came",
        "choice 0 was scripted, and did not come",
    ]
