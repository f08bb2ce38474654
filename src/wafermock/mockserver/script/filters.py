"""The filters, tests and functions of templates: each takes JSON data and says what it costs."""

import json
from collections.abc import Callable
from typing import Any

from .budget import VALUE, Budget

# The digits that a text may have to be read as a number.
_MOST_DIGITS = 15


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is wanted, not {kind(value)}")
    return value


def _list(value: Any) -> list[Any]:
    if isinstance(value, list | tuple | dict):
        return list(value)
    raise TypeError(f"a list is wanted, not {kind(value)}")


def whole(value: Any) -> int:
    """Return a whole number. Raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"a whole number is wanted, not {kind(value)}")
    return value


def kind(value: Any) -> str:
    """Name the type of a value for people."""
    names = {
        str: "a text",
        bool: "true or false",
        list: "a list",
        tuple: "a list",
        dict: "a mapping",
    }
    if value is None:
        return "null"
    return names.get(type(value), "a number" if isinstance(value, int | float) else "a function")


def written(value: Any) -> str:
    """Write a value into a text: texts as they are, anything else as JSON."""
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float | list | tuple | dict | None):
        raise TypeError("a function is no text; call it, as {{ words(3) }}")
    return json.dumps(value, ensure_ascii=False)


# ---------------------------------------------------------------------- filters


def _cased(change: Callable[[str], str]) -> Callable[[Budget, Any], str]:
    def filter(budget: Budget, value: Any) -> str:
        budget.work(value)
        return change(_text(value))

    return filter


def _length(budget: Budget, value: Any) -> int:
    if not isinstance(value, str | list | tuple | dict):
        raise TypeError(f"{kind(value)} has no length")
    return len(value)


def _first(budget: Budget, value: Any) -> Any:
    budget.work(value)
    return next(iter(value if isinstance(value, str) else _list(value)), None)


def _last(budget: Budget, value: Any) -> Any:
    budget.work(value)
    items = value if isinstance(value, str) else _list(value)
    return items[-1] if items else None


def _join(budget: Budget, value: Any, separator: Any = "") -> str:
    budget.work(value)
    texts = []
    for item in _list(value):
        budget.deep(item)
        budget.work(separator)
        texts.append(written(item))
    return _text(separator).join(texts)


def _split(budget: Budget, value: Any, separator: Any = None) -> list[str]:
    budget.work(value)
    return _text(value).split(None if separator is None else _text(separator))


def _replace(budget: Budget, value: Any, old: Any, new: Any) -> str:
    text, before, after = _text(value), _text(old), _text(new)
    budget.work(text)
    budget.take(text.count(before) * len(after))
    return text.replace(before, after)


def _truncate(budget: Budget, value: Any, length: Any = 255, end: Any = "…") -> str:
    budget.work(value)
    text = _text(value)
    return text if len(text) <= whole(length) else text[: max(length, 0)] + _text(end)


def _default(budget: Budget, value: Any, other: Any = "", also_false: Any = False) -> Any:
    from jinja2 import Undefined

    return other if isinstance(value, Undefined) or (also_false and not value) else value


def _tojson(budget: Budget, value: Any) -> str:
    budget.deep(value)
    return json.dumps(value, ensure_ascii=False)


def _fromjson(budget: Budget, value: Any) -> Any:
    budget.work(value)
    try:
        return json.loads(_text(value))
    except ValueError as error:
        raise TypeError(f"not JSON: {error}") from None


def _string(budget: Budget, value: Any) -> str:
    budget.deep(value)
    return written(value)


def _int(budget: Budget, value: Any, other: Any = 0) -> Any:
    try:
        return int(_digits(value))
    except (ArithmeticError, TypeError, ValueError):
        return other


def _float(budget: Budget, value: Any, other: Any = 0.0) -> Any:
    try:
        return float(_digits(value))
    except (ArithmeticError, TypeError, ValueError):
        return other


def _digits(value: Any) -> Any:
    if isinstance(value, str) and len(value.strip()) > _MOST_DIGITS:
        raise ValueError("too many digits")
    return value


def _round(budget: Budget, value: Any, digits: Any = 0) -> Any:
    return round(value, max(-_MOST_DIGITS, min(whole(digits), _MOST_DIGITS)))


def _reverse(budget: Budget, value: Any) -> Any:
    budget.work(value)
    return value[::-1] if isinstance(value, str) else _list(value)[::-1]


def _sort(budget: Budget, value: Any) -> list[Any]:
    budget.deep(value)
    try:
        return sorted(_list(value))
    except TypeError:
        raise TypeError("only numbers, or only texts, can be sorted") from None


def _unique(budget: Budget, value: Any) -> list[Any]:
    budget.deep(value)
    first: dict[str, Any] = {}
    for item in _list(value):
        first.setdefault(json.dumps(item, sort_keys=True), item)
    return list(first.values())


def _items(budget: Budget, value: Any) -> list[Any]:
    if not isinstance(value, dict):
        raise TypeError(f"a mapping is wanted, not {kind(value)}")
    budget.work(value)
    return [[key, item] for key, item in value.items()]


def _sum(budget: Budget, value: Any) -> Any:
    budget.work(value)
    items = _list(value)
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise TypeError(f"a sum is of numbers, not {kind(item)}")
    return sum(items)


FILTERS: dict[str, Callable[..., Any]] = {
    "abs": lambda budget, value: abs(value),
    "capitalize": _cased(str.capitalize),
    "default": _default,
    "first": _first,
    "float": _float,
    "fromjson": _fromjson,
    "int": _int,
    "items": _items,
    "join": _join,
    "last": _last,
    "length": _length,
    "lower": _cased(str.lower),
    "replace": _replace,
    "reverse": _reverse,
    "round": _round,
    "sort": _sort,
    "split": _split,
    "string": _string,
    "sum": _sum,
    "title": _cased(str.title),
    "tojson": _tojson,
    "trim": _cased(str.strip),
    "truncate": _truncate,
    "unique": _unique,
    "upper": _cased(str.upper),
}


# ---------------------------------------------------------------------- tests


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _defined(value: Any) -> bool:
    from jinja2 import Undefined

    return not isinstance(value, Undefined)


TESTS: dict[str, Callable[..., bool]] = {
    "boolean": lambda value: isinstance(value, bool),
    "defined": _defined,
    "even": lambda value: whole(value) % 2 == 0,
    "false": lambda value: value is False,
    "list": lambda value: isinstance(value, list | tuple),
    "mapping": lambda value: isinstance(value, dict),
    "none": lambda value: value is None,
    "number": _is_number,
    "odd": lambda value: whole(value) % 2 == 1,
    "string": lambda value: isinstance(value, str),
    "true": lambda value: value is True,
    "undefined": lambda value: not _defined(value),
}


# ---------------------------------------------------------------------- functions


def _range(budget: Budget, *ends: Any) -> list[int]:
    numbers = range(*map(whole, ends))
    budget.take(VALUE * len(numbers))
    return list(numbers)


FUNCTIONS: dict[str, Callable[..., Any]] = {"range": _range}


# ---------------------------------------------------------------------- what stands in for syntax


def _slice(budget: Budget, value: Any, start: Any, stop: Any, step: Any) -> Any:
    if not isinstance(value, str | list | tuple):
        raise TypeError(f"a text or a list is wanted, not {kind(value)}")
    budget.work(value)
    ends = (None if end is None else whole(end) for end in (start, stop, step))
    return value[slice(*ends)]


def _concat(budget: Budget, values: list[Any]) -> str:
    budget.deep(values)
    return "".join(map(written, values))


def _seen(budget: Budget, value: Any) -> Any:
    budget.deep(value)
    return value


def _shown(budget: Budget, value: Any) -> str:
    budget.deep(value)
    return written(value)


def _over(budget: Budget, value: Any) -> Any:
    if not isinstance(value, str | list | tuple | dict):
        raise TypeError(f"a loop goes over a list, not over {kind(value)}")
    return budget.over(value)


# What Jinja2 would compile to Python's own operators, past the environment.
SYNTAX: dict[str, Callable[..., Any]] = {
    "concat": _concat,
    "over": _over,
    "seen": _seen,
    "shown": _shown,
    "slice": _slice,
}
