"""Chat completions with the official Python SDK and with openai."""

import json
from typing import Any

import pytest

from .documents import chat_answer, chat_example
from .screenshot import data_uri
from .sdk import OPENAI, Client

HELLO = chat_example("Default")

WEATHER = '{"temperature": 54, "unit": "fahrenheit"}'


def joined(chunks: list[Any], name: str) -> str:
    """What the deltas of a stream say in one field."""
    deltas = [c.delta for chunk in chunks for c in chunk.choices if c.index == 0]
    return "".join(getattr(delta, name, None) or "" for delta in deltas)


def joined_calls(chunks: list[Any]) -> list[tuple[str, str, str]]:
    """The tool calls of a stream as (id, name, arguments), in order."""
    calls: dict[int, list[str]] = {}
    for chunk in chunks:
        for call in chunk.choices[0].delta.tool_calls or ():
            known = calls.setdefault(call.index, [call.id, call.function.name, ""])
            known[2] += call.function.arguments or ""
    return [(id, name, arguments) for _, (id, name, arguments) in sorted(calls.items())]


def called(message: Any) -> list[tuple[str, str, str]]:
    """The tool calls of a whole answer as (id, name, arguments)."""
    calls = message.tool_calls or ()
    return [(call.id, call.function.name, call.function.arguments) for call in calls]


async def ask(client: Client, body: dict[str, Any]) -> Any:
    """Ask for a whole answer and for a stream; check that they agree; return the whole one."""
    before = len(client.exchanges)
    answer = await client.chat(**body)
    client.check_faithful(answer, client.last.json)
    chunks = await client.chat_chunks(**body)
    for chunk, sent in zip(chunks, client.last.chunks, strict=True):
        client.check_faithful(chunk, sent)
    assert len(client.exchanges) == before + 2

    message = answer.choices[0].message
    assert joined(chunks, "content") == (message.content or "")
    assert joined(chunks, "reasoning") == (getattr(message, "reasoning", None) or "")
    assert joined_calls(chunks) == called(message)
    heads = {(c.id, c.created, c.model, c.system_fingerprint) for c in chunks}
    assert heads == {(answer.id, answer.created, answer.model, answer.system_fingerprint)}
    assert chunks[-1].choices[0].finish_reason == answer.choices[0].finish_reason
    assert chunks[-1].usage == type(chunks[-1].usage)(**answer.usage.model_dump(exclude_unset=True))
    return answer


async def test_default_example(client: Client) -> None:
    answer = await ask(client, HELLO)
    expected = chat_answer("Default")["choices"][0]
    assert answer.choices[0].message.content == expected["message"]["content"]
    assert answer.choices[0].finish_reason == expected["finish_reason"]
    assert client.last.request_headers["authorization"] == "Bearer a-key"


async def test_types_of_answers(client: Client) -> None:
    """The SDK's types are unions: the right member was chosen, for the right reason."""
    answer = await client.chat(**HELLO)
    chunks = await client.chat_chunks(**HELLO)
    names = {type(answer).__name__, *(type(chunk).__name__ for chunk in chunks)}
    if client.kind in OPENAI:
        assert names == {"ChatCompletion", "ChatCompletionChunk"}
    else:
        assert names == {"ChatCompletionResponse", "ChatChunkResponse"}


async def test_streaming_example(client: Client) -> None:
    answer = await ask(client, chat_example("Streaming"))
    expected = chat_answer("Streaming")["choices"][0]["delta"]["content"]
    assert answer.choices[0].message.content == expected


async def test_usage_comes_with_the_last_chunk(client: Client) -> None:
    """With or without `include_usage`: never as a chunk without choices."""
    plain = await client.chat_chunks(**HELLO)
    asked = await client.chat_chunks(**HELLO, stream_options={"include_usage": True})
    for chunks in (plain, asked):
        assert all(chunk.choices for chunk in chunks)
        assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


