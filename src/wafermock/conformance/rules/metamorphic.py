"""METAMORPHIC: requests that mean the same are answered the same, and answers do not mix."""

from collections.abc import Iterable
from itertools import pairwise

from wafermock.reports.run import Level, State

from ..assembly import whole
from ..error_bodies import clean_refusal, texts_in
from ..exchange import Exchange, Probe
from ..rule import Bench, Breach, Found, RuleBook, Unsupported
from ..sameness import Comparison, completion_tokens, prompt_tokens

BOOK = RuleBook("METAMORPHIC")

REQUEST = "#/components/schemas/ChatCompletionRequest"


def _same(
    id: str,
    requirement: str,
    probe: str,
    roles: tuple[str, str],
    *,
    source: str,
    guards: str,
    level: Level = "MUST",
    otherwise: State | None = None,
) -> None:
    """Put a rule there that the requests of two roles are answered the same."""
    comparison = Comparison(*roles, otherwise=otherwise)

    @BOOK.probe_rule(
        id,
        level,
        requirement,
        source=source,
        guards=guards,
        probe=probe,
        needs=f"the same request twice: {roles[0]} and {roles[1]}",
    )
    def judge(probe: Probe, bench: Bench) -> Iterable[Found]:
        return comparison.judge(probe, bench)


_same(
    "META-REPEAT",
    "The same request with the same seed, at temperature 0, is answered the same.",
    "repeat",
    ("first", "second"),
    source=f"{REQUEST}/properties/seed (best effort)",
    guards="Tests that pin the seed fail now and then.",
    level="SHOULD",
    otherwise="WARN",
)
_same(
    "META-STREAM",
    "A stream, joined, is the whole answer.",
    "streamed",
    ("whole", "streamed"),
    source="#/components/schemas/ChatCompletionChunk (delta: a part of the message)",
    guards="A client that streams shows less, or something else, than one that does not.",
    otherwise="WARN",
)
_same(
    "META-STREAM-CALLS",
    "Tool calls that are streamed, joined, are those of the whole answer.",
    "streamed calls",
    ("whole", "streamed"),
    source="#/components/schemas/ChatCompletionToolCallFragment",
    guards="A client that streams calls a function with other arguments.",
    otherwise="WARN",
)


@BOOK.probe_rule(
    "META-STREAM-USAGE",
    "MUST",
    "A stream says the same usage as the whole answer.",
    source="#/components/schemas/ChatCompletionChunk/properties/usage",
    guards="A client that streams counts other costs than it is billed.",
    probe="streamed",
    needs="the same request whole and streamed",
)
def _stream_usage(probe: Probe, bench: Bench) -> Iterable[Found]:
    exchanges = [probe.exchanges.get(role) for role in ("whole", "streamed")]
    told = [
        (prompt_tokens(e), completion_tokens(e)) if e is not None and e.accepted else (None, None)
        for e in exchanges
    ]
    if any(count is None for counts in told for count in counts):
        yield Unsupported("usage is not told, both whole and streamed")
        return
    (prompt, completion), (streamed_prompt, streamed_completion) = told
    if prompt != streamed_prompt:
        yield Breach(f"prompt_tokens {prompt}", f"it is {streamed_prompt}", "/usage/prompt_tokens")
    if completion != streamed_completion and bench.facts.get("deterministic"):
        where = "/usage/completion_tokens"
        yield Breach(f"completion_tokens {completion}", f"it is {streamed_completion}", where)


