"""Exact chunks, as rules: whatever the pieces, and whatever the request wants beside them."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.mockserver.embedded.settings import read_settings
from wafermock.mockserver.embedded.space import Space
from wafermock.mockserver.exchange import Request

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
HEADERS = {"authorization": "Bearer x", "content-type": "application/json"}


def chunks_of(space: Space, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask a space without a socket; return the chunks of the answer."""
    raw = json.dumps({"model": "gpt-oss-120b", "stream": True, **body}).encode()
    answer = space.bench.service.begin(Request("POST", path, "", HEADERS, raw)).answer
    assert answer.status == 200, answer.body
    assert answer.offsets is None or list(answer.offsets) == sorted(answer.offsets)
    assert answer.offsets is None or len(answer.offsets) == len(answer.parts)
    assert answer.parts[-1] == b"data: [DONE]\n\n"
    return [json.loads(part[6:]) for part in answer.parts[:-1]]


def space_with(pieces: list[str], **given: Any) -> Space:
    space = Space("", read_settings(given), lambda: "")
    space.on().streams(pieces)
    return space


@settings(max_examples=60, deadline=None)
@given(
    pieces=st.lists(TEXTS, min_size=1, max_size=6),
    logprobs=st.booleans(),
    paced=st.booleans(),
    n=st.sampled_from([1, 2]),
)
def test_a_chat(pieces: list[str], logprobs: bool, paced: bool, n: int) -> None:
    space = space_with(pieces, **({"tokens_per_second": 100} if paced else {}))
    body = {"messages": [{"role": "user", "content": "hi"}], "logprobs": logprobs, "n": n}
    chunks = chunks_of(space, "/v1/chat/completions", body)
    first = [c for chunk in chunks for c in chunk["choices"] if c["index"] == 0]
    said = [c for c in first if c["delta"].get("content")]
    assert [c["delta"]["content"] for c in said] == pieces
    assert first[0]["delta"] == {"role": "assistant"}
    assert first[-1]["finish_reason"] == "stop"
    if logprobs:
        tokens = [token["token"] for c in said for token in c["logprobs"]["content"]]
        assert "".join(tokens) == "".join(pieces)


@settings(max_examples=40, deadline=None)
@given(pieces=st.lists(TEXTS, min_size=1, max_size=6), logprobs=st.sampled_from([None, 2]))
def test_a_text_completion(pieces: list[str], logprobs: int | None) -> None:
    chunks = chunks_of(space_with(pieces), "/v1/completions", {"prompt": "p", "logprobs": logprobs})
    said = [c for chunk in chunks for c in chunk["choices"] if c.get("text")]
    assert [c["text"] for c in said] == pieces
    if logprobs is not None:
        reports = [c["logprobs"] for c in said]
        assert "".join(token for r in reports for token in r["tokens"]) == "".join(pieces)
        for report in reports:
            assert len({len(value) for value in report.values() if isinstance(value, list)}) == 1


@settings(max_examples=40, deadline=None)
@given(
    pieces=st.lists(TEXTS, min_size=1, max_size=6),
    limits=st.fixed_dictionaries(
        {},
        optional={
            "max_completion_tokens": st.integers(1, 12),
            "min_completion_tokens": st.integers(0, 8),
            "stop": st.sampled_from(["a", " ", "e"]),
        },
    ),
)
def test_what_limits_leave(pieces: list[str], limits: dict[str, Any]) -> None:
    """With limits in play the text is the one of the same answer without pieces."""
    body = {"messages": [{"role": "user", "content": "hi"}], **limits}
    if limits.get("min_completion_tokens", 0) > limits.get("max_completion_tokens", 99):
        return
    whole = Space("", read_settings({}), lambda: "")
    whole.on().replies("".join(pieces))
    texts = []
    for space in (space_with(pieces), whole):
        chunks = chunks_of(space, "/v1/chat/completions", body)
        found = [c["delta"].get("content") or "" for x in chunks for c in x["choices"]]
        texts.append("".join(found))
    assert texts[0] == texts[1]
