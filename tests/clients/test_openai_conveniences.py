"""What openai builds on top of the API: it puts streams together and reads answers into models.

Both are picky readers of chunks and of JSON.
"""

from collections.abc import Iterator
from typing import Any, Literal

import openai
import pydantic
import pytest

from .documents import chat_answer, chat_example


@pytest.fixture
def api(server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{server}/v1", api_key="a-key", max_retries=0, _strict_response_validation=True
    ) as client:
        yield client


class Sighting(pydantic.BaseModel):
    """A flat and a nested field, a choice, a list, and one that may be null."""

    model_config = pydantic.ConfigDict(extra="forbid")

    ship: str
    kind: Literal["barque", "brig", "sloop"]
    miles_off: float
    lights: list[str]
    captain: str | None


@pytest.mark.parametrize("example", ["Default", "Tool Calling"])
def test_accumulated_stream(api: openai.OpenAI, example: str) -> None:
    body: Any = chat_example(example)
    whole = api.chat.completions.create(**body)
    with api.chat.completions.stream(**body) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    message, said = final.choices[0].message, whole.choices[0].message
    assert message.content == said.content
    calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()]
    expected: Any = said.tool_calls or ()
    assert calls == [(c.id, c.function.name, c.function.arguments) for c in expected]
    assert final.choices[0].finish_reason == whole.choices[0].finish_reason
    assert final.usage == whole.usage
    wanted = chat_answer(example)["choices"][0]["message"]
    if wanted["content"]:
        assert "content.done" in kinds
    else:
        assert "tool_calls.function.arguments.done" in kinds


def test_structured_output(api: openai.OpenAI) -> None:
    answer = api.chat.completions.parse(
        model="gpt-oss-120b",
        messages=[{"role": "user", "content": "Which ship passed last?"}],
        response_format=Sighting,
    )
    assert answer.choices[0].finish_reason == "stop"
    assert isinstance(answer.choices[0].message.parsed, Sighting)


def test_structured_output_as_a_stream(api: openai.OpenAI) -> None:
    with api.chat.completions.stream(
        model="gpt-oss-120b",
        messages=[{"role": "user", "content": "Which ship passed last?"}],
        response_format=Sighting,
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert isinstance(final.choices[0].message.parsed, Sighting)
