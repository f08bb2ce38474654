"""The agent: asks the model, calls the tools that it wants, and asks again."""

import json
from collections.abc import Iterator
from typing import Any

from cerebras.cloud.sdk import APIError, AsyncCerebras, Cerebras
from reports import weather_line
from spec import TOOLS

MODEL = "gpt-oss-120b"
SORRY = "Sorry, I cannot answer at the moment."
# A model that calls tools for ever is stopped.
MOST_TURNS = 4


def begin(question: str) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "You help people to plan trips."},
        {"role": "user", "content": question},
    ]


def results(message: Any) -> list[dict[str, Any]]:
    """Call the tools that a message asks for; return what the conversation goes on with."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in message.tool_calls
    ]
    answers = [
        {"role": "tool", "tool_call_id": call["id"], "content": called(call["function"])}
        for call in calls
    ]
    return [{"role": "assistant", "tool_calls": calls}, *answers]


def called(function: dict[str, str]) -> str:
    try:
        return weather_line(**json.loads(function["arguments"]))
    except (ValueError, TypeError) as error:
        return f"error: {error}"


class Agent:
    def __init__(self, base_url: str | None = None, api_key: str | None = None) -> None:
        self._client = Cerebras(base_url=base_url, api_key=api_key, max_retries=0)

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(self, question: str) -> str:
        messages = begin(question)
        for _ in range(MOST_TURNS):
            try:
                answer = self._client.chat.completions.create(
                    model=MODEL, messages=messages, tools=TOOLS
                )
            except APIError:
                return SORRY
            message = answer.choices[0].message
            if not message.tool_calls:
                return message.content or ""
            messages += results(message)
        return SORRY

    def stream(self, question: str) -> Iterator[str]:
        chunks = self._client.chat.completions.create(
            model=MODEL, messages=begin(question), stream=True
        )
        for chunk in chunks:
            words = chunk.choices[0].delta.content
            if words:
                yield words


class AsyncAgent:
    def __init__(self, base_url: str | None = None, api_key: str | None = None) -> None:
        self._client = AsyncCerebras(base_url=base_url, api_key=api_key, max_retries=0)

    async def __aenter__(self) -> "AsyncAgent":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def ask(self, question: str) -> str:
        messages = begin(question)
        for _ in range(MOST_TURNS):
            answer = await self._client.chat.completions.create(
                model=MODEL, messages=messages, tools=TOOLS
            )
            message = answer.choices[0].message
            if not message.tool_calls:
                return message.content or ""
            messages += results(message)
        return SORRY
