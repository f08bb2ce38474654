"""The page of all rules, for the docs: docs/rules.md."""

from collections.abc import Mapping, Sequence

from wafermock.reports.run import Rule as Described

from .rules import all_rules

_LEAD = """# Rules

What `wafermock check` judges a server by: {count} rules in {groups} groups. Each is a plain
function over one exchange, or over the exchanges of a probe.

The level says how bad a breach is: MUST is a FAIL, SHOULD a WARN, MAY an INFO. A rule says MUST
only where the contract or a standard does. Sources that begin with `#/` point into the contract;
`observed traffic` is what the real service was seen to do. Each rule guards from a fault of the
client, or from one that the client can do nothing about.

`wafermock rules` lists them, `wafermock rules STREAM-DONE` shows one. What breaks each of them on
purpose is in [proof.md](proof.md).
"""

_GROUPS = {
    "SCHEMA": "Bodies and chunks against the contract.",
    "FRAMING": "The bytes of event streams and of bodies.",
    "SEQUENCE": "The order of a stream's chunks.",
    "SEMANTICS": "What answers say, and whether it is what was asked for.",
    "ERRORS": "Bad requests, and how they are refused.",
    "ENCODING": "How requests and answers are dressed.",
    "METAMORPHIC": "Requests that mean the same, and requests at the same time.",
    "HEADERS": "What stands beside the body.",
}


def rules_page(broken_by: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the page. `broken_by` names, by the id of a rule, what breaks it on purpose."""
    groups: dict[str, list[Described]] = {}
    for rule in all_rules():
        groups.setdefault(rule.described.group, []).append(rule.described)
    count = sum(map(len, groups.values()))
    parts = [_LEAD.format(count=count, groups=len(groups))]
    for group, rules in groups.items():
        parts.append(f"## {group}\n\n{_GROUPS.get(group, '')}\n")
        parts += [_rule(rule, (broken_by or {}).get(rule.id, ())) for rule in rules]
    return "\n".join(parts)


def _rule(rule: Described, broken_by: Sequence[str]) -> str:
    lines = [
        f"### {rule.id}\n",
        f"**{rule.level}** {rule.requirement}\n",
        f"- guards from: {rule.guards}",
        f"- source: {_source(rule.source)}",
    ]
    if broken_by:
        lines.append(f"- broken on purpose by: {', '.join(f'`{name}`' for name in broken_by)}")
    return "\n".join([*lines, ""])


def _source(source: str) -> str:
    """Write a source; what points into the contract is code."""
    words = [f"`{word}`" if word.startswith("#/") else word for word in source.split(" ")]
    return " ".join(word.replace(",`", "`,").replace(";`", "`;") for word in words)
