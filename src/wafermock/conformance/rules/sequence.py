"""SEQUENCE: what may follow what in the chunks of a stream. The machine is `chunk_sequence`."""

from collections.abc import Iterator

from wafermock.reports.run import Level

from ..chunk_sequence import Kind, Sequence, sequence
from ..decoded import came_whole
from ..exchange import Exchange
from ..rule import Applies, Bench, Breach, RuleBook

BOOK = RuleBook("SEQUENCE")

SCHEMAS = "#/components/schemas"
DELTA = f"{SCHEMAS}/ChatCompletionDelta/properties"
CHOICE = f"{SCHEMAS}/ChatCompletionChunkChoice/properties"
FRAGMENT = f"{SCHEMAS}/ChatCompletionToolCallFragment"
CHUNK = f"{SCHEMAS}/ChatCompletionChunk/properties"
USAGE = f"{SCHEMAS}/ChatCompletionRequest/properties/stream_options/properties/include_usage"
ERROR = f"{SCHEMAS}/ErrorChunkResponse"
OBSERVED = "observed traffic, 2026"


# ---------------------------------------------------------------------- what is looked at


def _streamed(exchange: Exchange) -> bool:
    return exchange.accepted and exchange.answer.is_stream and bool(exchange.answer.chunks)


def _chunked(exchange: Exchange) -> bool:
    return _streamed(exchange) and sequence(exchange).chunks > 0


def _ended(exchange: Exchange) -> bool:
    """Streams that ended by themselves, and without an error."""
    return _chunked(exchange) and came_whole(exchange) and not sequence(exchange).errors


def _chat(exchange: Exchange) -> bool:
    return _chunked(exchange) and sequence(exchange).is_chat


def _calling(exchange: Exchange) -> bool:
    return _chunked(exchange) and sequence(exchange).calls > 0


def _calls_ended(exchange: Exchange) -> bool:
    return _ended(exchange) and sequence(exchange).calls > 0


_NEEDS: dict[Applies, str] = {
    _streamed: "an event stream with data",
    _chunked: "a stream of chunks",
    _ended: "a stream of chunks that ended by itself",
    _chat: "a stream of chat chunks",
    _calling: "a stream with tool calls",
    _calls_ended: "a stream with tool calls that ended by itself",
}


# ---------------------------------------------------------------------- rules of the machine


