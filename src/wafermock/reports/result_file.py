"""The result file: a run as one JSON document, `wafermock-run.json`, and a run read from one.

The document mirrors the result model, field by field; `run.schema.json` (JSON Schema 2020-12)
describes it. Bytes are `{"text": "..."}` where they are UTF-8, else `{"base64": "..."}`. Mappings
are sorted and everything is ASCII, so that the same run gives the same bytes.
"""

import base64
import binascii
import json
import math
import types
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from .run import VERSION, Run

FORMAT = "wafermock-run"
FILE_NAME = "wafermock-run.json"


class ResultFileError(ValueError):
    """A file that is no result file, in one sentence: which file, where in it, what is wrong."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the result file."""
    text = files(__package__).joinpath("run.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def write(run: Run) -> bytes:
    """Return the result file of a run: ASCII, the same bytes for the same run.

    Raises ValueError for what JSON cannot carry: a number that is not finite, a setting that is
    not JSON data. Two halves of a surrogate pair that stand side by side become one character.
    """
    document = {"format": FORMAT, "version": VERSION, **_plain(run, Run, "")}
    return json.dumps(document, indent=1, allow_nan=False).encode("ascii") + b"\n"


def read(data: bytes, name: str = FILE_NAME) -> Run:
    """Read a run from the bytes of a result file; `name` is what errors call the file.

    Keys that are not known are passed over, since a later minor version may have added them.

    Raises:
        ResultFileError: The bytes are no JSON, no result file, one of a later major version, or
            break the schema; the sentence has the JSON pointer of the place.
    """
    document = _parse(data, name)
    try:
        _check_head(document)
        run: Run = _typed(document, Run, "")
        _check_references(run)
    except _Fault as fault:
        place = f"{name}: {fault.pointer}" if fault.pointer else name
        raise ResultFileError(f"{place}: {fault.reason}") from None
    return run


# ---------------------------------------------------------------------- model to JSON


def _plain(value: Any, kind: Any, pointer: str) -> Any:
    """Return a value of the model as JSON data. Numbers take the kind that the model declares, so
    that 1 and 1.0 are the same in the file where they are the same in the run."""
    if _is_record(kind):
        return {
            key: _plain(getattr(value, key), declared, f"{pointer}/{key}")
            for key, declared, _ in _fields(kind)
        }
    if kind is bytes:
        try:
            return {"text": value.decode("utf-8")}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        within = get_args(kind)[1] if get_args(kind) else Any
        if odd := [key for key in value if not isinstance(key, str)]:
            raise ValueError(f"{pointer}: the key {odd[0]!r} is no string, as JSON wants it")
        return {key: _plain(value[key], within, f"{pointer}/{key}") for key in sorted(value)}
    if isinstance(value, tuple | list):
        kinds = _kinds_of_items(kind, len(value))
        items = enumerate(zip(value, kinds, strict=True))
        return [_plain(item, each, f"{pointer}/{index}") for index, (item, each) in items]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        if not math.isfinite(value):
            raise ValueError(f"{pointer}: {value} is no number that JSON can carry")
        return float(value) if float in _alternatives(kind) else value
    raise ValueError(f"{pointer}: {type(value).__name__} is no JSON data")


# ---------------------------------------------------------------------- JSON to model


class _Fault(Exception):
    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(pointer, reason)
        self.pointer, self.reason = pointer, reason


_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean",
          int: "an integer", float: "a number", type(None): "null"}  # fmt: skip


def _unfit(value: Any, wanted: str, pointer: str) -> NoReturn:
    shown = _NAMES[type(value)]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        text = json.dumps(value)
        shown = text if len(text) <= 60 else f"{text[:60]}..."
    raise _Fault(pointer, f"{wanted} is wanted, not {shown}")


def _typed(value: Any, kind: Any, pointer: str) -> Any:
    """Return JSON data as what the model declares there. Raises _Fault."""
    origin = get_origin(kind)
    if kind is Any:
        return value
    if _is_record(kind):
        return _record(value, kind, pointer)
    if kind is bytes:
        return _bytes(value, pointer)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(kind):
            return None
        return _typed(value, get_args(kind)[0], pointer)
    if origin is Literal:
        if value not in get_args(kind) or not isinstance(value, str):
            _unfit(value, f"one of {', '.join(get_args(kind))}", pointer)
        return value
    if origin is tuple:
        return _tuple(value, kind, pointer)
    if origin is not None:  # a mapping
        if not isinstance(value, dict):
            _unfit(value, "an object", pointer)
        within = get_args(kind)[1]
        return {key: _typed(item, within, _join(pointer, key)) for key, item in value.items()}
    return _scalar(value, kind, pointer)


