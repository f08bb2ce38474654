"""Text completions with the official Python SDK and with openai."""

from typing import Any

import pytest

from .sdk import OPENAI, Client

BODY = {"model": "gpt-oss-120b", "prompt": "Once upon a time", "max_tokens": 40}


async def ask(client: Client, body: dict[str, Any]) -> Any:
    """Ask for a whole answer and for a stream; check that they agree; return the whole one."""
    before = len(client.exchanges)
    answer = await client.text(**body)
    client.check_faithful(answer, client.last.json)
    chunks = await client.text_chunks(**body)
    for chunk, sent in zip(chunks, client.last.chunks, strict=True):
        client.check_faithful(chunk, sent)
    assert len(client.exchanges) == before + 2

    for choice in answer.choices:
        own = [c for chunk in chunks for c in chunk.choices if c.index == choice.index]
        assert "".join(c.text or "" for c in own) == choice.text
        assert own[-1].finish_reason == choice.finish_reason
    assert {(c.id, c.created, c.model) for c in chunks} == {
        (answer.id, answer.created, answer.model)
    }
    assert chunks[-1].usage.model_dump(exclude_unset=True) == answer.usage.model_dump(
        exclude_unset=True
    )
    return answer


async def test_whole_and_streamed(client: Client) -> None:
    answer = await ask(client, BODY)
    assert answer.choices[0].text
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.object == "text_completion"
    assert answer.usage.completion_tokens <= BODY["max_tokens"]


@pytest.mark.parametrize(
    "more",
    [
        {"n": 2, "seed": 3},
        {"echo": True},
        {"stop": ["a", "."]},
        {"max_tokens": 1},
        {"logprobs": 2},
        {"prompt": ["Once", "Twice"]},
        {"temperature": 0, "user": "someone"},
    ],
    ids=lambda more: ",".join(more),
)
async def test_parameters(client: Client, more: dict[str, Any]) -> None:
    await ask(client, {**BODY, **more})


async def test_types_of_answers(client: Client) -> None:
    answer = await client.text(**BODY)
    chunks = await client.text_chunks(**BODY)
    names = (type(answer).__name__, {type(chunk).__name__ for chunk in chunks})
    expected = "Completion" if client.kind in OPENAI else "CompletionResponse"
    assert names == (expected, {expected})
