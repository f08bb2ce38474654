"""Answers that are errors: the catalogue's, or the document's own where that is another."""

import contextlib
import re
from typing import Any

from msgspec.structs import replace

from wafermock.spec import Contract, Operation, Response

from .composers import JSON
from .draws import digest
from .event_stream import encode_json
from .exchange import Answer
from .prefer import NONE, Preferences
from .refusal import Refusal


def error_answer(contract: Contract, refusal: Refusal, operation: Operation | None) -> Answer:
    """Make the answer of a refusal; `operation` is what was asked for, where that is known."""
    error = refusal.error
    entry = contract.errors[error] if isinstance(error, str) else error
    headers = {"content-type": entry.media_type, **entry.headers, **refusal.headers}
    body = entry.answer(refusal.faults, **refusal.values)
    declared = operation.response(entry.status) if operation else None
    if operation and declared and not _takes(declared, body):
        from . import generic  # not before it is needed: a first answer shall not wait for it

        identity = digest(operation.id, entry.name)
        with contextlib.suppress(Refusal):  # a schema that nothing can satisfy
            own = generic.answer(operation, declared, identity, NONE, status=entry.status)
            # The document's own error has no place for what is wrong: a header tells it.
            lines = [f.line for f in refusal.faults] or [entry.sentence(refusal.values)]
            told = {"x-wafermock-violations": in_header(lines)}
            return replace(own, headers={**own.headers, **refusal.headers, **told})
    raw = body.encode() if isinstance(body, str) else encode_json(body)
    return Answer(entry.status, headers, (raw,))


def preferred_error(contract: Contract, operation: Operation, preferences: Preferences) -> Answer:
    """Make the error whose status a client prefers. Raises Refusal where nothing declares it."""
    code = preferences.code or 500
    response = operation.response(code)
    for entry in contract.errors.of_status(code):
        wanted = preferences.example in (None, entry.name)
        if wanted and (operation.answer or _shows(response, entry.name)):
            return error_answer(contract, Refusal(entry), operation)
    if response is None:
        raise undeclared(operation, code)
    from . import generic

    identity = digest(operation.id, code)
    return generic.answer(operation, response, identity, preferences, status=code)


def undeclared(operation: Operation, status: int) -> Refusal:
    """Say that an operation has no answer of a status."""
    known = ", ".join(operation.responses) or "none"
    return Refusal("undeclared_status", status=status, known=known)


def in_header(lines: list[str]) -> str:
    """Write faults as a header can carry them: printable ASCII, not longer than 4 KiB."""
    text = " ".join("; ".join(lines).split())
    return re.sub("[^ -~]", lambda match: ascii(match[0])[1:-1], text)[:4096]


def _shows(response: Response | None, error: str) -> bool:
    """Say whether a declared response shows an error of the catalogue among its examples."""
    content = response.content.values() if response else ()
    return any(error in media_type.examples for media_type in content)


def _takes(response: Response, body: Any) -> bool:
    """Say whether a declared error response is one that a body of the catalogue can stand for."""
    media_type = response.content.get(JSON)
    return not (media_type and media_type.schema) or media_type.schema.is_valid(body)
