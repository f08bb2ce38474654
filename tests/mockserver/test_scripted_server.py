"""Scripts behind a real server: what rules say is what real clients get."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
import yaml
from cerebras.cloud.sdk import Cerebras, RateLimitError

SCRIPT = """
rules:
  - name: the weather
    match: {last: {role: user, contains: weather}}
    reply: {text: It is sunny.}
  - name: busy, then well
    match: {last: {contains: busy}}
    sequence:
      - error: request_quota_exceeded
      - error: request_quota_exceeded
      - text: Now I have time.
  - name: thinking aloud
    match: {last: {contains: think}}
    reply: {text: Four., reasoning: Two and two.}
  - name: never asked
    match: {last: {contains: xyzzy}}
    reply: {text: Nothing happens.}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT)
    return path


def say(url: str, text: str, **options: Any) -> Any:
    client = Cerebras(base_url=url, api_key="key", max_retries=0)
    messages: Any = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="gpt-oss-120b", messages=messages, **options)


def test_rules_answer_whole_and_streamed(serve: Callable[..., Any], script: Path) -> None:
    url = serve("--script", str(script)).url
    message = say(url, "How is the weather?").choices[0].message
    assert (message.content, message.reasoning) == ("It is sunny.", None)
    chunks = list(say(url, "How is the weather?", stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == "It is sunny."
    thinking = say(url, "think!").choices[0].message
    assert (thinking.content, thinking.reasoning) == ("Four.", "Two and two.")
    assert say(url, "Hello!").choices[0].message.content == "Hello! How can I assist you today?"


def test_a_sequence_goes_on_and_scopes_are_apart(serve: Callable[..., Any], script: Path) -> None:
    url = serve("--script", str(script)).url
    for scope in ("/t/one", "/t/two"):
        for _ in range(2):
            with pytest.raises(RateLimitError):
                say(url + scope, "busy?")
        assert say(url + scope, "busy?").choices[0].message.content == "Now I have time."


def test_strict_scripts_say_what_was_nearest(serve: Callable[..., Any], script: Path) -> None:
    url = serve("--script", str(script), "--strict-script").url
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}]}
    headers = {"Authorization": "Bearer key"}
    got = httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers)
    assert got.status_code == 404
    assert "the weather" in got.json()["message"]
    assert httpx.get(f"{url}/v1/tcp_warming", headers=headers).status_code == 200


def test_watch_takes_changes_and_keeps_the_last_good_rules(
    serve: Callable[..., Any], script: Path
) -> None:
    served = serve("--script", str(script), "--watch")
    script.write_text(SCRIPT.replace("It is sunny.", "It rains cats and dogs."))
    assert say(served.url, "weather").choices[0].message.content == "It rains cats and dogs."
    assert served.process.stdout.readline() == "script read again: 4 rules\n"
    script.write_text(SCRIPT + "  - name: [")
    assert say(served.url, "weather").choices[0].message.content == "It rains cats and dogs."
    assert f"{script}:" in served.process.stdout.readline()


def test_rules_that_answered_nothing_are_listed_at_the_end(
    serve: Callable[..., Any], script: Path
) -> None:
    served = serve("--script", str(script))
    say(served.url, "the weather")
    served.process.terminate()
    told = served.process.stdout.read()
    assert "'never asked'" in told
    assert "'the weather'" not in told


def test_a_loaded_script_stays_beside_files_that_are_read_again(
    serve: Callable[..., Any], script: Path
) -> None:
    served = serve("--script", str(script), "--watch")
    rules = [
        {"name": name, "match": {"last": {"contains": name}}, "reply": {"text": "loaded"}}
        for name in ("asked", "idle")
    ]
    loaded = {"rules": rules}
    got = httpx.post(f"{served.url}/__wafermock__/script", json=loaded)
    assert got.status_code == 200
    script.write_text(SCRIPT.replace("It is sunny.", "It rains cats and dogs."))
    assert say(served.url, "weather").choices[0].message.content == "It rains cats and dogs."
    assert say(served.url, "asked").choices[0].message.content == "loaded"
    served.process.terminate()
    told = served.process.stdout.read()
    assert "rule 'idle' (script-1.yaml:1) answered nothing" in told
    assert "'asked'" not in told


def test_a_broken_script_is_one_line(script: Path) -> None:
    script.write_text(SCRIPT.replace("contains: xyzzy", "contians: xyzzy"))
    command = [sys.executable, "-m", "wafermock.cli", "serve", "--port", "0", "--script", script]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"{script}:1" in line
    assert "contains" in line


def test_the_published_schema_accepts_the_script() -> None:
    command = [sys.executable, "-m", "wafermock.cli", "script", "schema"]
    schema = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert jsonschema_rs.validator_for(schema).is_valid(yaml.safe_load(SCRIPT))
