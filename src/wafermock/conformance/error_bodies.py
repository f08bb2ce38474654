"""The bodies of errors: which shape they have, and what they say."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from wafermock.spec import Schema
from wafermock.spec.alternatives import NULL
from wafermock.spec.pointer import Pointer, parse_pointer, resolve
from wafermock.spec.schema import SchemaSpace

from .bodies import bodies, faults, response_of
from .exchange import Exchange
from .once import once
from .open_objects import closed

# The shapes that clients know: `{"message", "type", "param", "code"}`; the same inside `error`
# (servers that follow another vendor); `detail` (FastAPI, and the contract's HTTPValidationError).
# `own`: none of them, but the one that a document declares for the status.
Shape = Literal["flat", "nested", "FastAPI", "own"]

FLAT_KEYS = ("message", "type", "param", "code")

# One body of each, with the keys that it has to have.
_FLAT = dict.fromkeys(FLAT_KEYS, "x")
_KNOWN = (
    _FLAT,
    {"error": {"message": "x"}},
    {"error": _FLAT},
    {"detail": [{"loc": ["x"], "msg": "x", "type": "x"}]},
)

# Of one error so many texts, and so many characters in all, are looked through.
MOST_TEXTS = 1_000
MOST_CHARACTERS = 65_536


@dataclass(frozen=True)
class ErrorBody:
    """An error read. `shape` is None for none that is known, `why` says what is amiss then.
    `message` is what it says; empty where it says nothing."""

    shape: Shape | None
    message: str = ""
    why: str = ""


def read_error(value: Any) -> ErrorBody:
    """Read the JSON value of an error's body, whatever it is."""
    if not isinstance(value, dict):
        return ErrorBody(None, why=f"the body is {_kind(value)}, not an object")
    if "detail" in value:
        return _fastapi(value["detail"])
    if "error" in value:
        return _nested(value["error"])
    if "message" in value:
        return _flat(value)
    return ErrorBody(None, why=f"the keys are {_names(value)}")


def _flat(value: dict[str, Any]) -> ErrorBody:
    if not isinstance(value["message"], str):
        return ErrorBody(None, why=f"message is {_kind(value['message'])}")
    lacking = [key for key in FLAT_KEYS if key not in value]
    if lacking:
        return ErrorBody(None, value["message"], f"{', '.join(lacking)} is not there")
    return ErrorBody("flat", value["message"])


def _nested(error: Any) -> ErrorBody:
    if not isinstance(error, dict):
        return ErrorBody(None, why=f"error is {_kind(error)}, not an object")
    if not isinstance(error.get("message"), str):
        return ErrorBody(None, why=f"error.message is {_kind(error.get('message'))}")
    return ErrorBody("nested", error["message"])


def _fastapi(detail: Any) -> ErrorBody:
    if isinstance(detail, str):
        return ErrorBody("FastAPI", detail)
    if not isinstance(detail, list) or not detail:
        return ErrorBody(None, why=f"detail is {_kind(detail)}")
    said = []
    for index, item in enumerate(detail):
        if not isinstance(item, dict) or not isinstance(item.get("msg"), str):
            return ErrorBody(None, why=f"detail.{index} has no msg that is a text")
        lacking = [key for key in ("loc", "type") if key not in item]
        if lacking:
            return ErrorBody(None, why=f"detail.{index} has no {', '.join(lacking)}")
        said.append(item["msg"])
    # One fault that is told as nothing is a fault that is not told.
    return ErrorBody("FastAPI", "\n".join(said) if all(text.strip() for text in said) else "")


@once
def error_of(exchange: Exchange) -> ErrorBody:
    """Read the error that a whole answer is: in a shape that clients know, or in the one of its own
    that the contract declares for the status. Such a one says what its bytes say."""
    error = read_error(exchange.answer.data)
    if error.shape is None and declares_own_shape(exchange) and _is_as_declared(exchange):
        said = exchange.answer.text[:MOST_CHARACTERS].decode("utf-8", "replace")
        return ErrorBody("own", said or "(no body)")
    return error


@once
def declares_own_shape(exchange: Exchange) -> bool:
    """Say whether the contract declares for the status that came a body in none of the shapes that
    clients know, or no body. Where it leaves open which keys there are, those are meant; of several
    alternatives those count that the body is one of."""
    response = response_of(exchange)
    if response is None:
        return False
    if not response.content:
        return not exchange.answer.text
    return any(
        not _has_a_known_shape(body.schema, alternative)
        for body in bodies(exchange)
        for alternative in _alternatives(body.schema, body.value)
    )


def _alternatives(schema: Schema, value: Any) -> list[Schema]:
    """Return the alternatives of a schema that a value is one of, null apart; the schema itself
    where there are none."""
    whole = _referred(schema.space, schema.pointer)
    found = [
        _referred(schema.space, (*whole.pointer, keyword, index))
        for keyword in ("anyOf", "oneOf")
        for index, branch in enumerate(_list_of(whole.node, keyword))
        if branch != NULL
    ]
    return [branch for branch in found if branch.is_valid(value)] or [schema]


