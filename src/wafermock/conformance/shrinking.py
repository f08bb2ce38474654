"""Shrinking: the smallest request that still shows what was found.

A request is made smaller step by step: fewer parameters, fewer turns, fewer words. Each step is
sent, and kept where the same rule is still broken in the same place.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

from wafermock.spec import Contract, Operation

from .exchange import Exchange, Sent
from .planned import JSON, Planned, encoded
from .rule import Bench, Rule
from .tally import Shown, Tally

# So many requests are spent on one finding, and so many findings are shrunk.
STEPS = 12
MOST = 20

Send = Callable[[Planned], Awaitable[Exchange | None]]


def shrinkable(shown: Shown) -> bool:
    """Say whether what was found was shown by one valid request with a plain body of JSON.

    What is wrong with an invalid one is one constraint already.
    """
    if len(shown.exchanges) != 1:
        return False
    exchange = shown.exchanges[0]
    sent = exchange.sent
    return (
        exchange.meant == "valid"
        and isinstance(exchange.asked, dict)
        and exchange.operation is not None
        and sent.header("content-encoding") is None
        and sent.header("content-type") == JSON
        and sent.chunks is None
    )


async def shrink(shown: Shown, rule: Rule, bench: Bench, send: Send) -> Shown:
    """Return the smallest showing of the same that was found. `send` gives None where there is no
    room for another request."""
    best, left = shown, STEPS
    going_on = True
    while going_on and left > 0:
        going_on = False
        exchange = best.exchanges[0]
        assert exchange.operation is not None
        for asked in smaller(exchange.asked):
            if left == 0 or not is_valid(asked, exchange.operation, bench.contract):
                continue
            left -= 1
            answer = await send(_with_body(exchange, asked))
            if answer is None:
                return best
            again = _shows(answer, rule, bench, shown.key)
            if again is not None:
                best = replace(again, count=shown.count, state=shown.state)
                going_on = True
                break
    return best


def smaller(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield smaller requests, those first that leave the most away."""
    messages = asked.get("messages")
    if isinstance(messages, list) and len(messages) > 1:
        yield {**asked, "messages": messages[-1:]}
    for name in asked:
        if name not in _NEEDED:
            yield {key: value for key, value in asked.items() if key != name}
    words = _shorter(asked)
    if words is not None:
        yield words
    for name, value in asked.items():
        if isinstance(value, list) and len(value) > 1 and name != "messages":
            yield {**asked, name: value[:1]}


# What no request can do without, or what would make one much dearer if it were left away.
_NEEDED = frozenset({"model", "messages", "prompt", "max_completion_tokens", "max_tokens"})
_SHORT = "Hi"


def _shorter(asked: dict[str, Any]) -> dict[str, Any] | None:
    """Return a request whose words are as short as can be; None: they are already."""
    if isinstance(asked.get("prompt"), str) and len(asked["prompt"]) > len(_SHORT):
        return {**asked, "prompt": _SHORT}
    messages = asked.get("messages")
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], dict):
        message = messages[0]
        if message.get("role") == "user" and message != {"role": "user", "content": _SHORT}:
            return {**asked, "messages": [{"role": "user", "content": _SHORT}]}
    return None


def is_valid(asked: Any, operation: Operation, contract: Contract) -> bool:
    """Say whether a request keeps the contract, rules between parameters included."""
    schema = operation.request_schema
    if schema is not None and not schema.is_valid(asked):
        return False
    model = contract.models.get(asked.get("model", ""))
    return not contract.requirements.unmet(asked, operation.id, model)


def _with_body(exchange: Exchange, asked: Any) -> Planned:
    sent: Sent = replace(exchange.sent, body=encoded(asked))
    return Planned(exchange.purpose, sent, exchange.operation, asked, len(sent.body) // 3 + 256)


def _shows(exchange: Exchange, rule: Rule, bench: Bench, key: tuple[str, str, str]) -> Shown | None:
    """Return how an exchange shows what was found, if it does."""
    tally = Tally([rule], bench)
    tally.exchange(exchange)
    return tally.shown.get(key)
