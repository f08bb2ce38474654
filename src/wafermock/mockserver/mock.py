"""The mock: a pure function from a request, and the moment it comes at, to its answer."""

from collections.abc import Hashable
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from wafermock.spec import Contract, Operation, Route
from wafermock.spec.faults import Fault, faults
from wafermock.spec.requirements import Unmet

from . import bounds
from .call import Call
from .canned import Canned, Uncanned
from .composers import COMPOSERS, Materials
from .decode import decode, holds_data
from .draws import digest, uuid4
from .errors import error_answer, fault_answer, in_header, preferred_error, undeclared
from .exchange import STILL, Answer, Moment, Request
from .memory import Memory, size_of
from .parameters import parameter_faults
from .prefer import NONE, Preferences, read_preferences
from .refusal import Refusal
from .reply import Reply
from .security import authorise
from .stray_path import hint

if TYPE_CHECKING:
    from .pace import Pace
    from .prompt_cache import PromptCache
    from .script import ScriptState

MIB = 1024 * 1024
# How much is remembered of requests, and how much of answers, in bytes.
MEMORY = 8 * MIB
# So many times the bytes of a body are taken by its data.
_DECODED = 8

Validation = Literal["strict", "warn", "off"]


class Settings(Struct, frozen=True):
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


class _Asked(Struct):
    """What is known of a request so far, whatever becomes of it."""

    request: Request
    moment: Moment
    heard: tuple[Hashable, ...]
    preferences: Preferences
    scope: str
    operation: Operation | None = None
    read: tuple[Any, ...] = ()
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
        self._remember_nothing()
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
        asked = _Asked(request, moment, self.heard(request), NONE, scope)
        try:
            asked.preferences = read_preferences(request.headers.get("prefer"))
            answer = self._answer(asked)
        except Refusal as refusal:
            answer = fault_answer(self.contract, refusal, asked.operation)
        answer = self._with_request_id(answer, asked)
        applied = asked.preferences.applied
        if applied and answer.status < 400:
            headers = {**answer.headers, "preference-applied": applied}
            answer = replace(answer, headers=headers)
        return answer

    @property
    def is_pure(self) -> bool:
        """Whether the same request at the same moment always has the same answer."""
        return self._prompts is None and not (self.script and self.script.script.rules)

    def changed(self, script: "ScriptState | None", **settings: Any) -> "Mock":
        """Return the same mock with another script and some other settings."""
        other = copy(self)
        other.script = script
        other.settings = replace(self.settings, **settings)
        other._remember_nothing()
        return other

    def _remember_nothing(self) -> None:
        """Begin anew with what is remembered for who asks again: requests understood, answers."""
        self._calls: Memory[tuple[Call, list[str]]] = Memory(MEMORY)
        self._answers: Memory[Answer] = Memory(MEMORY)

    def heard(self, request: Request) -> tuple[Hashable, ...]:
        """Return all of a request that its answer depends on."""
        headers = tuple(map(request.headers.get, self._heard_headers))
        return (request.method, request.path, request.query, headers, request.body)

    def refuse(self, refusal: Refusal, request: Request) -> Answer:
        """Answer a request with an error that stands outside of it, such as a limit."""
        asked = _Asked(request, STILL, self.heard(request), NONE, "")
        route = self.contract.route(request.method, request.path)
        asked.operation = route.operation if route else None
        return self._with_request_id(error_answer(self.contract, refusal, asked.operation), asked)

    def protocol_error(self, status: int, reason: str) -> Answer:
        """Answer what is no HTTP request at all."""
        name = "malformed_request" if status < 500 else "server_error"
        answer = error_answer(self.contract, Refusal(name, reason=" ".join(reason.split())), None)
        request_id = uuid4(digest("no request", status, reason))
        return replace(answer, headers={**answer.headers, "x-request-id": request_id})

    def _with_request_id(self, answer: Answer, asked: _Asked) -> Answer:
        """Name the request: by what it means where that is known, else by its bytes."""
        request_id = _request_id(asked.identity or digest(*(asked.read or asked.heard)))
        if answer.headers.get("x-request-id") == request_id:
            return answer
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
            told = hint(self.contract, request.path)
            headers = {"x-wafermock-hint": in_header([told])} if told else {}
            raise Refusal("path_not_found", headers=headers, path=request.path)
        return route

    def _answer(self, asked: _Asked) -> Answer:
        code = asked.preferences.code
        if code is not None and not 200 <= code < 300:
            return preferred_error(
                self.contract, self._admitted(asked).operation, asked.preferences
            )
        call, lines = self._understood(asked)
        asked.operation, asked.identity = call.operation, call.identity
        answer = self._scripted(call, asked)
        if lines and self.settings.validate == "warn":
            headers = {**answer.headers, "x-wafermock-violations": in_header(lines)}
            return replace(answer, headers=headers)
        return answer

    def _understood(self, asked: _Asked) -> tuple[Call, list[str]]:
        """Return what a request means, and what is wrong with it. Raises Refusal where that is not
        to be answered."""
        if self.is_pure:  # whole answers are remembered, see Service
            return self._understand(asked)
        key = (asked.heard, asked.moment)
        known = self._calls.get(key)
        if known is None:
            known = self._understand(asked)
            self._calls.put(key, known, size=size_of(key) * _DECODED)
        return known

    def _understand(self, asked: _Asked) -> tuple[Call, list[str]]:
        request, settings = asked.request, self.settings
        route = self._admitted(asked)
        operation = route.operation
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
        return call, lines

    def _admitted(self, asked: _Asked) -> Route:
        """Return where a request goes, if it may go there. Raises Refusal else."""
        request, route = asked.request, self._route(asked.request)
        asked.operation = route.operation
        key = self.settings.api_key
        authorise(route.operation, self._schemes, request.headers, request.query, key)
        return route

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
        asked.read = (route.operation.id, route.path_values, body)
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
        if not any(map(is_recorded, self.script.script.rules)):
            return None
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
                answer = error_answer(self.contract, found.refusal, call.operation)
            else:
                answer = self._composed(call, asked)
            nearest = tuple((rule.name, tuple(map(str, lacks))) for rule, lacks in found.nearest)
            return replace(answer, nearest=nearest) if nearest else answer
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
            answer = error_answer(self.contract, refusal, call.operation)
        else:
            answer = outcome.answer or self._composed(call, asked, outcome.reply, found.rule.name)
            answer = outcome.cut(answer) if outcome.cut else answer
        if not acting and answer.rule == found.rule.name:
            return answer
        return replace(answer, acting=acting or None, rule=found.rule.name)

    def _composed(
        self, call: Call, asked: _Asked, scripted: Reply | None = None, rule: str | None = None
    ) -> Answer:
        """Compose the answer of a rule, or of none, if that has not been done before."""
        key = (asked.heard, asked.moment, call.pace, scripted, rule)
        if known := self._answers.get(key):
            return known
        answer = self._with_request_id(self._compose(call, asked, scripted), asked)
        answer = replace(answer, rule=rule)
        if self._prompts is None:  # else what was asked before counts too
            self._answers.put(key, answer, size=size_of(key) + size_of(answer.parts))
        return answer

    def remembers(self, answer: Answer) -> bool:
        """Say whether this very answer is given again to who asks the same."""
        return self._answers.holds(answer)

    def _compose(self, call: Call, asked: _Asked, scripted: Reply | None) -> Answer:
        operation, preferences = call.operation, asked.preferences
        response, status = operation.success, preferences.code
        if status is not None and not (response and response.status == str(status)):
            response = operation.response(status)
            if response is None:
                raise undeclared(operation, status)
        elif operation.answer is not None:
            materials = Materials(
                contract=self.contract,
                canned=Uncanned(operation) if preferences.dynamic else self._examples(operation),
                preferences=preferences,
                scripted=scripted,
                only_known_models=self.settings.models == "strict",
                cache=self._prompts,
            )
            return COMPOSERS[operation.answer](call, materials)
        if response is None:
            return Answer(200, {}, ())
        from . import generic  # not before it is needed: a first answer shall not wait for it

        return generic.answer(
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


def _prompt_cache() -> "PromptCache":
    from .prompt_cache import PromptCache

    return PromptCache()


def _heard_headers(contract: Contract, schemes: dict[str, Any]) -> set[str]:
    """Name the request headers that an answer depends on, in lower case."""
    heard = {"accept", "authorization", "content-encoding", "content-type", "cookie", "prefer"}
    for operation in contract.operations:
        heard |= {p.name.lower() for p in operation.parameters if p.place == "header"}
    for scheme in schemes.values():
        if scheme.get("in") == "header":
            heard.add(str(scheme.get("name", "")).lower())
    return heard


# A load test asks the same again and again.
@lru_cache(maxsize=256)
def _request_id(identity: bytes) -> str:
    return uuid4(digest("request", identity))
