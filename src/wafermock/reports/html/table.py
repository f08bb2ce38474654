"""The table of constraints: location x kind of request x state."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from wafermock.reports.run import STATES, Cell, Run, State


@dataclass(frozen=True)
class Square:
    """What became of one kind of request at one location: how often which state, the worst first.
    `why` names the rules that were not kept; `anchor` is where a finding of it is."""

    states: tuple[tuple[State, int], ...] = ()
    why: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class Row:
    location: str
    squares: tuple[Square, ...]


@dataclass(frozen=True)
class Block:
    """The rows whose locations begin alike; `heading` is what they share."""

    heading: str
    kinds: tuple[str, ...]
    rows: tuple[Row, ...]


def blocks(run: Run, anchor_of: Mapping[tuple[str, str, str], str]) -> list[Block]:
    """Return the table in blocks, each with the kinds of request that it has.

    `anchor_of` gives the anchor of a finding by its key: rule, location and kind.
    """
    places: dict[str, dict[str, list[Cell]]] = {}
    for cell in run.cells:
        places.setdefault(cell.location, {}).setdefault(cell.kind, []).append(cell)
    made = []
    for heading, group in groupby(sorted(places, key=_order), key=lambda place: _split(place)[0]):
        locations = list(group)
        kinds = tuple(dict.fromkeys(kind for place in locations for kind in sorted(places[place])))
        kinds = tuple(sorted(kinds))
        rows = tuple(
            Row(
                place,
                tuple(_square(places[place].get(kind, []), anchor_of) for kind in kinds),
            )
            for place in locations
        )
        made.append(Block(heading, kinds, rows))
    return made


def below(location: str, heading: str) -> str:
    """Return the part of a location that its block's heading does not say."""
    return location.removeprefix(heading).removeprefix("/properties/").lstrip("/") or "itself"


def _split(location: str) -> tuple[str, str]:
    """Divide a pointer into what a block is about (a schema, an operation) and the rest."""
    steps = location.split("/")
    depth = {"#/components": 4, "#/paths": 4}.get("/".join(steps[:2]), 1)
    return "/".join(steps[:depth]), "/".join(steps[depth:])


def _order(location: str) -> tuple[str, str]:
    return _split(location)


def _square(cells: list[Cell], anchor_of: Mapping[tuple[str, str, str], str]) -> Square:
    counts: dict[State, int] = {}
    for cell in cells:
        counts[cell.state] = counts.get(cell.state, 0) + cell.count
    states = tuple((state, counts[state]) for state in STATES if state in counts)
    broken = [cell for cell in cells if cell.state not in ("PASS", "NOT RUN")]
    why = "; ".join(f"{cell.rule}: {cell.state} {cell.count}" for cell in broken[:6])
    found = (anchor_of.get((cell.rule, cell.location, cell.kind), "") for cell in broken)
    return Square(states, why, next((anchor for anchor in found if anchor), ""))
