"""Defects of what is counted and told: usage, times, ids, log probabilities, thoughts, models."""

from typing import Any

from wafermock.mockserver.exchange import Request

from .case import Case, Look
from .defects import entries, every

KEY = {"authorization": "Bearer key"}
LIST = Request("GET", "/v1/models", "", KEY, b"")
ONE = Request("GET", "/v1/models/gpt-oss-120b", "", KEY, b"")


def details(seen: Any) -> Any:
    return seen.usage["completion_tokens_details"]


def tops(seen: Any) -> list[Any]:
    return [entry["top_logprobs"] for entry in entries(seen)]


def shown(seen: Any, name: str) -> bool:
    return any(name in (c.get("message") or c.get("delta") or {}) for c in seen.choices)


LOOKS: list[tuple[str | Request, str, Look]] = [
    ("chat", "usage_missing", lambda s, p: "usage" not in s.value),
    ("chat stream", "usage_negative", lambda s, p:
        s.usage["prompt_tokens_details"]["cached_tokens"] == -128),
    ("chat", "usage_parts", lambda s, p:
        sum(details(s).values()) == 2 * s.usage["completion_tokens"] > 0),
    ("chat stream", "images_over_prompt", lambda s, p:
        s.usage["image_tokens"] > s.usage["prompt_tokens"]),
    ("chat", "prompt_zero", lambda s, p:
        s.usage["prompt_tokens"] == 0 and s.usage["total_tokens"] == s.usage["completion_tokens"]),
    ("chat", "time_negative", lambda s, p: s.value["time_info"]["queue_time"] < 0),
    ("chat stream", "time_created", lambda s, p:
        next(c for c in s.completions if "time_info" in c)["time_info"]["created"] == 1.5),
    ("chat", "id_prefix", lambda s, p: p.value["id"] == f"chatcmpl-{s.value['id']}"),
    ("chat stream", "id_prefix", lambda s, p:
        every(s.completions, lambda c: not c["id"].startswith("chatcmpl-"))),
    ("logprobs", "alternatives_sum", lambda s, p:
        every(tops(s), lambda top: {one["logprob"] for one in top} == {-0.1})),
    ("logprobs stream", "alternatives_twice", lambda s, p:
        every(tops(s), lambda top: len({one["token"] for one in top}) < len(top))),
    ("logprobs", "chosen_missing", lambda s, p:
        every(entries(s), lambda e: e["top_logprobs"][0]["token"] == "¤")),
    ("text logprobs", "logprob_lists", lambda s, p:
        len(s.choices[0]["logprobs"]["token_logprobs"]) + 1
        == len(s.choices[0]["logprobs"]["tokens"])),
    ("thoughts", "thoughts_lost", lambda s, p:
        shown(p, "reasoning") and not shown(s, "reasoning")
        and details(s)["reasoning_tokens"] > 0),
    ("thoughts", "thoughts_uncounted", lambda s, p:
        shown(s, "reasoning") and details(s)["reasoning_tokens"] == 0),
    ("thoughts", "reasoning_content", lambda s, p:
        shown(s, "reasoning_content") and not shown(s, "reasoning")),
    (LIST, "model_twice", lambda s, p: s.value["data"] == [*p.value["data"], p.value["data"][0]]),
    (ONE, "model_swapped", lambda s, p: s.value["id"] == "another-model"),
]  # fmt: skip

NUMBERS = [Case("defect", text, asked, look) for asked, text, look in LOOKS]
