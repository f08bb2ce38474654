"""Catalogues: enumerated entries with parameters, chosen by name in one short text.

`stall` and `stall:after=3,seconds=30` are choices. The same text is what a command line option, a
script, a header and the control interface take. Every entry takes `rate` too: the part of the
calls that it happens to, drawn from what is called and never from chance.
"""

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from ..clock import parse_duration
from ..draws import Draws

Kind = Literal["number", "seconds", "text", "choice"]

# When an entry acts: `request` rewrites what was asked before the mock sees it, `settings` has
# another mock answer, `refusal` answers with an error instead, `service` needs the answer before,
# `connection` acts before the body is read, and `answer` changes the answer on its way.
Stage = Literal["request", "settings", "refusal", "service", "connection", "answer"]

# Where in the making of a plan an `answer` entry acts: on JSON values and events, on the bytes of
# each event, or on the writes as a delivery has cut them.
Phase = Literal["content", "framed", "sent"]
PHASES: tuple[Phase, ...] = ("content", "framed", "sent")

Effect = Callable[..., Any]


class CatalogueError(ValueError):
    """A choice that no catalogue has. The message says what there is."""


class Parameter(Struct, frozen=True):
    """A parameter of an entry: its name, what it is, and its default.

    `number` is a whole number from `least` to `most`, `seconds` a duration (`200ms`, `2`),
    `choice` one of `choices`. A default of None means: not given.
    """

    name: str
    says: str
    default: Any
    kind: Kind = "number"
    least: int = 0
    most: int = 1_000_000_000
    choices: tuple[str, ...] = ()

    def read(self, given: Any) -> Any:
        """Return a value from text or from data. Raises CatalogueError."""
        text = str(given).strip()
        if self.kind == "seconds":
            try:
                return parse_duration(text)
            except ValueError as error:
                raise CatalogueError(f"{self.name}: {error}") from None
        if self.kind == "number":
            # isdecimal alone would take the digits of other scripts.
            digits = text.removeprefix("-")
            if not (digits.isascii() and digits.isdecimal() and self._has(text)):
                raise CatalogueError(
                    f"{self.name}={text!r} is no whole number from {self.least} to {self.most}"
                )
            return int(text)
        if self.kind == "choice" and text not in self.choices:
            there_are = ", ".join(self.choices) + _near(text, self.choices)
            raise CatalogueError(f"{self.name}={text!r} is not one of {there_are}")
        return text

    def _has(self, digits: str) -> bool:
        return len(digits) <= 12 and self.least <= int(digits) <= self.most


class Entry(Struct, frozen=True):
    """One thing of a catalogue.

    `says` is what happens, in one sentence. `advice` is what a client should do (failures), how
    clients read it (deliveries), or the rule that it breaks (defects). `on` names the answers it
    shows on. `effect` does it, see Stage for its arguments; `settings` are those of the other mock,
    which an entry of the stage `request` has where it changes the request.
    """

    name: str
    group: str
    says: str
    advice: str
    on: str
    effect: Effect
    parameters: tuple[Parameter, ...] = ()
    stage: Stage = "answer"
    phase: Phase = "content"
    settings: Mapping[str, Any] = {}


class Chosen(Struct, frozen=True):
    """An entry, its parameters set. `rate` is from 0 (never) to 1 (always)."""

    entry: Entry
    values: Mapping[str, Any]
    rate: float = 1.0

    @property
    def name(self) -> str:
        return self.entry.name

    def __str__(self) -> str:
        """Write the choice as it can be parsed again; what is as by default is left out."""
        defaults = {p.name: p.default for p in self.entry.parameters}
        said = [f"{k}={written(v)}" for k, v in self.values.items() if v != defaults[k]]
        if self.rate != 1:
            said.append(f"rate={self.rate!r}")
        return self.name + (f":{','.join(said)}" if said else "")

    def happens(self, identity: bytes, position: int = 0) -> bool:
        """Say whether it happens to a call, in `rate` of all cases.

        `identity` names the call (a server's seed is part of it), `position` counts the times that
        it was made. The same always happens to the same call at the same position.
        """
        if self.rate >= 1:
            return True
        return Draws("rate", self.name, identity, position).fraction() < self.rate


def happening(chosen: Sequence[Chosen], identity: bytes, position: int = 0) -> tuple[Chosen, ...]:
    """Return those of some choices that happen to a call, see `Chosen.happens`."""
    return tuple(choice for choice in chosen if choice.happens(identity, position))


