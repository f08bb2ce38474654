"""Every code sample of the chat document, run as written but for the address.

What each prints is read as its reader would: text, a stream, a tool's name.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from . import node
from .documents import chat_answer, chat_operation
from .screenshot import png

ADDRESS = "https://api.cerebras.ai"

SAMPLES = [
    pytest.param(sample, id=f"{sample['lang']}-{sample['label']}".replace(" ", "_"))
    for sample in chat_operation()["x-codeSamples"]
]


def command(sample: dict[str, Any], server: str, folder: Path) -> list[str]:
    """How to run a sample in a folder; skips when its language is not here."""
    source = sample["source"]
    match sample["lang"]:
        case "python":
            return [sys.executable, "-W", "error", "-c", source]
        case "javascript":
            try:
                (folder / "node_modules").symlink_to(node.installed())
            except node.Unavailable as error:
                pytest.skip(str(error))
            (folder / "sample.mjs").write_text(source, "utf-8")
            return ["node", "sample.mjs"]
        case "bash":
            for tool in ("bash", "curl", "base64"):
                if shutil.which(tool) is None:
                    pytest.skip(f"no {tool} on the PATH")
            assert ADDRESS in source
            # curl reads this file from $CURL_HOME: no progress meter, and errors are failures.
            (folder / ".curlrc").write_text("silent\nshow-error\nfail-with-body\n")
            return ["bash", "-euc", source.replace(ADDRESS, server)]
    pytest.fail(f"no way to run a sample in {sample['lang']}")


def run(sample: dict[str, Any], server: str, folder: Path) -> str:
    """Run a sample and return what it prints."""
    (folder / "screenshot.png").write_bytes(png())
    told = subprocess.run(
        command(sample, server, folder),
        cwd=folder,
        env={
            **os.environ,
            "CEREBRAS_API_KEY": "a-key",
            "CEREBRAS_BASE_URL": server,
            "CURL_HOME": str(folder),
        },
        capture_output=True,
        timeout=node.RUNNING,
        check=False,
    )
    assert (told.returncode, told.stderr.decode()) == (0, "")
    return told.stdout.decode()


def test_there_are_samples() -> None:
    kinds = {(sample["lang"], sample["label"]) for sample in chat_operation()["x-codeSamples"]}
    labels = ("Default", "Image Input", "Streaming", "Tool Calling")
    assert kinds >= {(lang, label) for lang in ("python", "javascript", "bash") for label in labels}


def said(text: str) -> tuple[str, list[dict[str, str]]]:
    """Read the body that a curl sample prints: the content and the functions called."""
    if not text.startswith("data: "):
        [choice] = json.loads(text)["choices"]
        calls = choice["message"].get("tool_calls") or ()
        return choice["message"].get("content") or "", [call["function"] for call in calls]
    *events, done = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert done == "[DONE]"
    deltas = [json.loads(event)["choices"][0]["delta"] for event in events]
    return "".join(delta.get("content", "") for delta in deltas), []


@pytest.mark.parametrize("sample", SAMPLES)
def test_sample(sample: dict[str, Any], server: str, tmp_path: Path) -> None:
    text = run(sample, server, tmp_path)
    choice = chat_answer(sample["label"])["choices"][0]
    expected = choice.get("message") or choice["delta"]
    if sample["lang"] == "bash":
        functions = [call["function"] for call in expected.get("tool_calls") or ()]
        assert said(text) == (expected["content"] or "", functions)
    elif sample["label"] == "Tool Calling":
        assert "get_current_weather" in text
        assert "Boston" in text
    elif sample["label"] == "Default" and sample["lang"] == "python":
        assert f"content={expected['content']!r}" in text
    elif sample["label"] == "Default":  # node prints a message as [Object]
        assert "object: 'chat.completion'" in text
        assert "finish_reason: 'stop'" in text
    else:
        assert text.strip() == expected["content"]


class Catcher(BaseHTTPRequestHandler):
    """Keeps the body of the last request."""

    caught = b""

    def do_POST(self) -> None:
        type(self).caught = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing on standard error."""


def test_the_image_sample_for_curl_sends_a_placeholder(tmp_path: Path) -> None:
    r"""The document writes `\${BASE64_IMAGE}` inside double quotes: no shell puts the image there.

    So the words `${BASE64_IMAGE}` go over the wire, and a mock that runs the document's samples
    has to let that stand for an image.
    """
    [sample] = [
        sample
        for sample in chat_operation()["x-codeSamples"]
        if (sample["lang"], sample["label"]) == ("bash", "Image Input")
    ]
    with HTTPServer(("127.0.0.1", 0), Catcher) as catcher:
        thread = threading.Thread(target=catcher.serve_forever)
        thread.start()
        try:
            run(sample, f"http://127.0.0.1:{catcher.server_port}", tmp_path)
        finally:
            catcher.shutdown()
            thread.join()
    [message] = json.loads(Catcher.caught)["messages"]
    assert message["content"][1]["image_url"]["url"] == "data:image/png;base64,${BASE64_IMAGE}"
