"""What is sent to prove rules: the judge's own probes, and what only some rules need."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from wafermock.conformance.exchange import Sent
from wafermock.conformance.planned import Planned, PlannedProbe, Subject, plan
from wafermock.conformance.probes import STANDARD, capability_requests, probes, repeat_probe
from wafermock.conformance.runner import Item
from wafermock.spec import Contract, load_contract

KEY = "a-key-of-the-proof"
MODEL = "gpt-oss-120b"
SUBJECT = Subject(MODEL, KEY)

# What the mock has; HTTP/2 it has behind a proxy (see `front`).
HTTP2 = "http2"
SUPPORTED = frozenset({
    "streams", "tools", "logprobs", "structured outputs", "n", "service tier", "reasoning",
    "completions", "raw tokens", "gzip", "msgpack", "models",
})  # fmt: skip

CAMPAIGN = "proof"
# A picture of one pixel (PNG).
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA"
    "60e6kgAAAABJRU5ErkJggg=="
)
PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["city", "count"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "find", "strict": True, "parameters": PLACE}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": PLACE}}

# By a name for each: what is asked of chat beside a word.
_CHAT: dict[str, dict[str, Any]] = {
    "strict tool": {"tools": [TOOL], "tool_choice": "required", "max_completion_tokens": 300},
    "strict tool, streamed": {
        "tools": [TOOL], "tool_choice": "required", "max_completion_tokens": 300, "stream": True,
    },
    "two keys": {"response_format": FORMAT, "max_completion_tokens": 300},
    "long stream": {"stream": True, "max_completion_tokens": 100},
    "least length": {"min_tokens": 250, "max_completion_tokens": 300},
    "no thoughts": {"model": "zai-glm-4.7", "reasoning_effort": "none"},
    "image": {
        "model": "gemma-4-31b",
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "What is it?"},
            {"type": "image_url", "image_url": {"url": PIXEL}},
        ]}],
    },
}  # fmt: skip


@cache
def contract_of(profile: str) -> Contract:
    """Return the contract of a profile, loaded once."""
    return load_contract(profile)


@cache
def items(profile: str) -> dict[str, Item]:
    """Return everything that is sent, by a label for each that stays the same."""
    found: dict[str, Item] = {}
    for item in _all(contract_of(profile), SUBJECT):
        label = said = _label(item)
        number = 1
        while label in found:
            number += 1
            label = f"{said} ({number})"
        found[label] = item
    return found


def _all(contract: Contract, subject: Subject) -> Iterator[Item]:
    yield from capability_requests(contract, subject)
    repeat = repeat_probe(contract, subject)
    assert repeat is not None
    yield repeat
    yield from probes(contract, subject, most=STANDARD)
    yield from _own(contract, subject)


def _own(contract: Contract, subject: Subject) -> Iterator[Planned]:
    operations = {operation.id: operation for operation in contract.operations}
    chat = operations["createChatCompletion"]
    models = next(o for o in contract.operations if o.answer == "model.list")
    words = [{"role": "user", "content": "Say something long about rivers, 漢字 and 🙂."}]
    for kind, more in _CHAT.items():
        asked = {"model": subject.model, "messages": words, "max_completion_tokens": 60, **more}
        yield plan(chat, asked, subject, campaign=CAMPAIGN, kind=kind)

    def head(sent: Sent) -> Sent:
        return replace(sent, method="HEAD")

    yield plan(models, None, subject, campaign=CAMPAIGN, kind="HEAD", change=head)


def _label(item: Item) -> str:
    if isinstance(item, PlannedProbe):
        first = next(iter(item.requests.values()))
        return f"probe {item.name}, {first.sent.target}"
    return f"{item.purpose.campaign}, {item.purpose.kind}"


def needs(item: Item) -> frozenset[str]:
    """Return what the server must be able to do."""
    if isinstance(item, Planned):
        return frozenset(item.needs)
    of_requests = (need for planned in item.requests.values() for need in planned.needs)
    return frozenset((*item.needs, *of_requests))
