"""What the two documents hold for clients: example requests, code samples."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def operation(name: str, path: str) -> Any:
    """The POST operation of a path in a document, exactly as given (no overlay)."""
    text = (files("wafermock.spec") / "openapi" / f"{name}.yaml").read_text("utf-8")
    return yaml.safe_load(text)["paths"][path]["post"]


def chat_operation() -> Any:
    return operation("chat-completions", "/v1/chat/completions")


def chat_example(name: str) -> dict[str, Any]:
    """An example request of the chat document, without `stream`."""
    examples = chat_operation()["requestBody"]["content"]["application/json"]["examples"]
    return {key: value for key, value in examples[name]["value"].items() if key != "stream"}


def chat_answer(name: str) -> dict[str, Any]:
    """An example answer of the chat document."""
    content = chat_operation()["responses"]["200"]["content"]["application/json"]
    return dict(content["examples"][name]["value"])
