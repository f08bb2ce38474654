"""SEMANTICS of what an answer says of itself: id, model, time, service tier; and of models."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..exchange import Exchange, Probe
from ..rule import Bench, Breach, Found
from .answers import CHAT_RESPONSE, OBSERVED, Answer, AnswerBook, answer_of
from .asked import mapping, number
from .showing import shown

BOOK = AnswerBook("SEMANTICS")

# Unix seconds in which an answer may have been made: from 2001 to 2286. Milliseconds and
# microseconds are far behind, seconds since the start of a process far before.
_SOONEST, _LATEST = 1_000_000_000, 9_999_999_999


@BOOK.answer_rule(
    "SEM-ID",
    "SHOULD",
    "The id of a chat completion begins with `chatcmpl-`.",
    source=OBSERVED,
    guards="It tells the kinds of answers in its logs apart by their ids.",
    when=lambda answer: answer.is_chat and isinstance(answer.value.get("id"), str),
    needs="a chat completion",
)
def id_prefix(answer: Answer, bench: Bench) -> Iterator[Found]:
    came = str(answer.value["id"])
    if not (came.startswith("chatcmpl-") and came != "chatcmpl-"):
        yield answer.breach(("id",), "chatcmpl-…", shown(came))


@BOOK.answer_rule(
    "SEM-MODEL",
    "MUST",
    "The model of the answer is the model of the request.",
    source=f"{CHAT_RESPONSE}/model",
    guards="It books the cost to a model by the answer's name, and finds no price.",
    when=lambda answer: all(
        isinstance(body.get("model"), str) for body in (answer.value, answer.asked.body)
    ),
)
def model(answer: Answer, bench: Bench) -> Iterator[Found]:
    wanted, came = answer.asked["model"], answer.value["model"]
    if wanted != came:
        yield answer.breach(("model",), shown(wanted), shown(came))


@BOOK.answer_rule(
    "SEM-CREATED",
    "MUST",
    "`created` is a Unix time in seconds.",
    source=f"{CHAT_RESPONSE}/created",
    guards="It shows that the answer was made in the year 57970.",
    when=lambda answer: number(answer.value.get("created")) is not None,
)
def created(answer: Answer, bench: Bench) -> Iterator[Found]:
    yield from _time(answer, answer.value.get("created"), ("created",))


@BOOK.answer_rule(
    "SEM-TIME-CREATED",
    "SHOULD",
    "`time_info.created` is a Unix time in seconds.",
    source=f"{CHAT_RESPONSE}/time_info/properties/created",
    guards="It orders its measurements by a time that is none.",
    when=lambda answer: number(mapping(answer.value.get("time_info")).get("created")) is not None,
    needs="a completion with `time_info`",
)
def time_created(answer: Answer, bench: Bench) -> Iterator[Found]:
    yield from _time(answer, answer.value["time_info"]["created"], ("time_info", "created"))


def _time(answer: Answer, came: Any, at: tuple[str, ...]) -> Iterator[Found]:
    value = number(came)
    if value is not None and not _SOONEST <= value <= _LATEST:
        yield answer.breach(at, "Unix seconds, like 1767225600", shown(came))


# ---------------------------------------------------------------------- service tiers


def _tells_tier(answer: Answer) -> bool:
    return answer.value.get("service_tier_used") is not None


@BOOK.answer_rule(
    "SEM-TIER-UNASKED",
    "MUST",
    "service_tier_used is there only where the request says `service_tier: auto`.",
    source=f"{CHAT_RESPONSE}/service_tier_used",
    guards="It books an answer to a tier that it never asked for.",
    when=lambda answer: answer.is_chat and answer.asked["service_tier"] != "auto",
    needs="a chat completion asked without `service_tier: auto`",
)
def tier_unasked(answer: Answer, bench: Bench) -> Iterator[Found]:
    if _tells_tier(answer):
        came = shown(answer.value["service_tier_used"])
        yield answer.breach(("service_tier_used",), "none", came)


@BOOK.answer_rule(
    "SEM-TIER-UNTOLD",
    "SHOULD",
    "A whole answer to `service_tier: auto` says in service_tier_used which tier it was.",
    source=f"{CHAT_RESPONSE}/service_tier_used",
    guards="It does not learn what it pays for.",
    # The chunk is a closed object, and does not have the key.
    when=lambda answer: (
        answer.is_chat and not answer.is_streamed and answer.asked["service_tier"] == "auto"
    ),
    needs="a whole chat completion asked with `service_tier: auto`",
)
def tier_untold(answer: Answer, bench: Bench) -> Iterator[Found]:
    if not _tells_tier(answer):
        yield answer.breach(("service_tier_used",), "the tier that was used", "none")


# ---------------------------------------------------------------------- several exchanges


@BOOK.probe_rule(
    "SEM-IDS",
    "MUST",
    "Different requests get different ids.",
    source=f"{CHAT_RESPONSE}/id",
    guards="It keeps answers by their ids, and writes one over another.",
    probe="ids",
    needs="two different requests for completions",
)
def ids(probe: Probe, bench: Bench) -> Iterator[Found]:
    answers = _answers(probe, "a", "b")
    if answers is None:
        return
    one, other = (answer.value.get("id") for answer in answers)
    if one == other and isinstance(one, str):
        yield answers[1].breach(("id",), f"another id than {shown(one)}", shown(other))


def _answers(probe: Probe, *roles: str) -> list[Answer] | None:
    """Return the answers of a probe's exchanges; None where one has none that can be judged."""
    exchanges: Mapping[str, Exchange] = probe.exchanges
    found = [answer_of(exchanges[role]) if role in exchanges else None for role in roles]
    answers = [answer for answer in found if answer is not None]
    return answers if len(answers) == len(roles) else None


