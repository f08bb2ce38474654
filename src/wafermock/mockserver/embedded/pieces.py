"""Exact chunks: a stream of the mock, cut anew into the pieces that a test asked for."""

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..event_stream import frame
from ..exchange import Answer


class _Chunk(Struct, frozen=True):
    """A chunk that says words: its data, its words, and where its words begin in the text."""

    data: dict[str, Any]
    words: str
    begins: int
    offset: float

    @property
    def report(self) -> dict[str, Any] | None:
        """The log probabilities that come with the words: lists with an item a token, and more."""
        report = self.data["choices"][0].get("logprobs")
        return report if isinstance(report, dict) else None

    @property
    def tokens(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield where each token begins in the text, and its items of the report's lists."""
        lists = {k: v for k, v in (self.report or {}).items() if isinstance(v, list)}
        at = self.begins
        for number, named in enumerate(lists.get("content") or lists.get("tokens") or ()):
            yield at, {key: items[number] for key, items in lists.items() if number < len(items)}
            at += len(named["token"] if isinstance(named, dict) else named)


def cut_anew(answer: Answer, pieces: Sequence[str]) -> Answer:
    """Return the stream with the words of the first choice in given pieces, one a chunk; what is
    no stream as it is.

    Words that a limit of the request has cut away are cut away here too. Where log probabilities
    come with the words, each token's goes with the piece that it begins in.
    """
    if not answer.streamed:
        return answer
    parts: list[bytes] = []
    offsets: list[float] = []
    said: list[_Chunk] = []
    place = length = 0
    times = answer.offsets or (0.0,) * len(answer.parts)
    for part, offset in zip(answer.parts, times, strict=True):
        chunk = _said(part, length, offset)
        if chunk is None:
            parts.append(part)
            offsets.append(offset)
            continue
        if not said:
            place = len(parts)
        said.append(chunk)
        length += len(chunk.words)
    if not said:
        return answer
    made = list(_pieces(said, pieces))
    parts[place:place] = [part for part, _ in made]
    offsets[place:place] = [offset for _, offset in made]
    timed = None if answer.offsets is None else tuple(accumulate(offsets, max))
    return replace(answer, parts=tuple(parts), offsets=timed)


def _said(part: bytes, begins: int, offset: float) -> _Chunk | None:
    if not part.startswith(b"data: {"):
        return None
    data = json.loads(part[6:])
    choices = data.get("choices") or [{}]
    if choices[0].get("index", 0) != 0:
        return None
    words = choices[0].get("delta", {}).get("content") or choices[0].get("text")
    return _Chunk(data, words, begins, offset) if words else None


def _pieces(said: Sequence[_Chunk], pieces: Sequence[str]) -> Iterator[tuple[bytes, float]]:
    text = "".join(chunk.words for chunk in said)
    tokens = [token for chunk in said for token in chunk.tokens]
    at = 0
    # Words beyond the pieces, where `min_tokens` asked for more, are a piece too.
    for length in (*map(len, pieces), len(text)):
        words = text[at : at + length]
        if not words:
            return
        chunk = max((c for c in said if c.begins <= at), key=lambda c: c.begins)
        rows = [row for begins, row in tokens if at <= begins < at + length]
        yield frame([_with_words(chunk, words, rows)])[0], chunk.offset
        at += length


def _with_words(chunk: _Chunk, words: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    choice = dict(chunk.data["choices"][0])
    if "delta" in choice:
        choice["delta"] = {**choice["delta"], "content": words}
    else:
        choice["text"] = words
    if chunk.report is not None:
        choice["logprobs"] = {
            key: [row[key] for row in rows if key in row] if isinstance(value, list) else value
            for key, value in chunk.report.items()
        }
    return {**chunk.data, "choices": [choice]}