def _rule(
    id: str,
    level: Level,
    requirement: str,
    *kinds: Kind,
    applies: Applies,
    source: str,
    guards: str,
    key: str = "",
) -> None:
    """Put down the rule that the machine finds no fault of some kinds (and of a key)."""

    @BOOK.rule(
        id,
        level,
        requirement,
        source=source,
        guards=guards,
        applies=applies,
        needs=_NEEDS[applies],
    )
    def judge(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
        for fault in sequence(exchange).faulty(*kinds):
            if fault.key == key:
                yield Breach(fault.expected, fault.actual, fault.where)


_rule(
    "SEQ-ROLE-FIRST",
    "MUST",
    "The first chunk of a choice names the role.",
    "no role first",
    applies=_chat,
    source=f"{DELTA}/role",
    guards="A client that makes the message at its role has none to add the first words to.",
)
_rule(
    "SEQ-ROLE-ONCE",
    "SHOULD",
    "The role is named once in a choice.",
    "role again",
    applies=_chat,
    source=f"{DELTA}/role",
    guards="A client begins a new message at each role, or joins `assistantassistant`.",
)
_rule(
    "SEQ-ROLE-SAME",
    "MUST",
    "The role of a choice does not change.",
    "role changes",
    applies=_chat,
    source=f"{DELTA}/role",
    guards="A client shows one answer as turns of two speakers.",
)

for _key, _id, _guards in (
    ("id", "ID", "Clients join chunks by their id: the answer falls into pieces."),
    ("created", "CREATED", "The answer is stored under several times."),
    ("model", "MODEL", "The answer is put down to another model, and paid for as that."),
    ("system_fingerprint", "FINGERPRINT", "A client that watches for changed servers sees one."),
    ("object", "OBJECT", "A client that tells chunks by `object` drops some of them."),
):
    _rule(
        f"SEQ-{_id}",
        "MUST",
        f"`{_key}` is the same in every chunk.",
        "changes",
        applies=_chunked,
        source=f"{CHUNK}/{_key}",
        guards=_guards,
        key=_key,
    )

_rule(
    "SEQ-CHOICE-INDEX",
    "MUST",
    "The choices of a stream are numbered from 0, without gaps.",
    "choice index",
    applies=_ended,
    source=f"{CHOICE}/index",
    guards="A client that keeps choices in a list writes beyond its end, or shows empty ones.",
)
_rule(
    "SEQ-CHOICE-ANY",
    "MAY",
    "Every chunk has a choice.",
    "no choice",
    applies=_chunked,
    source=OBSERVED,
    guards="A client that takes `choices[0]` of every chunk fails.",
)
_rule(
    "SEQ-FINISH",
    "MUST",
    "Every choice ends with a finish reason.",
    "no finish",
    applies=_ended,
    source=f"{CHOICE}/finish_reason",
    guards="A client cannot tell a whole answer from one that was cut off, and takes it for whole.",
)
_rule(
    "SEQ-FINISH-ONCE",
    "MUST",
    "A choice has one finish reason.",
    "finish again",
    applies=_chunked,
    source=f"{CHOICE}/finish_reason",
    guards="A client that acts at the finish reason (calls the tools, say) acts twice.",
)
_rule(
    "SEQ-FINISH-LAST",
    "MUST",
    "Nothing of a choice comes behind its finish reason.",
    "behind the finish",
    applies=_chunked,
    source=f"{CHOICE}/finish_reason",
    guards="Clients stop reading a choice there: the rest is lost.",
)

# ---------------------------------------------------------------------- tool calls

_rule(
    "SEQ-CALL-INDEXED",
    "MUST",
    "Every fragment of a tool call has the call's index.",
    "call without index",
    applies=_calling,
    source=f"{FRAGMENT}/properties/index",
    guards="A client cannot tell which call a fragment belongs to: SDKs raise an error.",
)
_rule(
    "SEQ-CALL-INDEX",
    "MUST",
    "Tool calls of a choice are numbered from 0, without gaps.",
    "call index",
    applies=_calling,
    source=f"{FRAGMENT}/properties/index",
    guards="A client that keeps calls in a list writes beyond its end.",
)
_rule(
    "SEQ-CALL-ORDER",
    "SHOULD",
    "The fragments of a tool call come together: none behind the next call's.",
    "call order",
    applies=_calling,
    source=OBSERVED,
    guards="A client that runs a call when the next one begins runs it with half its arguments.",
)
_rule(
    "SEQ-CALL-ID",
    "MUST",
    "The first fragment of a tool call has its id.",
    "call without id",
    applies=_calling,
    source=FRAGMENT,
    guards="The tool's answer cannot name the call, and the next request is refused.",
)
_rule(
    "SEQ-CALL-ID-SAME",
    "MUST",
    "The id of a tool call does not change.",
    "call id changes",
    applies=_calling,
    source=FRAGMENT,
    guards="A client sees a new call at every id, or answers one that is not there.",
)
_rule(
    "SEQ-CALL-ID-ONCE",
    "SHOULD",
    "The id of a tool call comes once.",
    "call id again",
    applies=_calling,
    source=FRAGMENT,
    guards="Clients that join the texts of fragments make the id longer with each of them.",
)
_rule(
    "SEQ-CALL-ID-OWN",
    "MUST",
    "Each tool call of an answer has an id of its own.",
    "call id shared",
    applies=_calling,
    source=FRAGMENT,
    guards="The answers of two tools cannot be told apart.",
)
_rule(
    "SEQ-CALL-NAME",
    "MUST",
    "The first fragment of a tool call has the function's name.",
    "call without name",
    applies=_calling,
    source=FRAGMENT,
    guards="A client does not know what to call.",
)
_rule(
    "SEQ-CALL-NAME-ONCE",
    "MUST",
    "The name of a tool call comes once.",
    "call name again",
    applies=_calling,
    source=FRAGMENT,
    guards="Clients that join the texts of fragments call `get_weatherget_weather`.",
)
_rule(
    "SEQ-CALL-ARGUMENTS",
    "MUST",
    "The fragments of a tool call's arguments, joined in their order, are JSON.",
    "call arguments",
    applies=_calls_ended,
    source=f"{FRAGMENT}/properties/function/properties/arguments",
    guards="A client runs no tool, or parses the arguments of none.",
)

# ---------------------------------------------------------------------- usage

_rule(
    "SEQ-USAGE",
    "MUST",
    "A stream has `usage`, with `stream_options.include_usage` or without it.",
    "no usage",
    applies=_ended,
    source=USAGE,
    guards="What an answer costs is not known; a client that waits for it counts nothing.",
)
_rule(
    "SEQ-USAGE-ONCE",
    "MUST",
    "`usage` comes once in a stream.",
    "usage again",
    applies=_ended,
    source=USAGE,
    guards="A client that adds up what it sees pays for an answer many times.",
)
_rule(
    "SEQ-USAGE-LAST",
    "MUST",
    "`usage` comes in the last chunk.",
    "usage early",
    applies=_ended,
    source=USAGE,
    guards="A client takes it for the end, or for the cost of the whole answer, and stops.",
)

# ---------------------------------------------------------------------- errors

_rule(
    "SEQ-ERROR-LAST",
    "MUST",
    "An error event ends the stream.",
    "behind the error",
    applies=_streamed,
    source=ERROR,
    guards="A client raises at the error: what comes behind it is lost, or spoils the connection.",
)


@BOOK.rule(
    "SEQ-ERROR-SHAPE",
    "MUST",
    "An error in a stream is an ErrorChunkResponse.",
    source=ERROR,
    guards="SDKs hand an error of another shape to the program as a chunk without words.",
    applies=_streamed,
    needs=_NEEDS[_streamed],
)
def error_shape(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    errors = _errors(exchange)
    if not errors:
        return
    try:
        schema = bench.contract.schema("ErrorChunkResponse")
    except KeyError:  # a contract of somebody else's, which has no such errors
        return
    for number, error in errors:
        for violation in schema.violations(error)[:1]:
            yield Breach("an ErrorChunkResponse", violation.message, f"chunk {number}")


@BOOK.rule(
    "SEQ-ERROR-NONE",
    "SHOULD",
    "The answer to a valid request does not end in an error.",
    source=OBSERVED,
    guards="A client has shown half an answer already, and cannot take it back.",
    applies=lambda exchange: _streamed(exchange) and exchange.meant == "valid",
    needs="a stream that answers a valid request",
)
def error_none(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    for number, error in _errors(exchange)[:1]:
        yield Breach("chunks", f"an error: {str(error)[:120]}", f"chunk {number}")


def _errors(exchange: Exchange) -> tuple[tuple[int, object], ...]:
    found: Sequence = sequence(exchange)
    return found.errors