def _referred(space: SchemaSpace, at: Pointer) -> Schema:
    """Return what a schema refers to. What a discriminator chooses is compiled there alone."""
    node = resolve(space.root, at)
    while isinstance(node, dict) and "$ref" in node:  # a contract has no circles of them
        at = parse_pointer(node["$ref"])
        node = resolve(space.root, at)
    return space.at(at)


def _list_of(node: Any, keyword: str) -> list[Any]:
    return node.get(keyword, []) if isinstance(node, dict) else []


def _has_a_known_shape(schema: Schema, alternative: Schema) -> bool:
    forms = [form for one in (schema, alternative) for form in (one, closed(one))]
    return any(all(form.is_valid(body) for form in forms) for body in _KNOWN)


def _is_as_declared(exchange: Exchange) -> bool:
    """Say whether the body of an error is valid by what the contract declares for its status. No,
    where nothing is declared."""
    response = response_of(exchange)
    if response is not None and not response.content:
        return not exchange.answer.text
    return bool(bodies(exchange)) and all(fault.is_open for fault in faults(exchange))


@once
def of_http_itself(exchange: Exchange) -> bool:
    """Say whether an error is one that HTTP's own reader gives, before it is known which operation
    is asked for: 400, to a head that it may not take (RFC 9112, section 2.2; `head` in the facts of
    the request), flat. What the operation declares says nothing of it."""
    received, data = exchange.received, exchange.answer.data
    if not exchange.purpose.facts.get("head") or received is None or received.status != 400:
        return False
    return (
        isinstance(data, dict)
        and set(FLAT_KEYS) <= data.keys() <= {*FLAT_KEYS, "id"}
        and all(isinstance(value, str) for value in data.values())
    )


@once
def error_events(exchange: Exchange) -> tuple[tuple[int, dict[str, Any]], ...]:
    """Return the events of a stream that are errors, each with its number; those that are flat,
    too."""
    return tuple(
        (number, chunk)
        for number, chunk in enumerate(exchange.answer.chunks)
        if isinstance(chunk, dict)
        and "choices" not in chunk
        and ("error" in chunk or "detail" in chunk or {"message", "type"} <= chunk.keys())
    )


@once
def refused_in_stream(exchange: Exchange) -> bool:
    """Say whether an answer is an event stream that begins with an error."""
    events = error_events(exchange)
    return exchange.answer.is_stream and bool(events) and events[0][0] == 0


@once
def clean_refusal(exchange: Exchange) -> str | None:
    """Return what a server says that refuses a request as it should: with a status of 400 to 499,
    a body of a known or a declared shape, and a message. None for anything else."""
    received = exchange.received
    if received is None or not 400 <= received.status < 500:
        return None
    error = error_of(exchange)
    if error.shape is None or not error.message.strip():
        return None
    return f"{received.status}: {shortened(error.message)}"


def is_absent(exchange: Exchange) -> bool:
    """Say whether a server has not got an operation that it may lack (`optional` in the facts of
    the request): who has no such path often says so in a page of the framework's."""
    received = exchange.received
    is_optional = bool(exchange.purpose.facts.get("optional"))
    return is_optional and received is not None and received.status in (404, 405, 501)


@once
def error_texts(exchange: Exchange) -> tuple[str, ...]:
    """Return every text that an error tells: of the whole answer, or of the events that are
    errors. Nothing where there is no error."""
    assert exchange.received is not None
    answer = exchange.answer
    found: list[str] = []
    if answer.is_stream:
        for _, event in error_events(exchange):
            found += texts_in(event)
    elif exchange.received.status >= 400:
        if answer.is_json:
            found += texts_in(answer.data)
        else:
            found.append(answer.text[:MOST_CHARACTERS].decode("utf-8", "replace"))
    return tuple(_up_to(found, MOST_CHARACTERS))


def _up_to(texts: list[str], most: int) -> Iterator[str]:
    for text in texts:
        if most <= 0:
            return
        yield text[:most]
        most -= len(text)


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value, keys as well; not without end."""
    waiting = [value]
    count = 0
    while waiting and count < MOST_TEXTS:
        count += 1
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += [*item.values(), *item][:MOST_TEXTS]
        elif isinstance(item, list):
            waiting += item[:MOST_TEXTS]


def shortened(text: str, most: int = 200) -> str:
    """Shorten a text to be told in one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "true or false",
    type(None): "null, or not there",
}


def _kind(value: Any) -> str:
    if value in ({}, [], ""):
        return "empty"
    return _KINDS.get(type(value), "a number")


def _names(value: dict[str, Any]) -> str:
    return shortened(", ".join(map(str, list(value)[:20]))) or "none"
