"""A conversation with the official Node SDK."""

import copy
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from . import node
from .documents import chat_answer, chat_example
from .screenshot import data_uri

SCRIPT = Path(__file__).with_name("conversation.mjs")

QUESTIONS = ["Hello!", "What do you see tonight?", "¿Hay niebla? 🌫️"]


@pytest.fixture(scope="module")
def spoken(server: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the script says after it has gone through everything once."""
    try:
        modules = node.installed()
    except node.Unavailable as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("node")
    (folder / "node_modules").symlink_to(modules)
    script = folder / SCRIPT.name
    script.write_text(SCRIPT.read_text("utf-8"), "utf-8")
    image = copy.deepcopy(chat_example("Image Input"))
    image["messages"][0]["content"][1]["image_url"]["url"] = data_uri()
    asked = {
        "chat": {"model": "gpt-oss-120b", "questions": QUESTIONS},
        "tools": chat_example("Tool Calling"),
        "image": image,
        "completion": {"model": "gpt-oss-120b", "prompt": "Once upon a time", "max_tokens": 40},
    }
    run = subprocess.run(
        ["node", script.name, json.dumps(asked)],
        cwd=folder,
        env={**os.environ, "CEREBRAS_API_KEY": "a-key", "CEREBRAS_BASE_URL": server},
        capture_output=True,
        timeout=node.RUNNING,
        check=False,
    )
    assert (run.returncode, run.stderr.decode()) == (0, "")
    return json.loads(run.stdout)


def check_agree(turn: Any) -> Any:
    """A turn's stream says what its whole answer says; return the whole one."""
    [choice] = turn["whole"]["choices"]
    message, streamed = choice["message"], turn["streamed"]
    assert streamed["content"] == (message.get("content") or "")
    assert streamed["reasoning"] == (message.get("reasoning") or "")
    calls = [{"id": c["id"], **c["function"]} for c in message.get("tool_calls") or ()]
    assert streamed["calls"] == calls
    assert streamed["finish_reason"] == choice["finish_reason"]
    assert streamed["usage"] == turn["whole"]["usage"]
    return turn["whole"]


def test_conversation(spoken: Any) -> None:
    answers = [check_agree(turn)["choices"][0]["message"]["content"] for turn in spoken["turns"]]
    assert len(answers) == len(set(answers)) == len(QUESTIONS)
    assert all(answers)
    assert answers[0] == chat_answer("Default")["choices"][0]["message"]["content"]


def test_tools(spoken: Any) -> None:
    [call] = check_agree(spoken["called"])["choices"][0]["message"]["tool_calls"]
    expected = chat_answer("Tool Calling")["choices"][0]["message"]["tool_calls"][0]
    assert call["function"] == expected["function"]
    followed = check_agree(spoken["followed"])["choices"][0]
    assert followed["message"]["content"]
    assert followed["finish_reason"] == "stop"


def test_image(spoken: Any) -> None:
    expected = chat_answer("Image Input")["choices"][0]["message"]["content"]
    assert check_agree(spoken["seen"])["choices"][0]["message"]["content"] == expected


def test_text_completion(spoken: Any) -> None:
    assert spoken["told"]["whole"]
    assert spoken["told"]["streamed"] == spoken["told"]["whole"]


def test_models(spoken: Any) -> None:
    assert "gpt-oss-120b" in [model["id"] for model in spoken["models"]["data"]]


def test_no_retry(spoken: Any) -> None:
    """Every request was answered at the first try, the warming of the connection too."""
    paths = [request["path"] for request in spoken["made"]]
    assert {request["status"] for request in spoken["made"]} == {200}
    assert paths.count("/v1/chat/completions") == 2 * (len(QUESTIONS) + 3)
    assert paths.count("/v1/completions") == 2
    assert paths.count("/v1/models") == 1
    assert paths.count("/v1/tcp_warming") == 1


def test_error(spoken: Any) -> None:
    expected = {"authentication": False, "unprocessable": True, "status": 422}
    assert spoken["errors"]["invalid"] == expected