async def test_image_example(client: Client) -> None:
    body = json.loads(json.dumps(chat_example("Image Input")))
    body["messages"][0]["content"][1]["image_url"]["url"] = data_uri()
    answer = await ask(client, body)
    expected = chat_answer("Image Input")["choices"][0]["message"]["content"]
    assert answer.choices[0].message.content == expected
    assert answer.usage.image_tokens > 0


async def test_tools_and_the_result_of_a_tool(client: Client) -> None:
    body = chat_example("Tool Calling")
    answer = await ask(client, body)
    expected = chat_answer("Tool Calling")["choices"][0]["message"]["tool_calls"][0]["function"]
    message = answer.choices[0].message
    [(call_id, name, arguments)] = called(message)
    assert (name, arguments) == (expected["name"], expected["arguments"])
    assert answer.choices[0].finish_reason == "tool_calls"

    said = message.model_dump(exclude_unset=True)
    result = {"role": "tool", "tool_call_id": call_id, "content": WEATHER}
    second = await ask(client, {**body, "messages": [*body["messages"], said, result]})
    assert second.choices[0].message.content
    assert not second.choices[0].message.tool_calls
    assert second.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("model", ["gpt-oss-120b", "zai-glm-4.7"])
async def test_a_tool_that_must_be_called(client: Client, model: str) -> None:
    """No example of a document fits: the arguments are made from the tool's own schema."""
    properties = {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}
    parameters = {"type": "object", "properties": properties, "required": ["city", "days"]}
    tool = {"type": "function", "function": {"name": "forecast", "parameters": parameters}}
    answer = await ask(
        client,
        {
            "model": model,
            "messages": [{"role": "user", "content": "Shall I take an umbrella to Lisbon?"}],
            "tools": [tool],
            "tool_choice": "required",
        },
    )
    [(_, name, arguments)] = called(answer.choices[0].message)
    assert name == "forecast"
    given = json.loads(arguments)
    assert isinstance(given["city"], str)
    assert given["days"] >= 1


@pytest.mark.parametrize("model", ["gpt-oss-120b", "zai-glm-4.7", "gemma-4-31b"])
async def test_conversation(client: Client, model: str) -> None:
    """Four turns, each whole and streamed; what was said (and thought) goes back each time."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a lighthouse keeper."}]
    answers = []
    prompt_tokens = []
    for question in ("Who are you?", "What do you see tonight?", "¿Hay niebla? 🌫️", "Good night!"):
        messages.append({"role": "user", "content": question})
        answer = await ask(client, {"model": model, "messages": messages})
        assert answer.choices[0].finish_reason == "stop"
        assert answer.model == model
        messages.append(answer.choices[0].message.model_dump(exclude_unset=True))
        answers.append(answer.choices[0].message.content)
        prompt_tokens.append(answer.usage.prompt_tokens)
        total = answer.usage.prompt_tokens + answer.usage.completion_tokens
        assert answer.usage.total_tokens == total
    assert all(answers)
    assert len(set(answers)) == len(answers)
    assert prompt_tokens == sorted(set(prompt_tokens))


@pytest.mark.parametrize("reasoning_format", ["parsed", "text_parsed"])
async def test_several_choices_and_log_probabilities(client: Client, reasoning_format: str) -> None:
    """`parsed` sets the probabilities of thoughts apart, `text_parsed` does not."""
    body = {**HELLO, "n": 2, "logprobs": True, "top_logprobs": 3, "seed": 7}
    answer = await ask(client, {**body, "extra_body": {"reasoning_format": reasoning_format}})
    assert [choice.index for choice in answer.choices] == [0, 1]
    for choice in answer.choices:
        tokens = choice.logprobs.content
        thought = choice.message.reasoning if reasoning_format == "text_parsed" else ""
        assert "".join(token.token for token in tokens) == thought + choice.message.content
        assert all(token.logprob <= 0 for token in tokens)
        assert all(len(token.top_logprobs) == 3 for token in tokens)


async def test_length(client: Client) -> None:
    answer = await ask(client, {**HELLO, "max_completion_tokens": 3})
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 3
