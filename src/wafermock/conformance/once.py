"""What several rules want to know of an exchange is found out once, and kept with it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from .exchange import Exchange

T = TypeVar("T")


def once(find: Callable[[Exchange], T]) -> Callable[[Exchange], T]:
    """Let a pure function of an exchange run once for each exchange.

    The value lives as long as the exchange, in its `__dict__`, as that of a `cached_property` does;
    it is no part of its equality. It is shared by all rules: not to be changed.
    """
    key = f"once {find.__module__}.{find.__qualname__}"

    @wraps(find)
    def found(exchange: Exchange) -> T:
        kept: dict[str, Any] = exchange.__dict__
        try:
            value: T = kept[key]
        except KeyError:
            value = kept[key] = find(exchange)
        return value

    return found
