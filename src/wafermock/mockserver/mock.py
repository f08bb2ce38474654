"""The mock: a pure function from a request, and the moment it comes at, to its answer."""

import contextlib
import re
from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from wafermock.spec import Contract, Operation, Response, Route
from wafermock.spec.faults import Fault, faults
from wafermock.spec.requirements import Unmet

from . import bounds
from .call import Call
from .canned import Canned, Uncanned
from .composers import COMPOSERS, JSON, Materials
from .decode import decode, holds_data
from .draws import digest, uuid4
from .event_stream import encode_json
from .exchange import STILL, Answer, Moment, Request
from .parameters import parameter_faults
from .prefer import NONE, Preferences, read_preferences
from .refusal import Refusal
from .reply import Reply
from .security import authorise

if TYPE_CHECKING:
    from .pace import Pace
    from .prompt_cache import PromptCache
    from .script import ScriptState

MIB = 1024 * 1024

Validation = Literal["strict", "warn", "off"]


@dataclass(frozen=True)
class Settings:
    """How a mock behaves.

    `seed` makes other words and ids. `validate`: `strict` refuses what breaks the contract,
    `warn` answers and tells in a header, `off` answers. `models`: `strict` knows the models of
    the catalogue only. With `api_key` no other key passes.
    `max_body` is in bytes, as sent and as inflated. `cache`: `pure` makes `cached_tokens` a
    figure of the request, `seen` counts what this mock has really read before. With
    `strict_script` a request that no rule of the script answers gets an error.
    """

    seed: int = 0
    validate: Validation = "strict"
    models: Literal["any", "strict"] = "any"
    api_key: str | None = None
    max_body: int = 10 * MIB
    cache: Literal["pure", "seen"] = "pure"
    pace: "Pace | None" = None
    strict_script: bool = False


@dataclass
class _Asked:
    """What is known of a request so far, whatever becomes of it."""

    request: Request
    moment: Moment
    preferences: Preferences
    scope: str
    operation: Operation | None = None
    identity: bytes = b""


