"""Chat completions in JSON: one whole answer, or the chunks of a stream."""

from collections.abc import Iterator, Sequence
from typing import Any

from .completion import CallTokens, Choice, Completion, pieces
from .composing import head, time_info_json, usage_json
from .draws import Draws
from .logprobs import TokenLogprob, chat_logprobs, token_logprobs


class ChatWriter:
    """Writes one completion the way its request wants it.

    `tool_style` says how the model streams tool calls, `reasoning_format` where thoughts are
    shown, `top_logprobs` how many alternatives each token gets (None: no log probabilities).
    """

    def __init__(
        self,
        completion: Completion,
        identity: bytes,
        *,
        tool_style: str,
        reasoning_format: str,
        top_logprobs: int | None,
        service_tier: str | None,
    ) -> None:
        self._completion = completion
        self._identity = identity
        self._tool_style = tool_style
        self._format = reasoning_format
        self._top = top_logprobs
        self._tier = {} if service_tier is None else {"service_tier": service_tier}
        # `auto` is the one tier that leaves open which one served the request.
        self._tier_used = {"service_tier_used": "default"} if service_tier == "auto" else {}

    def whole(self) -> dict[str, Any]:
        """Write a `chat.completion`."""
        choices = [self._choice(choice) for choice in self._completion.choices]
        return {
            **head(self._completion, choices, "chat.completion"),
            **self._tier,
            **self._tier_used,
            "usage": usage_json(self._completion.usage),
            "time_info": time_info_json(self._completion.time_info),
        }

    def _choice(self, choice: Choice) -> dict[str, Any]:
        reasoning, content = self._shown(choice)
        message: dict[str, Any] = {}
        # Without words: absent beside calls, and where the length ran out inside the thoughts.
        unsaid = choice.tool_calls or (choice.reasoning and choice.finish_reason == "length")
        if content or not unsaid:
            message["content"] = "".join(content)
        if reasoning:
            message["reasoning"] = "".join(reasoning)
        if choice.tool_calls:
            message["tool_calls"] = [_tool_call(call) for call in choice.tool_calls]
        message["role"] = "assistant"
        thought, said = self._logprobs(choice)
        return {
            "finish_reason": choice.finish_reason,
            "index": choice.index,
            "message": message,
            **self._report(thought, said),
        }

    def chunks(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Write `chat.completion.chunk`s, each with the number of tokens in it.

        Choices take turns, as servers send them.
        """
        completion = self._completion
        parts = [list(self._parts(choice)) for choice in completion.choices]
        turns = [
            own[turn] for turn in range(max(map(len, parts))) for own in parts if turn < len(own)
        ]
        for number, (part, count) in enumerate(turns, start=1):
            chunk = {**head(completion, [part], "chat.completion.chunk"), **self._tier}
            if number == len(turns):
                chunk["usage"] = usage_json(completion.usage)
                chunk["time_info"] = time_info_json(completion.time_info)
            yield chunk, count

    def _parts(self, choice: Choice) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the pieces of one choice: role, thoughts, words, calls, and the finish."""
        index = choice.index
        draws = Draws("pieces", self._identity, index)
        reasoning, content = self._shown(choice)
        thought, said = self._logprobs(choice)
        yield {"delta": {"role": "assistant"}, "index": index}, 0
        at = 0
        for piece in pieces(reasoning, draws):
            report = self._report(thought[at : at + len(piece)], [])
            delta = {"reasoning": "".join(piece)}
            yield {"delta": delta, "index": index, **report}, len(piece)
            at += len(piece)
        at = 0
        for piece in pieces(content, draws):
            report = self._report([], said[at : at + len(piece)])
            delta = {"content": "".join(piece)}
            yield {"delta": delta, "index": index, **report}, len(piece)
            at += len(piece)
        for calls, count in self._call_parts(choice.tool_calls, draws):
            yield {"delta": {"tool_calls": calls}, "index": index}, count
        yield {"delta": {}, "finish_reason": choice.finish_reason, "index": index}, 0

    def _call_parts(
        self, calls: Sequence[CallTokens], draws: Draws
    ) -> Iterator[tuple[list[dict[str, Any]], int]]:
        if self._tool_style == "fragments":
            for position, call in enumerate(calls):
                for fragment, count in _fragments(position, call, draws):
                    yield [fragment], count
        elif calls:
            written = [{**_tool_call(call), "index": at} for at, call in enumerate(calls)]
            yield written, sum(1 + len(call.arguments) for call in calls)

    def _shown(self, choice: Choice) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the thoughts and the words as the reasoning format shows them."""
        if self._format == "hidden":
            return (), choice.content
        if self._format == "raw":
            return (), choice.reasoning + choice.content
        return choice.reasoning, choice.content

    def _logprobs(self, choice: Choice) -> tuple[list[TokenLogprob], list[TokenLogprob]]:
        if self._top is None:
            return [], []
        draws = Draws("logprobs", self._identity, choice.index)
        reasoning, content = self._shown(choice)
        return (
            token_logprobs(reasoning, self._top, draws),
            token_logprobs(content, self._top, draws),
        )

    def _report(self, thought: list[TokenLogprob], said: list[TokenLogprob]) -> dict[str, Any]:
        if self._format == "text_parsed":  # thoughts are set apart, their probabilities are not
            thought, said = [], thought + said
        report = {}
        if said:
            report["logprobs"] = chat_logprobs(said)
        if thought:
            report["reasoning_logprobs"] = chat_logprobs(thought)
        return report


def _tool_call(call: CallTokens) -> dict[str, Any]:
    function = {"name": call.name, "arguments": "".join(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _fragments(
    position: int, call: CallTokens, draws: Draws
) -> Iterator[tuple[dict[str, Any], int]]:
    function = {"name": call.name, "arguments": ""}
    yield {"function": function, "type": "function", "id": call.id, "index": position}, 1
    for piece in pieces(call.arguments, draws):
        function = {"arguments": "".join(piece)}
        yield {"function": function, "type": "function", "index": position}, len(piece)