# ---------------------------------------------------------------------- models


def _models(exchange: Exchange) -> list[Any] | None:
    """Return the list of models that came, if the operation is the one that lists them."""
    operation = exchange.operation
    if operation is None or operation.answer != "model.list" or not exchange.accepted:
        return None
    data = mapping(exchange.answer.data).get("data")
    return data if isinstance(data, list) else None


@BOOK.rule(
    "SEM-MODEL-LIST",
    "MUST",
    "Every model of the list has an id, and another one than the others.",
    source="#/components/schemas/Model/properties/id",
    guards="It offers its user an empty name, or one model twice.",
    applies=lambda exchange: _models(exchange) is not None,
    needs="a list of models",
)
def model_list(exchange: Exchange, bench: Bench) -> Iterator[Found]:
    seen: set[str] = set()
    for place, item in enumerate(_models(exchange) or ()):
        name = mapping(item).get("id")
        if isinstance(name, str):
            if not name or name in seen:
                yield Breach("an id of its own", shown(name), f"/data/{place}/id")
                return
            seen.add(name)


def _named_model(exchange: Exchange, bench: Bench) -> str | None:
    """Return the id of the model that the path of a request names."""
    route = bench.contract.route(exchange.sent.method, exchange.sent.target.partition("?")[0])
    return next(iter(route.path_values.values()), None) if route else None


@BOOK.rule(
    "SEM-MODEL-ID",
    "MUST",
    "The model that comes is the one that the path names.",
    source="#/paths/~1v1~1models~1{model_id}/get",
    guards="It checks whether a model is there, and believes that it is.",
    applies=lambda exchange: (
        exchange.operation is not None
        and exchange.operation.answer == "model"
        and exchange.accepted
        and exchange.meant == "valid"
        and isinstance(mapping(exchange.answer.data).get("id"), str)
    ),
    needs="a model asked for by its id",
)
def model_id(exchange: Exchange, bench: Bench) -> Iterator[Found]:
    wanted, came = _named_model(exchange, bench), exchange.answer.data["id"]
    if wanted is not None and wanted != came:
        yield Breach(shown(wanted), shown(came), "/id")