class Mock:
    """Answers requests by a contract.

    Keeps no state that an answer depends on, but for the position in its script, and the prompts
    it has read where `cache` is `seen`.
    """

    def __init__(
        self,
        contract: Contract,
        settings: Settings = Settings(),
        script: "ScriptState | None" = None,
    ) -> None:
        self.contract = contract
        self.settings = settings
        self.script = script
        self._schemes = contract.document.get("components", {}).get("securitySchemes", {})
        self._canned: dict[str, Canned] = {}
        self._prompts = _prompt_cache() if settings.cache == "seen" else None
        self._heard_headers = tuple(sorted(_heard_headers(contract, self._schemes)))
        for operation in contract.operations:
            if operation.answer is not None and operation.answer not in COMPOSERS:
                known = ", ".join(sorted(COMPOSERS))
                raise ValueError(
                    f"{operation.method.upper()} {operation.path}: x-wafermock-answer is "
                    f"{operation.answer!r}, it can be {known}"
                )

    def answer(self, request: Request, moment: Moment = STILL, scope: str = "") -> Answer:
        """Answer a request. Never raises for anything a client sent.

        `scope` keeps the positions in the script apart, so that tests can share a server.
        """
        if self.script is not None and (recorded := self._recorded(request, scope)):
            return recorded
        preferences = read_preferences(request.headers.get("prefer"))
        asked = _Asked(request, moment, preferences, scope)
        try:
            answer = self._answer(asked)
        except Refusal as refusal:
            answer = self._error(refusal, asked.operation)
        if preferences.applied and answer.status < 400:
            headers = {**answer.headers, "preference-applied": preferences.applied}
            answer = replace(answer, headers=headers)
        return self._with_request_id(answer, asked)

    @property
    def is_pure(self) -> bool:
        """Whether the same request at the same moment always has the same answer."""
        return self._prompts is None and not (self.script and self.script.script.rules)

    def changed(self, script: "ScriptState | None", **settings: Any) -> "Mock":
        """Return the same mock with another script and some other settings."""
        other = copy(self)
        other.script = script
        other.settings = replace(self.settings, **settings)
        return other

    def heard(self, request: Request) -> tuple[Hashable, ...]:
        """Return all of a request that its answer depends on."""
        headers = tuple(map(request.headers.get, self._heard_headers))
        return (request.method, request.path, request.query, headers, request.body)

    def refuse(self, refusal: Refusal, request: Request) -> Answer:
        """Answer a request with an error that stands outside of it, such as a limit."""
        asked = _Asked(request, STILL, NONE, "")
        route = self.contract.route(request.method, request.path)
        asked.operation = route.operation if route else None
        return self._with_request_id(self._error(refusal, asked.operation), asked)

    def protocol_error(self, status: int, reason: str) -> Answer:
        """Answer what is no HTTP request at all."""
        name = "malformed_request" if status < 500 else "server_error"
        answer = self._error(Refusal(name, reason=" ".join(reason.split())), None)
        request_id = uuid4(digest("no request", status, reason))
        return replace(answer, headers={**answer.headers, "x-request-id": request_id})

    def _with_request_id(self, answer: Answer, asked: _Asked) -> Answer:
        """Name the request: by what it means where that is known, else by its bytes."""
        identity = asked.identity or digest(*self.heard(asked.request))
        request_id = uuid4(digest("request", identity))
        return replace(answer, headers={**answer.headers, "x-request-id": request_id})

    def _route(self, request: Request) -> Route:
        method = "GET" if request.method == "HEAD" else request.method
        route = self.contract.route(request.method, request.path) or self.contract.route(
            method, request.path
        )
        if route is None:
            methods = self.contract.methods(request.path)
            if methods:
                allowed = ", ".join(methods)
                raise Refusal(
                    "method_not_allowed",
                    headers={"Allow": allowed},
                    path=request.path,
                    method=request.method,
                    allowed=allowed,
                )
            raise Refusal("path_not_found", path=request.path)
        return route

    def _answer(self, asked: _Asked) -> Answer:
        request, settings = asked.request, self.settings
        route = self._route(request)
        operation = asked.operation = route.operation
        authorise(operation, self._schemes, request.headers, request.query, settings.api_key)
        code = asked.preferences.code
        if code is not None and not 200 <= code < 300:
            return self._preferred_error(operation, asked.preferences)
        body, schema_faults = self._read(asked, route)
        found = [*parameter_faults(route, request.query, request.headers), *schema_faults]
        if found and settings.validate == "strict":
            raise Refusal("validation_error", faults=found)
        lines = [fault.line for fault in found]
        for unmet in self._unmet(operation, body, request):
            if settings.validate == "strict":
                raise Refusal(unmet.error, **unmet.values)
            lines.append(unmet.line)
        call = Call(
            operation=operation,
            body=body if isinstance(body, dict) else {"": body},
            path_values=route.path_values,
            seed=settings.seed,
            fingerprint=self.contract.fingerprint,
            lenient=settings.validate != "strict",
            moment=asked.moment,
            pace=settings.pace,
        )
        asked.identity = call.identity
        answer = self._scripted(call, asked)
        if lines and settings.validate == "warn":
            headers = {**answer.headers, "x-wafermock-violations": _in_header(lines)}
            return replace(answer, headers=headers)
        return answer

    def _unmet(self, operation: Operation, body: Any, request: Request) -> list[Unmet]:
        """List the rules between parameters that a request breaks; the model comes first."""
        if operation.answer not in ("chat.completion", "text_completion"):
            return []
        models = self.contract.models
        name = body.get("model", "")
        if self.settings.models == "strict" and name not in models:
            raise Refusal("model_not_found", model=name)
        patch = request.headers.get("x-cerebras-version-patch", "")
        return self.contract.requirements.unmet(
            body,
            operation.id,
            models.get(name),
            int(patch) if patch.isdecimal() else None,
        )

    def _read(self, asked: _Asked, route: Route) -> tuple[Any, list[Fault]]:
        """Decode and judge a body; return what of it can be answered, and its faults."""
        request, wanted = asked.request, route.operation.request_body
        if wanted is None or not (request.body or wanted.required):
            return {}, []
        content_type = request.headers.get("content-type")
        body = decode(
            request.body,
            content_type,
            request.headers.get("content-encoding"),
            media_types=wanted.content,
            max_body=self.settings.max_body,
        )
        bounds.check_body(body)
        asked.identity = digest(route.operation.id, route.path_values, body)
        schema = wanted.schema_of(content_type) if holds_data(content_type) else None
        if schema is None:
            return body, []
        violations = schema.violations(body)
        if violations and self.settings.validate != "strict":
            from .mend import mend

            return mend(body, schema), faults(violations)
        return body, faults(violations)

    def _recorded(self, request: Request, scope: str) -> Answer | None:
        """Answer a request as it was recorded, whatever the contract says of it."""
        from .record.replay import acceptable, is_recorded
        from .script import Missed, Subject

        assert self.script is not None
        found = self.script.find(Subject(request, None, scope), among=is_recorded)
        if isinstance(found, Missed) or found.outcome.answer is None:
            return None
        from .acting import Acting

        identity = digest(*self.heard(request))
        acting = Acting(*found.outcome.acting(identity, found.position.hit))
        answer = acceptable(found.outcome.answer, request)
        return replace(answer, acting=acting or None, rule=found.rule.name)

    def _scripted(self, call: Call, asked: _Asked) -> Answer:
        """Answer by the script where a rule of it matches, else as without one."""
        if self.script is None:
            return self._compose(call, asked, None)
        from .script import Missed, Subject

        found = self.script.find(Subject(asked.request, call, asked.scope))
        if isinstance(found, Missed):
            # Both SDKs warm their connection whenever a client is made: no script is about that.
            if self.settings.strict_script and call.operation.request_body is not None:
                answer = self._error(found.refusal, call.operation)
            else:
                answer = self._compose(call, asked, None)
            nearest = tuple((rule.name, tuple(map(str, lacks))) for rule, lacks in found.nearest)
            return replace(answer, nearest=nearest)
        outcome = found.outcome
        acting, refusal = None, outcome.refusal
        if outcome.delivery or outcome.failure or outcome.defect:
            from .acting import Acting
            from .wire import refusal_of

            acting = Acting(*outcome.acting(call.identity, found.position.hit))
            refusal = refusal or (acting.failure and refusal_of(acting.failure)) or None
        if outcome.pace is not None:
            call = replace(call, pace=outcome.pace)
        if refusal:  # not raised: it is still the answer of a rule, and defects may act on it
            answer = self._error(refusal, call.operation)
        else:
            answer = outcome.answer or self._compose(call, asked, outcome.reply)
            answer = outcome.cut(answer) if outcome.cut else answer
        return replace(answer, acting=acting or None, rule=found.rule.name)

    def _compose(self, call: Call, asked: _Asked, scripted: Reply | None) -> Answer:
        operation, preferences = call.operation, asked.preferences
        response, status = operation.success, preferences.code
        if status is not None and not (response and response.status == str(status)):
            response = operation.response(status)
            if response is None:
                raise _undeclared(operation, status)
        elif operation.answer is not None:
            materials = Materials(
                contract=self.contract,
                canned=Uncanned(operation) if preferences.dynamic else self._examples(operation),
                preferences=preferences,
                scripted=scripted,
                cache=self._prompts,
            )
            return COMPOSERS[operation.answer](call, materials)
        if response is None:
            return Answer(200, {}, ())
        return _generic_answer(
            operation,
            response,
            call.identity,
            preferences,
            status=status,
            accept=asked.request.headers.get("accept", ""),
            stream=call.body.get("stream") is True,
        )

    def _examples(self, operation: Operation) -> Canned:
        """Return the examples of an operation, read once."""
        if operation.id not in self._canned:
            self._canned[operation.id] = Canned(operation)
        return self._canned[operation.id]

    def _preferred_error(self, operation: Operation, preferences: Preferences) -> Answer:
        code = preferences.code or 500
        response = operation.response(code)
        for entry in self.contract.errors.of_status(code):
            wanted = preferences.example in (None, entry.name)
            if wanted and (operation.answer or _shows(response, entry.name)):
                return self._error(Refusal(entry), operation)
        if response is None:
            raise _undeclared(operation, code)
        identity = digest(operation.id, code)
        return _generic_answer(operation, response, identity, preferences, status=code)

    def _error(self, refusal: Refusal, operation: Operation | None) -> Answer:
        """Make the answer of an error: the catalogue's, or the document's own where it differs."""
        error = refusal.error
        entry = self.contract.errors[error] if isinstance(error, str) else error
        headers = {"content-type": entry.media_type, **entry.headers, **refusal.headers}
        body = entry.answer(refusal.faults, **refusal.values)
        declared = operation.response(entry.status) if operation else None
        if operation and declared and not _takes(declared, body):
            identity = digest(operation.id, entry.name)
            with contextlib.suppress(Refusal):  # a schema that nothing can satisfy
                own = _generic_answer(operation, declared, identity, NONE, status=entry.status)
                # The document's own error has no place for what is wrong: a header tells it.
                lines = [f.line for f in refusal.faults] or [entry.sentence(refusal.values)]
                told = {"x-wafermock-violations": _in_header(lines)}
                return replace(own, headers={**own.headers, **refusal.headers, **told})
        raw = body.encode() if isinstance(body, str) else encode_json(body)
        return Answer(entry.status, headers, (raw,))


