"""Whether two answers say the same, as far as a server can be held to it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from wafermock.reports.run import State

from .assembly import calls_in, choices_in, number_in, whole, words_in
from .error_bodies import clean_refusal, shortened
from .exchange import Exchange, Probe
from .once import once
from .rule import Bench, Breach, Found, Unsupported

# What of a choice is said, whatever else is told of it.
_SAID = ("content", "reasoning", "text", "refusal")


@dataclass(frozen=True)
class Words:
    """What one choice says: texts by their name, calls as (name, arguments), and why it ends."""

    index: int
    texts: tuple[tuple[str, str], ...]
    calls: tuple[tuple[Any, Any], ...]
    finish_reason: Any


@once
def words_of(exchange: Exchange) -> tuple[Words, ...]:
    """Return what an answer says, streamed or whole alike, choice by choice."""
    return tuple(
        Words(number_in(choice, position), _texts(choice), _calls(choice), _end(choice))
        for position, choice in enumerate(choices_in(whole(exchange)))
    )


def _texts(choice: Any) -> tuple[tuple[str, str], ...]:
    words = words_in(choice)
    found = ((name, words.get(name)) for name in _SAID) if isinstance(words, dict) else ()
    # An empty text and none at all say the same: nothing.
    return tuple((name, text) for name, text in found if isinstance(text, str) and text)


def _calls(choice: Any) -> tuple[tuple[Any, Any], ...]:
    functions = [call.get("function") for call in calls_in(choice) if isinstance(call, dict)]
    return tuple((f.get("name"), f.get("arguments")) for f in functions if isinstance(f, dict))


def _end(choice: Any) -> Any:
    return choice.get("finish_reason") if isinstance(choice, dict) else None


@once
def prompt_tokens(exchange: Exchange) -> int | None:
    """Return how many tokens the prompt had, None where the answer does not say."""
    return _count(exchange, "prompt_tokens")


@once
def completion_tokens(exchange: Exchange) -> int | None:
    """Return how many tokens came, None where the answer does not say."""
    return _count(exchange, "completion_tokens")


def _count(exchange: Exchange, name: str) -> int | None:
    answer = whole(exchange)
    usage = answer.get("usage") if isinstance(answer, dict) else None
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) else None


@dataclass(frozen=True)
class Comparison:
    """How two exchanges of a probe are compared: by their roles.

    `optional`: a server may refuse the second one cleanly, for it is a thing to be supported.
    `otherwise` is what it comes to where a server is not deterministic and the words differ; None:
    the words are not looked at then, but for how long the prompt was.
    """

    one: str
    other: str
    optional: bool = False
    otherwise: State | None = None

    def judge(self, probe: Probe, bench: Bench) -> Iterable[Found]:
        """Compare. Yields Unsupported where there is nothing that could be compared."""
        lacking = [role for role in (self.one, self.other) if role not in probe.exchanges]
        if lacking:
            yield Unsupported(f"no request was sent for {lacking[0]!r}")
            return
        one, other = probe[self.one], probe[self.other]
        if one.received is None or not one.accepted or not choices_in(whole(one)):
            yield Unsupported(f"the request to compare with ({self.one}) is not answered")
            return
        if other.received is None or not other.accepted:
            yield self._not_answered(other)
            return
        yield from self._compare(one, other, bench)

    def _not_answered(self, other: Exchange) -> Found:
        said = clean_refusal(other)
        if said is not None and (self.optional or said.startswith("429")):
            return Unsupported(said)
        told = other.error or said or ""
        if other.received is not None and not told:
            told = f"the status is {other.received.status}"
        return Breach(f"the answer to {self.one}", f"{self.other}: {told or 'no answer'}", "status")

    def _compare(self, one: Exchange, other: Exchange, bench: Bench) -> Iterator[Found]:
        counts = prompt_tokens(one), prompt_tokens(other)
        if None not in counts and counts[0] != counts[1]:
            yield Breach(
                f"{self.one}: usage.prompt_tokens {counts[0]}",
                f"{self.other}: {counts[1]}",
                "/usage/prompt_tokens",
            )
            return
        is_deterministic = bool(bench.facts.get("deterministic"))
        if not is_deterministic and self.otherwise is None:
            return
        state = None if is_deterministic else self.otherwise
        for where, expected, actual in _differences(words_of(one), words_of(other)):
            yield Breach(f"{self.one}: {expected}", f"{self.other}: {actual}", where, state=state)
            return


def _differences(
    one: tuple[Words, ...], other: tuple[Words, ...]
) -> Iterator[tuple[str, str, str]]:
    if len(one) != len(other):
        yield "/choices", f"{len(one)} choices", str(len(other))
        return
    for number, (a, b) in enumerate(zip(one, other, strict=True)):
        where = f"/choices/{number}"
        if a.index != b.index:
            yield f"{where}/index", str(a.index), str(b.index)
        texts, others = dict(a.texts), dict(b.texts)
        for name in _SAID:
            if texts.get(name) != others.get(name):
                yield f"{where}, {name}", *_apart(texts.get(name, ""), others.get(name, ""))
        if a.calls != b.calls:
            yield f"{where}, tool_calls", *_apart(str(a.calls), str(b.calls))
        if a.finish_reason != b.finish_reason:
            yield f"{where}/finish_reason", str(a.finish_reason), str(b.finish_reason)


def _apart(one: str, other: str) -> tuple[str, str]:
    """Show two texts where they part."""
    same = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), None)  # noqa: B905
    start = max(0, (min(len(one), len(other)) if same is None else same) - 20)
    lead = "…" if start else ""
    return tuple(  # type: ignore[return-value]
        repr(lead + shortened(text[start : start + 100], 60)) if text else "nothing"
        for text in (one, other)
    )
