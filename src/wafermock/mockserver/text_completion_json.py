"""Completions of plain text in JSON: one whole answer, or the chunks of a stream."""

from collections.abc import Iterator, Sequence
from typing import Any

from .completion import Choice, Completion, pieces
from .composing import head, time_info_json, usage_json
from .draws import Draws
from .logprobs import TokenLogprob, completion_logprobs, token_logprobs
from .tokens import token_id

OBJECT = "text_completion"


class TextWriter:
    """Writes one completion the way its request wants it.

    With `raw_tokens` the numbers of the tokens stand in place of the text; `top_logprobs` says
    how many alternatives each token gets (None: no log probabilities).
    """

    def __init__(
        self,
        completion: Completion,
        identity: bytes,
        *,
        raw_tokens: bool,
        top_logprobs: int | None,
    ) -> None:
        self._completion = completion
        self._identity = identity
        self._raw_tokens = raw_tokens
        self._top = top_logprobs

    def whole(self) -> dict[str, Any]:
        """Write a whole `text_completion`."""
        completion = self._completion
        return {
            **head(completion, [self._choice(choice) for choice in completion.choices], OBJECT),
            "usage": usage_json(completion.usage),
            "time_info": time_info_json(completion.time_info),
        }

    def _choice(self, choice: Choice) -> dict[str, Any]:
        finish = {"finish_reason": choice.finish_reason, "index": choice.index}
        said = self._said(choice.echo + choice.content, choice.echo_numbers or ())
        return {**finish, **said, **self._report(self._logprobs(choice), 0)}

    def chunks(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Write chunks, choice after choice, each with the number of generated tokens in it."""
        completion = self._completion
        for choice in completion.choices:
            for part, count in self._parts(choice):
                yield head(completion, [part], OBJECT), count
            finish = {"finish_reason": choice.finish_reason, "index": choice.index}
            end = {**finish, **self._said((), ())}
            chunk = head(completion, [end], OBJECT)
            if choice is completion.choices[-1]:
                chunk["usage"] = usage_json(completion.usage)
                chunk["time_info"] = time_info_json(completion.time_info)
            yield chunk, 0

    def _parts(self, choice: Choice) -> Iterator[tuple[dict[str, Any], int]]:
        draws = Draws("pieces", self._identity, choice.index)
        entries = self._logprobs(choice)
        sent = choice.echo_numbers or ()
        at = offset = 0
        for piece in pieces(choice.echo + choice.content, draws):
            report = self._report(entries[at : at + len(piece)], offset)
            said = self._said(piece, sent[at : at + len(piece)])
            echoed = min(len(piece), max(len(choice.echo) - at, 0))
            yield {"index": choice.index, **said, **report}, len(piece) - echoed
            at += len(piece)
            offset += sum(map(len, piece))

    def _said(self, tokens: Sequence[str], sent: Sequence[int]) -> dict[str, Any]:
        """Write some tokens; the first ones came as numbers, which go back as they were sent."""
        if self._raw_tokens:
            return {"tokens": [*sent, *map(token_id, tokens[len(sent) :])]}
        return {"text": "".join(tokens)}

    def _logprobs(self, choice: Choice) -> list[TokenLogprob]:
        if self._top is None:
            return []
        draws = Draws("logprobs", self._identity, choice.index)
        return token_logprobs(choice.echo + choice.content, self._top, draws)

    def _report(self, entries: Sequence[TokenLogprob], offset: int) -> dict[str, Any]:
        if self._top is None:
            return {}
        return {"logprobs": completion_logprobs(entries, offset)}
