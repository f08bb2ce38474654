"""A baseline: what is known to be broken, why, and until when it may be.

    entries:
      - rule: STREAM-DONE
        location: "#/components/schemas/ChatCompletionChunk*"   # `*`, `?` and `[...]` as in a shell
        kind: streamed
        reason: The gateway drops the last event; ticket 123.
        expires: 2027-03-31

What an entry matches is known and does not fail a run; what none matches is new.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from . import summary
from .document_places import UnreadableDocument, compose
from .run import Finding, Run
from .visible import line

if TYPE_CHECKING:
    from yaml import Node

KEYS = ("rule", "location", "kind", "reason", "expires")


class BaselineError(ValueError):
    """A baseline that cannot be used; the message tells file, line and what to do."""


@dataclass(frozen=True)
class Entry:
    """One thing that is known. `rule`, `location` and `kind` may hold wild cards; `expires` is the
    last day it counts; `place` tells file and line."""

    rule: str
    location: str
    kind: str
    reason: str
    expires: date | None
    place: str

    def matches(self, finding: Finding) -> bool:
        patterns = (self.rule, self.location, self.kind)
        return all(map(fnmatchcase, finding.key, patterns))

    def expired(self, today: date) -> bool:
        return self.expires is not None and self.expires < today


@dataclass(frozen=True)
class Baseline:
    """What is known, in the order of the file: the first entry that matches gives the reason."""

    name: str
    entries: tuple[Entry, ...]


def apply(run: Run, baseline: Baseline, today: date) -> tuple[Run, tuple[str, ...]]:
    """Mark what the baseline knows (`Finding.known`), and nothing else; and tell what is to be
    mended in it: entries that have expired, that match nothing any more, or that name no rule."""
    living = [entry for entry in baseline.entries if not entry.expired(today)]
    # Thousands of findings meet thousands of entries: the rule alone rules out most of them.
    by_rule = {
        rule: [entry for entry in living if fnmatchcase(rule, entry.rule)]
        for rule in {finding.rule for finding in run.findings}
    }
    used: set[Entry] = set()
    findings = []
    for finding in run.findings:
        matching = [entry for entry in by_rule[finding.rule] if entry.matches(finding)]
        used.update(matching)
        findings.append(replace(finding, known=matching[0].reason if matching else ""))
    marked = replace(run, findings=tuple(findings))
    notes = [
        note for entry in baseline.entries if (note := _note(entry, run, today, entry in used))
    ]
    return marked, tuple(notes)


def _note(entry: Entry, run: Run, today: date, used: bool) -> str:
    """Say what is wrong with an entry; nothing where it is right, or where this run cannot tell."""
    what = f"{entry.place}: the entry for {line(entry.rule)}"
    if entry.expired(today):
        matching = sum(map(entry.matches, run.findings))
        advice = (
            f"it would have matched {summary.count(matching, 'finding')}: mend them, or renew it"
            if matching
            else "it matches nothing any more: remove it"
        )
        return f"{what} expired on {entry.expires}; {advice}"
    if used:
        return ""
    items = [item for item in summary.judged(run) if fnmatchcase(item.rule.id, entry.rule)]
    if not items:
        return f"{what} names no rule of this run{_meant(entry.rule, run)}: mend or remove it"
    # A quick run does not ask for all that a larger one found.
    asked = not run.cells or any(fnmatchcase(cell.kind, entry.kind) for cell in run.cells)
    if asked and any(item.state in summary.JUDGED for item in items):
        return f"{what} is stale: it matches nothing any more; remove it"
    return ""


def _meant(rule: str, run: Run) -> str:
    near = difflib.get_close_matches(rule, [rule.id for rule in run.rules], 1)
    return f" (is {line(near[0])} meant?)" if near else ""


def read(data: bytes, name: str) -> Baseline:
    """Read a baseline of YAML. `name` is how messages call it. Raises BaselineError."""
    import yaml

    try:
        root = compose(data, name)
    except UnreadableDocument as error:
        raise BaselineError(str(error)) from None
    if root is None:
        return Baseline(name, ())
    keys = _mapping(root, name, ("version", "entries"), "a baseline")
    if "version" in keys and getattr(keys["version"], "value", None) != "1":
        raise _error(keys["version"], name, "`version` is not 1: this Wafermock is too old for it")
    if "entries" not in keys:
        raise _error(root, name, "`entries` is missing: a list of what is known")
    entries = keys["entries"]
    if not isinstance(entries, yaml.SequenceNode):
        if isinstance(entries, yaml.ScalarNode) and entries.tag.endswith(":null"):
            return Baseline(name, ())
        raise _error(entries, name, "`entries` is no list: begin each entry with `- rule: ...`")
    return Baseline(name, tuple(_entry(node, name) for node in entries.value))


def _entry(node: Node, name: str) -> Entry:
    keys = _mapping(node, name, KEYS, "an entry")
    for key, advice in (
        ("rule", "the id of a rule, as `rule: STREAM-DONE`"),
        ("reason", "why it is accepted, for whoever reads it next year"),
    ):
        if key not in keys:
            raise _error(node, name, f"`{key}` is missing: say {advice}")
    texts = {key: _text(value, name, key) for key, value in keys.items()}
    return Entry(
        texts["rule"],
        texts.get("location", "*"),
        texts.get("kind", "*"),
        texts["reason"],
        _day(keys["expires"], name, texts["expires"]) if "expires" in keys else None,
        f"{name}:{node.start_mark.line + 1}",
    )


def _mapping(node: Node, name: str, allowed: tuple[str, ...], what: str) -> dict[str, Node]:
    """The values of a mapping by key: each known, each once."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise _error(node, name, f"{what} is a mapping with {' and '.join(allowed)}")
    keys: dict[str, Node] = {}
    for key, value in node.value:
        text = key.value if isinstance(key, yaml.ScalarNode) else "(no text)"
        if text not in allowed:
            near = difflib.get_close_matches(text, allowed, 1)
            meant = f"is `{near[0]}` meant?" if near else f"there are {', '.join(allowed)}"
            raise _error(key, name, f"{what} has no key `{line(text, 80)}`; {meant}")
        if text in keys:
            raise _error(key, name, f"`{text}` stands twice: keep one")
        keys[text] = value
    return keys