# Imported by those who need it: a first answer shall not wait for what it does not need.


def _generic_answer(*arguments: Any, **more: Any) -> Answer:
    from .generic import answer

    return answer(*arguments, **more)


def _prompt_cache() -> "PromptCache":
    from .prompt_cache import PromptCache

    return PromptCache()


def _undeclared(operation: Operation, status: int) -> Refusal:
    known = ", ".join(operation.responses) or "none"
    return Refusal("undeclared_status", status=status, known=known)


def _shows(response: Response | None, error: str) -> bool:
    """Say whether a declared response shows an error of the catalogue among its examples."""
    content = response.content.values() if response else ()
    return any(error in media_type.examples for media_type in content)


def _takes(response: Response, body: Any) -> bool:
    """Say whether a declared error response is one that a body of the catalogue can stand for."""
    media_type = response.content.get(JSON)
    return not (media_type and media_type.schema) or media_type.schema.is_valid(body)


def _heard_headers(contract: Contract, schemes: dict[str, Any]) -> set[str]:
    """Name the request headers that an answer depends on, in lower case."""
    heard = {"accept", "authorization", "content-encoding", "content-type", "cookie", "prefer"}
    for operation in contract.operations:
        heard |= {p.name.lower() for p in operation.parameters if p.place == "header"}
    for scheme in schemes.values():
        if scheme.get("in") == "header":
            heard.add(str(scheme.get("name", "")).lower())
    return heard


def _in_header(lines: list[str]) -> str:
    """Write faults as a header can carry them: printable ASCII, not longer than 4 KiB."""
    text = " ".join("; ".join(lines).split())
    return re.sub("[^ -~]", lambda match: ascii(match[0])[1:-1], text)[:4096]
