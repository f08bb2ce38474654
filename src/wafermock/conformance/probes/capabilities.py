"""What a server can do, found out first, by one small request for each capability."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wafermock.reports.run import Capability, State
from wafermock.spec import Contract, Operation

from ..assembly import calls_in, choices_in, whole, words_in
from ..decoded import Unreadable, read_json
from ..error_bodies import clean_refusal, is_absent
from ..exchange import Exchange, Probe
from ..planned import Planned, Subject, plan, pointer
from ..sameness import prompt_tokens, words_of
from .asking import SHORT, WHOLE, Asking, cost, properties
from .metamorphic import TOOL

CAMPAIGN = "capabilities"

FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "place",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
            "required": ["city", "country"],
            "additionalProperties": False,
        },
    },
}


@dataclass(frozen=True)
class _Kind:
    """A capability: what is asked for, and how it shows in the answer.

    `promised`: who accepts the request must show it; else an answer that does not is no fault, but
    the server cannot do it. `late`: it may not show in an answer that was cut.
    """

    name: str
    shows: Callable[[Exchange], bool]
    more: Mapping[str, Any]
    words: str = "Say hello."
    tokens: int = SHORT
    promised: bool = True
    late: bool = False


# ---------------------------------------------------------------------- how it shows


def _streams(exchange: Exchange) -> bool:
    return exchange.answer.is_stream and bool(choices_in(whole(exchange)))


def _is_answered(exchange: Exchange) -> bool:
    return bool(choices_in(whole(exchange)))


def _calls(exchange: Exchange) -> bool:
    return any(calls_in(choice) for choice in choices_in(whole(exchange)))


def _logprobs(exchange: Exchange) -> bool:
    return any(
        isinstance(choice, dict) and (choice.get("logprobs") or choice.get("reasoning_logprobs"))
        for choice in choices_in(whole(exchange))
    )


def _structured(exchange: Exchange) -> bool:
    for choice in choices_in(whole(exchange)):
        words = words_in(choice)
        content = words.get("content") if isinstance(words, dict) else None
        if isinstance(content, str):
            value = read_json(content, lambda kind, sentence: None)
            return not isinstance(value, Unreadable) and isinstance(value, dict)
    return False


def _several(exchange: Exchange) -> bool:
    return len(choices_in(whole(exchange))) == 2


def _tier(exchange: Exchange) -> bool:
    answer = whole(exchange)
    return isinstance(answer, dict) and "service_tier_used" in answer


def _reasoning(exchange: Exchange) -> bool:
    answer = whole(exchange)
    usage = answer.get("usage") if isinstance(answer, dict) else None
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    counted = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return bool(counted) or any(
        isinstance(words := words_in(choice), dict) and words.get("reasoning")
        for choice in choices_in(answer)
    )


def _raw_tokens(exchange: Exchange) -> bool:
    return any(
        isinstance(choice, dict) and isinstance(choice.get("tokens"), list)
        for choice in choices_in(whole(exchange))
    )


def _models(exchange: Exchange) -> bool:
    data = exchange.answer.data
    return isinstance(data, dict) and isinstance(data.get("data"), list) and bool(data["data"])


def _http2(exchange: Exchange) -> bool:
    return exchange.received is not None and exchange.received.http.startswith("2")


_CHAT = (
    _Kind("streams", _streams, {"stream": True}),
    _Kind(
        "tools",
        _calls,
        {"tools": [TOOL], "tool_choice": "required"},
        "What is the weather in Paris?",
        WHOLE,
        late=True,
    ),
    _Kind("logprobs", _logprobs, {"logprobs": True, "top_logprobs": 1}),
    _Kind(
        "structured outputs",
        _structured,
        {"response_format": FORMAT},
        "Name a city.",
        WHOLE,
        late=True,
    ),
    _Kind("n", _several, {"n": 2}),
    _Kind("service tier", _tier, {"service_tier": "auto"}),
    _Kind("reasoning", _reasoning, {"reasoning_format": "parsed"}, promised=False),
)
_TEXT = (
    _Kind("completions", _is_answered, {}),
    _Kind("raw tokens", _raw_tokens, {"return_raw_tokens": True}),
)
_SHOWS: dict[str, _Kind] = {kind.name: kind for kind in (*_CHAT, *_TEXT)}
_SHOWS["models"] = _Kind("models", _models, {})
_SHOWS["gzip"] = _Kind("gzip", _is_answered, {})
_SHOWS["http2"] = _Kind("http2", _http2, {}, promised=False)
MSGPACK = "msgpack"
MEDIA = 415  # RFC 9110, section 15.5.16

# ---------------------------------------------------------------------- what is asked


def capability_requests(contract: Contract, subject: Subject, seed: int = 0) -> Iterator[Planned]:
    """Plan a request for each capability, named in `purpose.facts["capability"]`: those first that
    most others need."""
    asking = Asking(contract, subject, seed)
    if (chat := asking.chat) is not None:
        yield from (made for kind in _CHAT for made in _of_kind(asking, chat, kind))
    if (text := asking.text) is not None:
        yield from (made for kind in _TEXT for made in _of_kind(asking, text, kind))
    if (main := asking.main) is not None:
        yield from _dresses(asking, main)
    for operation in contract.operations:
        if operation.answer == "model.list":
            yield _planned(asking, operation, "models", None)


def _of_kind(asking: Asking, operation: Operation, kind: _Kind) -> Iterator[Planned]:
    if not set(kind.more) <= properties(operation).keys():
        return
    more = dict(kind.more)
    if kind.name == "streams" and not operation.streams:
        return
    asked = asking.body(operation, kind.words, kind.tokens, **more)
    if asking.keeps(operation, asked):
        yield _planned(asking, operation, kind.name, asked)


def _dresses(asking: Asking, operation: Operation) -> Iterator[Planned]:
    asked = asking.body(operation, "Say hello.")
    yield _planned(asking, operation, "gzip", asked, gzipped=True)
    body = operation.request_body
    for name in body.content if body else ():
        if "msgpack" in name:
            yield _planned(asking, operation, f"{MSGPACK}: {name}", asked, media_type=name)
    yield _planned(asking, operation, "http2", asked,
                   change=lambda sent: replace(sent, http="2"))  # fmt: skip


def _planned(asking: Asking, operation: Operation, name: str, asked: Any, **more: Any) -> Planned:
    is_optional = asking.main is not None and operation.id != asking.main.id
    return plan(
        operation,
        asked,
        asking.subject,
        campaign=CAMPAIGN,
        kind=name,
        location=pointer(operation),
        tokens=cost(asked) if asked else 0,
        facts={"capability": name, "optional": is_optional},
        **more,
    )


# ---------------------------------------------------------------------- what it comes to


def judge_capability(exchange: Exchange) -> Capability:
    """Say of an exchange of `capability_requests` whether the server can do what it asks for.

    PASS: it accepts the request, and shows it. UNSUPPORTED: it refuses cleanly. FAIL: it fails, or
    takes the request and does not do it.
    """
    name = str(exchange.purpose.facts.get("capability", exchange.purpose.kind))
    kind = _SHOWS.get(name) or _Kind(name, _is_answered, {})
    received = exchange.received
    if received is None:
        state: State = "FAIL" if kind.promised else "UNSUPPORTED"
        # Who does not speak HTTP/2 answers in HTTP/1 or closes the connection, as it happens.
        why = exchange.error if kind.promised else "it is not offered"
        return Capability(name, state, why or "no answer came")
    said = clean_refusal(exchange)
    if said is not None:
        return Capability(name, "UNSUPPORTED", said)
    if received.status == MEDIA and (name == "gzip" or name.startswith(MSGPACK)):
        # The status says it all; a body that does not is the business of ERR-SHAPE.
        return Capability(name, "UNSUPPORTED", f"{MEDIA}: it does not take this encoding")
    if is_absent(exchange):
        return Capability(name, "UNSUPPORTED", f"{received.status}: there is no such operation")
    if not exchange.accepted:
        return Capability(name, "FAIL", f"it is refused, and not cleanly: {received.status}")
    if received.ended != "complete":
        return Capability(name, "FAIL", f"the answer does not end: {received.ended}")
    if kind.shows(exchange):
        return Capability(name, "PASS", "it is taken, and shows in the answer")
    if not kind.promised:
        return Capability(name, "UNSUPPORTED", "it does not show in the answer")
    if kind.late and any(words.finish_reason == "length" for words in words_of(exchange)):
        why = "the answer was cut before it could show"
        return Capability(name, "UNSUPPORTED", why)
    return Capability(name, "FAIL", "it is taken, and does not show in the answer")


def judge_determinism(repeat: Probe) -> Capability:
    """Say of the probe `repeat` whether the same request with the same seed, at temperature 0, is
    answered in the same words: PASS, or UNSUPPORTED."""
    name = "seed"
    answers = list(repeat.exchanges.values())
    if not all(exchange.accepted for exchange in answers):
        return Capability(name, "UNSUPPORTED", "the requests are not answered")
    said = [(words_of(exchange), prompt_tokens(exchange)) for exchange in answers]
    if any(not words for words, _ in said):
        return Capability(name, "UNSUPPORTED", "there are no words to compare")
    if all(one == said[0] for one in said):
        return Capability(name, "PASS", "the same request is answered in the same words")
    return Capability(name, "UNSUPPORTED", "the same request is answered in other words")


def supported(capabilities: Iterable[Capability]) -> frozenset[str]:
    """Name what a server can be asked for, in the words of `Planned.needs`: what it can do, and
    what it takes and does not do. `msgpack` stands for any of its spellings."""
    names = {capability.name for capability in capabilities if capability.state != "UNSUPPORTED"}
    if any(name.startswith(f"{MSGPACK}: ") for name in names):
        names.add(MSGPACK)
    return frozenset(names)


def unable(capabilities: Iterable[Capability]) -> dict[str, str]:
    """Say of what a server cannot do why not, in the words of `Planned.needs`."""
    listed = list(capabilities)
    why = {c.name: c.why for c in listed if c.state == "UNSUPPORTED"}
    spellings = [c for c in listed if c.name.startswith(f"{MSGPACK}: ")]
    if spellings and all(c.state == "UNSUPPORTED" for c in spellings):
        why[MSGPACK] = spellings[0].why
    return why