def _scalar(value: Any, kind: type, pointer: str) -> Any:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if kind is int and whole and not isinstance(value, bool):
        return int(value)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise _Fault(pointer, "the number is too large") from None
    if kind is str and isinstance(value, str):
        return value
    _unfit(value, _NAMES[kind], pointer)


def _record(value: Any, kind: Any, pointer: str) -> Any:
    if not isinstance(value, dict):
        _unfit(value, "an object", pointer)
    taken = {}
    for key, declared, required in _fields(kind):
        if key in value:
            taken[key] = _typed(value[key], declared, f"{pointer}/{key}")
        elif required:
            raise _Fault(pointer, f"the key {key!r} is missing")
    return kind(**taken)


def _bytes(value: Any, pointer: str) -> bytes:
    if isinstance(value, dict):
        text, coded = value.get("text"), value.get("base64")
        if isinstance(text, str) and coded is None:
            try:
                return text.encode("utf-8")
            except UnicodeEncodeError:
                raise _Fault(f"{pointer}/text", "half a surrogate pair is no text") from None
        if isinstance(coded, str) and text is None:
            try:
                return base64.b64decode(coded, validate=True)
            except (binascii.Error, ValueError):
                raise _Fault(f"{pointer}/base64", "this is no base64") from None
    raise _Fault(pointer, 'bytes are wanted: {"text": "..."} or {"base64": "..."}')


def _tuple(value: Any, kind: Any, pointer: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        _unfit(value, "an array", pointer)
    kinds = _kinds_of_items(kind, len(value))
    if len(kinds) != len(value):
        raise _Fault(pointer, f"{len(kinds)} items are wanted, not {len(value)}")
    items = enumerate(zip(value, kinds, strict=True))
    return tuple(_typed(item, each, f"{pointer}/{index}") for index, (item, each) in items)


# ---------------------------------------------------------------------- what the model declares


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    """Return name, type, and whether it must be there, of each field."""
    hints = get_type_hints(kind)
    return tuple(
        (
            field.name,
            hints[field.name],
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
    )


def _is_record(kind: Any) -> bool:
    return is_dataclass(kind)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _kinds_of_items(kind: Any, count: int) -> tuple[Any, ...]:
    """Return the type of each item of a tuple; `tuple[X, ...]` has as many X as there are items."""
    declared = get_args(kind)
    if get_origin(kind) is not tuple:
        return (Any,) * count
    return (declared[0],) * count if declared[1:] == (Ellipsis,) else declared


def _join(pointer: str, key: str) -> str:
    """Add a key to a JSON pointer (RFC 6901, section 3)."""
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


# ---------------------------------------------------------------------- the file as a whole


def _parse(data: bytes, name: str) -> Any:
    def refuse(text: str) -> NoReturn:
        raise ResultFileError(f"{name}: {text} is no JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(taken := dict(pairs)) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise ResultFileError(f"{name}: the key {twice!r} stands twice in one object")
        return taken

    if not data.strip():
        raise ResultFileError(f"{name}: the file is empty")
    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise ResultFileError(f"{name}: byte {error.start} is no UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ResultFileError(f"{name}: {place}: this is no JSON ({error.msg})") from None
    except RecursionError:
        raise ResultFileError(f"{name}: the JSON is nested too deeply") from None
    except ResultFileError:
        raise
    except ValueError as error:  # an integer of more digits than Python reads
        raise ResultFileError(f"{name}: {error}") from None


def _check_head(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _Fault("", f'this is no result file: it has no "format": "{FORMAT}"')
    version = document.get("version")
    major, _, minor = version.partition(".") if isinstance(version, str) else ("", "", "")
    if not (_is_number(major) and _is_number(minor)):
        raise _Fault("/version", f'a version like "{VERSION}" is wanted')
    if int(major) > int(VERSION.partition(".")[0]):
        raise _Fault(
            "/version",
            f"version {version} is newer than {VERSION}, which is all that this Wafermock reads: "
            "use a newer one",
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _check_references(run: Run) -> None:
    """Rules have ids of their own, and nothing speaks of a rule that is not there."""
    known = {rule.id for rule in run.rules}
    _once((rule.id for rule in run.rules), "/rules", "id")
    _once((verdict.rule for verdict in run.verdicts), "/verdicts", "rule")
    _once((finding.id for finding in run.findings), "/findings", "id")
    named = {
        "verdicts": [verdict.rule for verdict in run.verdicts],
        "findings": [finding.rule for finding in run.findings],
    }
    for section, rules in named.items():
        for index, rule in enumerate(rules):
            if rule not in known:
                raise _Fault(f"/{section}/{index}/rule", f"there is no rule {rule!r} in /rules")


def _once(names: Iterable[str], pointer: str, key: str) -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise _Fault(f"{pointer}/{index}/{key}", f"{name!r} is there already")
        seen.add(name)