_same(
    "META-NULL",
    "A parameter that is null means what its absence means.",
    "absent",
    ("absent", "null"),
    source=f"{REQUEST} (nullable properties)",
    guards="SDKs that send null for what is not set ask for something else.",
)
_same(
    "META-DEFAULT",
    "A parameter with its default means what its absence means.",
    "absent",
    ("absent", "default"),
    source=f"{REQUEST} (default of each property)",
    guards="A client that spells a default out asks for something else.",
)
_same(
    "META-N-ONE",
    "`n: 1` means what its absence means.",
    "absent",
    ("absent", "n"),
    source=f"{REQUEST}/properties/n",
    guards="Frameworks send n: 1 always, and ask for something else.",
)
_same(
    "META-WHITE-SPACE",
    "White space between the tokens of JSON means nothing.",
    "spelling",
    ("plain", "spaces"),
    source="RFC 8259, section 2",
    guards="A client that writes its JSON in many lines is answered otherwise.",
)
_same(
    "META-KEY-ORDER",
    "The order of keys means nothing.",
    "spelling",
    ("plain", "keys"),
    source="RFC 8259, section 4",
    guards="A client in a language whose maps have no order is answered by chance.",
)
_same(
    "META-ESCAPES",
    "An escaped character means what the character means.",
    "spelling",
    ("plain", "escapes"),
    source="RFC 8259, section 7",
    guards="A client whose JSON is ASCII only asks for something else.",
)


# ---------------------------------------------------------------------- together

# Where a request of the probe keeps the word that no other one has.
MARKER = "marker"


@BOOK.probe_rule(
    "META-APART",
    "MUST",
    "Requests at the same time get each its own answer.",
    source="RFC 9110, section 3.4 (a response is to its request)",
    guards="A client, or another user, reads what was meant for somebody else.",
    probe="together",
    needs="several requests at the same time",
)
def _apart(probe: Probe, bench: Bench) -> Iterable[Found]:
    answered = {role: e for role, e in probe.exchanges.items() if e.accepted}
    if len(answered) < 2:
        said = next(filter(None, map(clean_refusal, probe.exchanges.values())), "")
        yield Unsupported(f"fewer than two requests are answered: {said}")
        return
    yield from _ids(answered)
    yield from _lengths(answered)
    yield from _markers(answered)


def _ids(answered: dict[str, Exchange]) -> Iterable[Found]:
    """No two answers are the same one. Where all ids are, that is another fault."""
    answers = ((role, whole(exchange)) for role, exchange in answered.items())
    ids = [(role, a.get("id")) for role, a in answers if isinstance(a, dict)]
    told = [(role, id) for role, id in ids if isinstance(id, str) and id]
    if len({id for _, id in told}) < 2:
        return
    seen: dict[str, str] = {}
    for role, id in told:
        if seen.setdefault(id, role) != role:
            yield Breach("an id of its own", f"{role} and {seen[id]}: {id[:80]}", "/id")
            return


def _lengths(answered: dict[str, Exchange]) -> Iterable[Found]:
    """Each prompt is longer than the one before, so that its count says whose answer it is."""
    counts = [(role, prompt_tokens(exchange)) for role, exchange in answered.items()]
    told = [(role, count) for role, count in counts if count is not None]
    for (role, count), (after, larger) in pairwise(told):
        if larger <= count:
            expected = f"{after}: more prompt tokens than the shorter {role}"
            yield Breach(expected, f"{larger}, and {role} {count}", "/usage/prompt_tokens")
            return


def _markers(answered: dict[str, Exchange]) -> Iterable[Found]:
    markers = {role: e.purpose.facts.get(MARKER) for role, e in answered.items()}
    for role, exchange in answered.items():
        said = "\n".join(texts_in(whole(exchange)))
        for other, marker in markers.items():
            if other != role and isinstance(marker, str) and marker and marker in said:
                expected = f"{role}: its own word {markers[role]!r}"
                yield Breach(expected, f"the word of {other}, {marker!r}", "/choices")
                return


_LEFT = Comparison("before", "after")


@BOOK.probe_rule(
    "META-HANG-UP",
    "MUST",
    "A client that hangs up in a stream harms no other.",
    source="RFC 9110, section 3.4; RFC 9112, section 9.6",
    guards="One impatient user spoils the answers of all the others.",
    probe="hang up",
    needs="a request before and after a stream that the client leaves",
)
def _hang_up(probe: Probe, bench: Bench) -> Iterable[Found]:
    left = probe.exchanges.get("leave")
    if left is None or left.received is None or not left.accepted:
        yield Unsupported("there is no stream to leave")
        return
    yield from _LEFT.judge(probe, bench)
