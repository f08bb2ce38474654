"""The table rule x defect: what broke which rule, at which request."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from wafermock.conformance.rules import all_rules
from wafermock.conformance.runner import Item
from wafermock.mockserver.wire import DEFECTS, DELIVERIES
from wafermock.reports.run import State

from .asking import HTTP2, contract_of, items, needs
from .judging import Broken, Choice, all_of, judge, own_state

FILE = Path(__file__).with_name("table.yaml")
LEAD = "# What broke which rule, how badly, and at which request. `make prove ARGS=--write`.\n"

PROFILE = "documented"

# What breaks a rule, and at which request it was seen.
Row = dict[str, tuple[State, str]]
Table = dict[Choice, Row]

# Rules about time: a machine that has much to do breaks them too. Only what is about time counts.
TIMED = {"STREAM-PACE"}
# Where an answer takes its time: a stream or two is enough.
SLOW = {"endless", "buffered"}
SLOW_ITEMS = ("capabilities, streams", "proof, long stream")
# The mock has said all before a client can hang up, unless it speaks slowly.
PACED = {"hang_up_spoils": "probe hang up"}
# Other values than the default that are rules of their own, beside those that are listed.
MORE = ("content_length:by=-10", "msgpack_differs:spelling=x-msgpack", "usage_sum:by=-1",
        "msgpack_differs:spelling=vnd.msgpack")  # fmt: skip


@dataclass(frozen=True)
class Mocks:
    """The base URLs of the same mock: as it is, one that speaks slowly, one behind HTTP/2."""

    plain: str
    paced: str
    http2: str


def choices() -> Iterator[Choice]:
    """Yield every defect, with each of the values that it lists, and every delivery."""
    for entry in DEFECTS.values():
        yield "defect", entry.name
        for parameter in entry.parameters:
            for value in parameter.choices:
                if value != parameter.default:
                    yield "defect", f"{entry.name}:{parameter.name}={value}"
    yield from (("defect", text) for text in MORE)
    yield from (("delivery", name) for name in DELIVERIES)


def broken_by(mocks: Mocks, choice: Choice, labels: Iterable[str] | None = None) -> Broken:
    """Let a choice act on all that is sent, or on what has these labels; return what broke."""
    name = choice[1].partition(":")[0]
    sent = _sent(name)
    if labels is not None:
        sent = {label: sent[label] for label in labels}
    url = mocks.http2 if name == "http2_differs" else mocks.plain
    if name in PACED:
        url = mocks.paced
    # A scope of its own: what one choice leaves behind is nothing to the next.
    scope = choice[1].replace(":", "-").replace("=", "-")
    return judge(f"{url}/t/{scope}", contract_of(PROFILE), sent, choice)


def _sent(name: str) -> Mapping[str, Item]:
    is_http2 = name == "http2_differs"
    sent = {
        label: item for label, item in items(PROFILE).items() if (HTTP2 in needs(item)) is is_http2
    }
    if name in SLOW:
        return {label: sent[label] for label in SLOW_ITEMS}
    if name in PACED:
        return {label: item for label, item in sent.items() if label.startswith(PACED[name])}
    return sent


def row(broken: Broken, choice: Choice) -> Row:
    """Return, for each rule, how badly it broke, and the first request at which it did so."""
    is_timed = choice[1].partition(":")[0] in SLOW
    found: Row = {}
    for rule, state in all_of(broken).items():
        if rule not in TIMED or is_timed:
            where = next(label for label, rules in broken.items() if rules.get(rule) == state)
            found[rule] = (state, where)
    order = [rule.id for rule in all_rules()]
    return dict(sorted(found.items(), key=lambda pair: order.index(pair[0])))


def proofs(table: Table) -> dict[str, list[Choice]]:
    """Return by rule what breaks it as badly as its level says; first what shows it best: a defect,
    and one that breaks little else."""
    found: dict[str, list[Choice]] = {rule.id: [] for rule in all_rules()}
    for choice, rules in table.items():
        for rule, (state, _) in rules.items():
            if rule in found and state == own_state(rule):
                found[rule].append(choice)
    for known in found.values():
        known.sort(key=lambda choice: (choice[0], len(table[choice]), ":" in choice[1]))
    return found


def read() -> Table:
    """Read the table that is kept."""
    kept = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    table: Table = {}
    for text, rules in kept.items():
        noun, _, name = text.partition(" ")
        table[noun, name] = {rule: (state, where) for rule, (state, where) in rules.items()}
    return table


def write(table: Table) -> None:
    """Keep a table."""
    data = {
        " ".join(choice): {rule: list(seen) for rule, seen in rules.items()}
        for choice, rules in table.items()
    }
    text = yaml.safe_dump(data, sort_keys=False, width=200, default_flow_style=None)
    FILE.write_text(LEAD + text, encoding="utf-8")