class Catalogue(Mapping[str, Entry]):
    """Entries by name, in order. `noun` names one of them: "failure"."""

    def __init__(self, noun: str, plural: str, entries: Sequence[Entry]) -> None:
        self.noun = noun
        self.plural = plural
        self._entries = {entry.name: entry for entry in entries}
        if len(self._entries) != len(entries):
            twice = sorted({e.name for e in entries if self._entries[e.name] is not e})
            raise ValueError(f"two {plural} have the same name: {', '.join(twice)}")

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def groups(self) -> dict[str, list[Entry]]:
        """The entries by their group, in order."""
        groups: dict[str, list[Entry]] = {}
        for entry in self.values():
            groups.setdefault(entry.group, []).append(entry)
        return groups

    def parse(self, text: str) -> Chosen:
        """Read `name` or `name:key=value,key=value`. Raises CatalogueError."""
        name, colon, rest = text.strip().partition(":")
        given: dict[str, Any] = {}
        for pair in rest.split(",") if colon else ():
            key, equals, value = (part.strip() for part in pair.partition("="))
            if not (key and equals):
                raise CatalogueError(
                    f"{self.noun} {text.strip()!r}: {pair.strip()!r} is not key=value; "
                    f"write it as {self._example(self._entry(name))}"
                )
            if key in given:
                raise CatalogueError(f"{self.noun} {text.strip()!r}: {key} is given twice")
            given[key] = value
        return self.choose(name, **given)

    def parse_all(self, text: str) -> tuple[Chosen, ...]:
        """Read several choices, `;` between them. Raises CatalogueError."""
        return tuple(self.parse(part) for part in text.split(";") if part.strip())

    def choose(self, name: str, /, **given: Any) -> Chosen:
        """Choose an entry; what is not given is as by default. Raises CatalogueError."""
        entry = self._entry(name)
        parameters = {parameter.name: parameter for parameter in entry.parameters}
        rate = 1.0
        values = {parameter.name: parameter.default for parameter in entry.parameters}
        for key, value in given.items():
            try:
                if key == "rate":
                    rate = _rate(value)
                elif key not in parameters:
                    has = ", ".join([*parameters, "rate"])
                    raise CatalogueError(
                        f"there is no {key!r}; it takes {has}{_near(key, [*parameters, 'rate'])}"
                    )
                else:
                    values[key] = parameters[key].read(value)
            except CatalogueError as error:
                raise CatalogueError(f"{self.noun} {entry.name}: {error}") from None
        return Chosen(entry, values, rate)

    def _entry(self, name: str) -> Entry:
        key = name.strip().replace("-", "_")
        if key not in self._entries:
            meant = [
                entry.name for entry in self._entries.values() if entry.says.startswith(f"{key}: ")
            ]
            if meant:  # the status of an error
                raise CatalogueError(
                    f"there is no {self.noun} {key!r}; by their names, of this status there are: "
                    f"{', '.join(meant)}"
                )
            raise CatalogueError(
                f"there is no {self.noun} {name.strip()!r}{_near(key, list(self))}; "
                f"there are: {', '.join(self)}"
            )
        return self._entries[key]

    def _example(self, entry: Entry) -> str:
        first = next(iter(entry.parameters), None)
        if first is None:
            return f"{entry.name} or {entry.name}:rate=0.5"
        shown = first.default if first.default is not None else 1
        return f"{entry.name}:{first.name}={written(shown)}"


class Shelf:
    """The entries of one group, in the order in which they are put there."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.entries: list[Entry] = []

    def entry(
        self, says: str, advice: str, *parameters: Parameter, on: str = "every answer", **more: Any
    ) -> Callable[[Effect], Effect]:
        """Put a function there as the effect of an entry that has the function's name."""

        def put(effect: Effect) -> Effect:
            name = effect.__name__
            self.entries.append(
                Entry(name, self.group, says, advice, on, effect, parameters, **more)
            )
            return effect

        return put

    def named(self, name: str, says: str, advice: str, on: str, **more: Any) -> None:
        """Put an entry there whose effect others have, see `elsewhere`."""
        self.entries.append(Entry(name, self.group, says, advice, on, elsewhere, **more))


def elsewhere(*_: object) -> None:
    """Stand for an effect that others have: a setting of the mock, or the edge."""


def _rate(given: Any) -> float:
    text = str(given).strip()
    number = text.removesuffix("%")
    try:
        rate = float(number) / (100 if number != text else 1)
    except ValueError:
        rate = math.nan
    if not 0 <= rate <= 1:  # NaN too
        raise CatalogueError(f"rate={text!r} is not from 0 to 1, as 0.3 or 30%")
    return rate


def _near(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def written(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)
