"""Shapes: whether a real answer is of the kind that a test has scripted, whatever its words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .mockserver.control.reading import Choice, Said, read_answer

if TYPE_CHECKING:
    from .mockserver.exchange import Answer


def shape_differences(scripted: Answer, real: Answer) -> list[str]:
    """Say, in sentences, where a real answer is not of the shape of the scripted one.

    The status of an error, whole or streamed, a text where there is a text, JSON where there is
    JSON, a call of each function that is called, with arguments that are JSON. What the contract
    says of an answer is judged elsewhere.
    """
    return list(_differences(scripted, real))


def _differences(scripted: Answer, real: Answer) -> Iterator[str]:
    wanted, got = _said(scripted), _said(real)
    if scripted.status >= 400 or real.status >= 400:
        if scripted.status != real.status:
            is_error = scripted.status >= 400
            what = f"an error of status {scripted.status}" if is_error else "an answer"
            yield f"{what} was scripted; the service answered with {real.status}{_message(got)}"
        return
    if scripted.streamed != real.streamed:
        kinds = {True: "a stream", False: "a whole answer"}
        yield f"{kinds[scripted.streamed]} was scripted, and {kinds[real.streamed]} came"
    if got.error is not None and wanted.error is None:
        yield f"an answer was scripted; the stream ended in an error{_message(got)}"
    for index, choice in enumerate(wanted.choices):
        if index >= len(got.choices):
            yield f"choice {index} was scripted, and did not come"
            continue
        yield from _of_choice(choice, got.choices[index])


def _of_choice(wanted: Choice, got: Choice) -> Iterator[str]:
    if wanted.content and not got.content:
        came = ", ".join(call["name"] for call in got.tool_calls)
        yield f"a text was scripted, and none came{f' (it calls {came})' if came else ''}"
    elif _is_data(wanted.content) and not _is_data(got.content):
        yield f"JSON was scripted, and a text came that is none: {_cut(got.content)}"
    missing = Counter(call["name"] for call in wanted.tool_calls)
    missing.subtract(call["name"] for call in got.tool_calls)
    for name, count in missing.items():
        if count > 0:
            came = ", ".join(call["name"] for call in got.tool_calls) or "none"
            yield f"a call of {name} was scripted; it calls {came}"
    for call in got.tool_calls if wanted.tool_calls else ():
        if _parsed(call["arguments"]) is _NO_JSON:
            yield f"the arguments of {call['name']} are no JSON: {_cut(call['arguments'])}"


def _said(answer: Answer) -> Said:
    return read_answer(answer.status, answer.streamed, answer.parts)


_NO_JSON = object()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON


def _is_data(text: str) -> bool:
    """Whether a text is JSON that is meant as JSON: an object or an array."""
    return isinstance(_parsed(text), dict | list)


def _message(said: Said) -> str:
    error = said.error
    inner = error.get("error", error) if isinstance(error, dict) else error
    message = inner.get("message") if isinstance(inner, dict) else inner
    return f": {_cut(message)}" if isinstance(message, str) and message else ""


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return json.dumps(text if len(text) <= 120 else f"{text[:120]}…", ensure_ascii=False)
