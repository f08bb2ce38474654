"""What probes ask for: small requests that any server of the contract can answer."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from wafermock.spec import Contract, Operation
from wafermock.spec.alternatives import unwrapped

from ..planned import Planned, PlannedProbe, Subject

CHAT = "chat.completion"
TEXT = "text_completion"

# Letters beyond ASCII and beyond 16 bits: what decodes them wrongly reads another prompt.
WORDS = "Say in a few words why rivers bend in Zürich (蘇黎世) 🙂."

# How long answers may be: long enough for a few words behind a few thoughts.
SHORT = 16
SOME = 48
# Tool calls and structured outputs are of no use when they are cut.
WHOLE = 200

# The order of probes. What is QUICK is sent with the smallest budget: together it shows every rule.
QUICK, STANDARD, DEEP = 1, 2, 3


@dataclass(frozen=True)
class Weighted:
    """Something planned, and with which budget it is worth its cost (`QUICK` to `DEEP`)."""

    weight: int
    item: Planned | PlannedProbe


@dataclass(frozen=True)
class Asking:
    """Who is asked, by which contract. The same seed asks the same."""

    contract: Contract
    subject: Subject
    seed: int = 0

    @property
    def chat(self) -> Operation | None:
        return self._answering(CHAT)

    @property
    def text(self) -> Operation | None:
        return self._answering(TEXT)

    @property
    def main(self) -> Operation | None:
        """The operation that probes ask where it matters little which: chat, where there is one."""
        return self.chat or self.text

    @property
    def completing(self) -> Iterator[Operation]:
        """The operations that complete something, the main one first."""
        return (operation for operation in (self.chat, self.text) if operation)

    def _answering(self, answer: str) -> Operation | None:
        return next((o for o in self.contract.operations if answer_of(o) == answer), None)

    def body(
        self,
        operation: Operation,
        words: str = WORDS,
        tokens: int = SHORT,
        *,
        sampled: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Make the body of a request, `model` first. `sampled` is how words are chosen: always the
        same ones where nothing else is said. `more` comes on top."""
        body: dict[str, Any] = {"model": self.subject.model}
        if answer_of(operation) == CHAT:
            body["messages"] = [{"role": "user", "content": words}]
        else:
            body["prompt"] = words
        known = properties(operation)
        for name in ("max_completion_tokens", "max_tokens"):
            if name in known:
                body[name] = tokens
                break
        chosen = {"temperature": 0, "seed": self.number} if sampled is None else sampled
        body |= {name: value for name, value in chosen.items() if name in known}
        if "reasoning_effort" in known and "low" in self.efforts:
            body["reasoning_effort"] = "low"
        return body | more

    def keeps(self, operation: Operation, body: Any) -> bool:
        """Say whether a body keeps the schema of an operation, and the rules between parameters."""
        schema = operation.request_schema
        model = self.contract.models.get(self.subject.model)
        unmet = self.contract.requirements.unmet(body, operation.id, model)
        return schema is not None and schema.is_valid(body) and not unmet

    @property
    def number(self) -> int:
        """The `seed` that requests carry."""
        return self.seed % 2**31

    @property
    def efforts(self) -> list[str]:
        """The efforts of reasoning that the model is known to have."""
        model = self.contract.models.get(self.subject.model) or {}
        return list((model.get("reasoning") or {}).get("efforts") or ())

    def word(self, name: str) -> str:
        """Return a word that no answer has by chance: letters, the same for the same seed."""
        drawn = blake2b(f"{self.seed} {name}".encode(), digest_size=8).digest()
        pairs = ((_FIRST[byte % 16], _SECOND[byte // 16 % 5]) for byte in drawn)
        return "".join(first + second for first, second in pairs)


_FIRST = "bdfghjklmnprstvz"
_SECOND = "aeiou"


def answer_of(operation: Operation) -> str | None:
    """Say what an operation answers; where the document does not, by what it is asked: documents
    without overlays describe the same API."""
    known = properties(operation)
    if operation.answer is not None or "model" not in known:
        return operation.answer
    return CHAT if "messages" in known else TEXT if "prompt" in known else None


def properties(operation: Operation) -> dict[str, Any]:
    """Return the properties of an operation's request body, by name."""
    schema = operation.request_schema
    return schema.properties if schema else {}


def defaults(operation: Operation) -> dict[str, Any]:
    """Return the defaults that the contract declares for a request, but null ones."""
    schema = operation.request_schema
    found = {}
    for name, node in properties(operation).items():
        inner = unwrapped(schema.space.root, node) if schema else {}
        default = node.get("default", inner.get("default"))
        if default is not None:
            found[name] = default
    return found


def nullable(operation: Operation) -> list[str]:
    """List the properties of a request that may be null."""
    schema = operation.request_schema
    if schema is None:
        return []
    return [name for name in schema.properties if schema.partial.is_valid({name: None})]


def cost(body: Any) -> int:
    """Say how many tokens a request takes at most: its own, and those that it asks for."""
    bounds = body if isinstance(body, dict) else {}
    most = max(bounds.get(name) or 0 for name in ("max_completion_tokens", "max_tokens"))
    n = bounds.get("n") or 1
    return len(json.dumps(body)) // 3 + most * (n if isinstance(n, int) else 1)


def needs(operation: Operation) -> tuple[str, ...]:
    """Name the capability without which an operation is not asked."""
    return ("completions",) if answer_of(operation) == TEXT else ()
