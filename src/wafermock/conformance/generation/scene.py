"""A scene: one operation, asked of one model. What requests there must keep, and what they cost."""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from wafermock.spec import Contract, Operation, Schema
from wafermock.spec.alternatives import unwrapped
from wafermock.spec.requirements import Unmet

from .likely import SHORTEST_PROMPT
from .paths import path_values
from .values import Unmakeable, Values

CHAT = "chat.completion"
COMPLETION = "text_completion"

# Properties that bound how much is written, the first that an operation has is used; and how much
# a request of ours asks for where nothing else matters.
LIMITS = ("max_completion_tokens", "max_tokens")
SHORT = 16
# What is written where no limit is set: a guess, for the budget.
UNLIMITED = 1_000
_CHARACTERS_PER_TOKEN = 3

_VALUES = {"messages": [{"role": "user", "content": SHORTEST_PROMPT}]}


class Scene:
    """An operation with a JSON request body, and the model that is asked."""

    def __init__(self, contract: Contract, operation: Operation, model: str) -> None:
        if operation.request_schema is None:
            raise ValueError(f"{operation.name} has no request body with a schema")
        self.contract = contract
        self.operation = operation
        self.model = model
        self.schema: Schema = operation.request_schema
        self.values = Values(contract, {**_VALUES, "model": model})

    @cached_property
    def obstacle(self) -> str:
        """Say why no request can be made at all; empty where one can."""
        try:
            _ = self.path_values
            return self.problem(self.least)
        except Unmakeable as reason:
            return f"no request can be made: {reason}"

    @property
    def is_chat(self) -> bool:
        return self.operation.answer == CHAT

    @property
    def is_completion(self) -> bool:
        return self.operation.answer == COMPLETION

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the model can do, by `models.yaml`; of a model that is not listed: everything."""
        return self.contract.models[self.model]

    @cached_property
    def properties(self) -> dict[str, Any]:
        return self.schema.properties

    @cached_property
    def limit(self) -> str | None:
        """The property that bounds how much is written."""
        return next((name for name in LIMITS if name in self.properties), None)

    @cached_property
    def path_values(self) -> dict[str, str]:
        """Values for the parameters in the path. Raises Unmakeable."""
        return path_values(self.contract, self.operation, self.model)

    @cached_property
    def required(self) -> frozenset[str]:
        """The properties that no request can do without."""
        return frozenset(unwrapped(self.contract.document, self.schema.node).get("required", ()))

    @cached_property
    def least(self) -> dict[str, Any]:
        """The least request: what is required, and a short answer. Raises Unmakeable."""
        body: dict[str, Any] = self.values.least(self.schema.pointer)
        return {**body, self.limit: SHORT} if self.limit else body

    def unmet(self, body: Any) -> list[Unmet]:
        """List the requirements between parameters that a body breaks."""
        model = self.contract.models.get(body.get("model")) if isinstance(body, dict) else None
        return self.contract.requirements.unmet(body, self.operation.id, model)

    def problem(self, body: Any) -> str:
        """Say why a body is no valid request; empty when it is one."""
        return self.violation(body) or next((unmet.line for unmet in self.unmet(body)), "")

    def violation(self, body: Any) -> str:
        """Say how a body breaks the schema; empty where it obeys. Of a body that is `mended` there
        is no more to be asked."""
        if self.schema.is_valid(body):
            return ""
        violation = self.schema.violations(body)[0]
        return f"{'.'.join(map(str, violation.location))}: {violation.message}"

    def needs(self, body: Any) -> tuple[str, ...]:
        """Name the capabilities without which a valid body cannot be answered."""
        return tuple(_needs(self, body)) if isinstance(body, dict) else ()

    def tokens(self, body: Any) -> int:
        """Estimate what a request costs at the most, in tokens."""
        text = json.dumps(body, ensure_ascii=False)
        read = len(text) // _CHARACTERS_PER_TOKEN
        if not isinstance(body, dict):
            return read
        limits = [_count(body.get(name)) for name in LIMITS]
        written = max((limit for limit in limits if limit), default=UNLIMITED)
        times = max(_count(body.get(name)) or 1 for name in ("n", "best_of"))
        prompt = body.get("prompt")
        if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int):
            times *= len(prompt)
        return read + written * times


def scenes(contract: Contract, model: str) -> list[Scene]:
    """Return the scenes of a contract: every operation that takes a JSON body."""
    return [
        Scene(contract, operation, model)
        for operation in contract.operations
        if operation.request_schema is not None and _takes_json(operation)
    ]


def _takes_json(operation: Operation) -> bool:
    content = operation.request_body.content if operation.request_body else {}
    return "application/json" in content


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _needs(scene: Scene, body: dict[str, Any]) -> Iterator[str]:
    if scene.is_completion:
        yield "completions"
    if body.get("stream") is True:
        yield "streams"
    if body.get("tools"):
        yield "tools"
    if body.get("logprobs") not in (None, False):
        yield "logprobs"
    wanted = body.get("response_format")
    if isinstance(wanted, dict) and wanted.get("type") in ("json_schema", "json_object"):
        yield "structured outputs"
    if _count(body.get("n")) > 1:
        yield "n"
    if body.get("return_raw_tokens"):
        yield "raw tokens"
    if body.get("service_tier") is not None:
        yield "service tier"
