"""Answers that are errors: the catalogue's, or the document's own where that is another."""

import contextlib
import re
from typing import Any

from msgspec.structs import replace

from wafermock.spec import Contract, Operation, Response
from wafermock.spec.errors import ErrorEntry

from .declared import declared_status, placed
from .draws import digest
from .event_stream import encode_json
from .exchange import Answer
from .prefer import NONE, Preferences
from .refusal import Refusal


def fault_answer(contract: Contract, refusal: Refusal, operation: Operation | None) -> Answer:
    """Make the answer of a refusal that is a fault of the request's: with the catalogue's status,
    or the one that the operation declares for such a fault."""
    status = declared_status(contract.errors, operation, _entry(contract, refusal).status)
    return error_answer(contract, refusal, operation, status)


def error_answer(
    contract: Contract, refusal: Refusal, operation: Operation | None, status: int | None = None
) -> Answer:
    """Make the answer of a refusal; `operation` is what was asked for, where that is known.
    `status` overrules the catalogue's."""
    entry = _entry(contract, refusal)
    status = status or entry.status
    headers = {**entry.headers, **refusal.headers}
    body = entry.answer(refusal.faults, **refusal.values)
    declared = operation.response(status) if operation else None
    if operation and declared:
        own = status == entry.status and placed(declared, entry.media_type, body) == body
        if not own:
            # The document's own error may have no place for what is wrong: a header tells it.
            lines = [f.line for f in refusal.faults] or [entry.sentence(refusal.values)]
            headers["x-wafermock-violations"] = in_header(lines)
            with contextlib.suppress(Refusal):  # a schema that nothing can satisfy
                forms = contract.errors.forms(entry)
                answer = _as_declared(operation, declared, refusal, forms, status)
                return replace(answer, headers={**answer.headers, **headers})
    return Answer(status, {"content-type": entry.media_type, **headers}, (_encoded(body),))


def _as_declared(
    operation: Operation,
    declared: Response,
    refusal: Refusal,
    forms: list[ErrorEntry],
    status: int,
) -> Answer:
    """Answer in the shape that a document has for an error: with what the catalogue says, in one
    of its forms, where that has a place there; else invented. Raises Refusal where nothing can
    satisfy the schema."""
    for form in sorted(forms, key=lambda form: form.status != status):
        body = placed(declared, form.media_type, form.answer(refusal.faults, **refusal.values))
        if body is not None:
            return Answer(status, {"content-type": form.media_type}, (_encoded(body),))
    from . import generic  # not before it is needed: a first answer shall not wait for it

    identity = digest(operation.id, forms[0].name)
    return generic.answer(operation, declared, identity, NONE, status=status)


def _entry(contract: Contract, refusal: Refusal) -> ErrorEntry:
    error = refusal.error
    return contract.errors[error] if isinstance(error, str) else error


def _encoded(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else encode_json(body)


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
