"""A call: a request understood. What it means decides what is answered."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from wafermock.spec import Operation

from .draws import digest
from .exchange import STILL, Moment

if TYPE_CHECKING:
    from .pace import Pace

# How a request wants its answer delivered is no part of what it asks.
_DELIVERY = ("stream", "stream_options")

# What can change the words of an answer. Everything else bounds, cuts or reports them.
_SAID = ("model", "messages", "prompt", "tools", "response_format")
_SAMPLED = ("seed", "temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias")


class Call(Struct, frozen=True, dict=True):
    """A request that the contract has an operation for, its body valid or made so.

    `seed` is the server's, `fingerprint` the contract's. A `lenient` call is answered even where
    the API would refuse it. `moment` and `pace` decide the times that the answer tells.
    """

    operation: Operation
    body: dict[str, Any]
    path_values: dict[str, str]
    seed: int
    fingerprint: str
    lenient: bool = False
    moment: Moment = STILL
    pace: "Pace | None" = None

    @cached_property
    def meaning(self) -> dict[str, Any]:
        """The body without what says nothing: nulls, defaults, and how to deliver the answer."""
        schema = self.operation.request_schema
        properties = schema.properties if schema else {}
        return {
            name: value
            for name, value in self.body.items()
            if value is not None
            and name not in _DELIVERY
            and (not properties or name in properties)  # what nobody declares means nothing
            and properties.get(name, {}).get("default", _NOTHING) != value
        }

    @cached_property
    def identity(self) -> bytes:
        """Names this call: the same for every way to send the same request."""
        where = [self.operation.id, self.path_values, self.seed, self.fingerprint]
        return digest(where, self.meaning)

    @cached_property
    def voice(self) -> bytes:
        """Decides the words: the same for requests that differ in bounds and reports only.

        At temperature 0 nothing but the words of the request counts, not even a seed.
        """
        said = {name: self.meaning[name] for name in _SAID if name in self.meaning}
        if self.body.get("temperature") == 0:
            return digest(self.operation.id, said)
        sampled = {name: self.meaning[name] for name in _SAMPLED if name in self.meaning}
        return digest(self.operation.id, said, sampled, self.seed)


_NOTHING = object()