def _text(node: Node, name: str, key: str) -> str:
    import yaml

    null = node.tag.endswith(":null")
    if not isinstance(node, yaml.ScalarNode) or null or not node.value.strip():
        raise _error(node, name, f"`{key}` is no text: write one, in quotes if it begins with `#`")
    return str(node.value)


def _day(node: Node, name: str, text: str) -> date:
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            return date.fromisoformat(text)
    except ValueError:
        pass
    advice = "write year, month and day, as 2027-03-31"
    raise _error(node, name, f"`expires` is no date: {line(text, 40)!r}; {advice}")


def _error(node: Any, name: str, what: str) -> BaselineError:
    return BaselineError(f"{name}:{node.start_mark.line + 1}: {what}")


def first(run: Run, reason: str = "") -> str:
    """Write the first baseline of a run, as YAML: an entry for everything that was found.

    Without a reason the day of the run stands for it, and the file asks to put in better ones.
    """
    import yaml

    day = summary.moment(run)[:10] or "an unknown day"
    entries = [
        {
            "rule": _literal(rule),
            "location": _literal(location),
            "kind": _literal(kind),
            "reason": reason or f"found on {day}",
        }
        for rule, location, kind in dict.fromkeys(finding.key for finding in run.findings)
    ]
    head = (
        "# What is known to be broken, and does not fail a run (docs/reports.md).\n"
        "# Say in `reason` why it is accepted; `expires: 2027-03-31` ends that.\n"
    )
    written: str = yaml.safe_dump(
        {"version": 1, "entries": entries}, sort_keys=False, allow_unicode=False, width=100
    )
    return head + written


def _literal(text: str) -> str:
    """A pattern that matches the text and nothing else."""
    return "".join(_escaped(text))


def _escaped(text: str) -> Iterator[str]:
    for character in text:
        if character in "*?[":
            yield f"[{character}]"
        else:
            # YAML cannot hold half a surrogate pair.
            yield "?" if "\ud800" <= character <= "\udfff" else character
