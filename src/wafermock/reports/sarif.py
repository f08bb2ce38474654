"""A run as SARIF 2.1.0 (OASIS, 2020): results with places in the contract, for code scanning."""

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from . import summary
from .document_places import Places
from .run import Finding, Rule, Run, Traffic
from .visible import block, line

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
# What the contract's document is called where nobody says: what `wafermock spec bundle` writes.
DOCUMENT = "contract.yaml"
# The longest body that is kept, in bytes; the result file has it whole.
BODY = 4000

_LEVELS = {"FAIL": "error", "WARN": "warning", "INFO": "note"}
_RULE_LEVELS = {"MUST": "error", "SHOULD": "warning", "MAY": "note"}
_RFC = re.compile(r"RFC (\d+)(?:, sections? ([\d.]+))?")
_WHATWG = "https://html.spec.whatwg.org/multipage/server-sent-events.html"
# `[words](target)` in a message is a link, section 3.11.6, unless the bracket is escaped.
_LINK = re.compile(r"\[(?=[^\]]*\]\()")


def render(run: Run, places: Places | None = None) -> str:
    """Write a run as a SARIF log. With `places`, results have lines of the contract's document."""
    return json.dumps(log(run, places or Places(DOCUMENT)), indent=2) + "\n"


def log(run: Run, places: Places) -> dict[str, Any]:
    """Make the SARIF log object (section 3.13) of a run."""
    judged = summary.judged(run)
    index = {item.rule.id: number for number, item in enumerate(judged)}
    findings = [finding for item in judged for finding in item.findings]
    # `new` and `unchanged` mean something only where a baseline was applied.
    compared = any(finding.known for finding in findings)
    driver = {
        "name": "wafermock",
        "version": line(run.tool.version),
        "rules": [_rule(item.rule) for item in judged],
    }
    made: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"wafermock/{line(run.endpoint.url)}"},
        "invocations": [_invocation(run)],
        "artifacts": [{"location": {"uri": quote(places.name)}, "roles": ["policy"]}],
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, index[finding.rule], places, compared) for finding in findings
        ],
        "properties": _properties(run),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [made]}


def _rule(rule: Rule) -> dict[str, Any]:
    """A reporting descriptor (section 3.49). Its help is Markdown only where it needs to be."""
    requirement = line(rule.requirement) or line(rule.id) or "(no requirement)"
    help = [requirement]
    if rule.guards:
        help.append(f"What it does to a client: {line(rule.guards)}")
    help.append(f"Source: {line(rule.source)}")
    described: dict[str, Any] = {
        "id": line(rule.id),
        "shortDescription": {"text": _text(requirement)},
        "fullDescription": {"text": _text("\n".join(help[:2]))},
        "help": {"text": _text("\n\n".join(help))},
        "defaultConfiguration": {"level": _RULE_LEVELS.get(rule.level, "warning")},
        "properties": {"tags": [line(rule.group), rule.level], "source": line(rule.source)},
    }
    if address := _address(rule.source):
        described["helpUri"] = address
    return described


def _address(source: str) -> str:
    """Where a standard can be read."""
    if found := _RFC.search(source):
        section = f"#section-{found[2].rstrip('.')}" if found[2] else ""
        return f"https://www.rfc-editor.org/rfc/rfc{found[1]}{section}"
    return _WHATWG if source.startswith("WHATWG HTML") else ""


def _result(finding: Finding, rule: int, places: Places, compared: bool) -> dict[str, Any]:
    told = [
        f"expected: {block(finding.expected)}",
        f"actual: {block(finding.actual)}",
        f"at {line(finding.where)}, kind of request: {line(finding.kind)}",
    ]
    result: dict[str, Any] = {
        "ruleId": line(finding.rule),
        "ruleIndex": rule,
        "level": _LEVELS.get(finding.state, "none"),
        "message": {"text": _text("\n".join(told))},
        "locations": [_location(finding.location, places)],
        "partialFingerprints": {"ruleLocationKind/v1": fingerprint(finding)},
        "occurrenceCount": max(finding.count, 1),
        "properties": {
            "id": line(finding.id),
            "kind": line(finding.kind),
            "where": line(finding.where),
            "curl": block(finding.curl, 8000),
        },
    }
    if result["level"] == "none":
        result["kind"] = "notApplicable"
    if compared:
        result["baselineState"] = "unchanged" if finding.known else "new"
    if finding.known:
        accepted = {"kind": "external", "status": "accepted", "justification": line(finding.known)}
        result["suppressions"] = [accepted]
    if finding.traffic:
        result |= _exchange(finding.traffic[0])
    return result


def fingerprint(finding: Finding) -> str:
    """What tells that two runs found the same: SHA-256 of rule, location and kind."""
    key = json.dumps(finding.key)
    return hashlib.sha256(key.encode()).hexdigest()


def _location(pointer: str, places: Places) -> dict[str, Any]:
    # Code scanning shows nothing that has no line: the first stands for the whole document.
    physical = {
        "artifactLocation": {"uri": quote(places.name), "index": 0},
        "region": {"startLine": places.line(pointer) or 1},
    }
    logical = {"fullyQualifiedName": line(pointer), "kind": "member"}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _exchange(traffic: Traffic) -> dict[str, Any]:
    """The request and the answer, sections 3.46 and 3.47."""
    answer: dict[str, Any] = {"noResponseReceived": True}
    if traffic.status is not None:
        answer = {
            "statusCode": traffic.status,
            "reasonPhrase": line(traffic.reason),
            "headers": _headers(traffic.headers),
            "body": _content(traffic.body),
        }
    return {
        "webRequest": {
            "method": line(traffic.method),
            "target": line(traffic.target, 2000),
            "headers": _headers(traffic.request_headers),
            "body": _content(traffic.request_body),
        },
        "webResponse": answer,
    }


def _headers(headers: tuple[tuple[str, str], ...]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        key = line(name)
        joined[key] = f"{joined[key]}, {line(value)}" if key in joined else line(value)
    return joined


def _content(data: bytes) -> dict[str, Any]:
    kept = data[:BODY]
    content: dict[str, Any]
    try:
        content = {"text": kept.decode("utf-8")}
    except UnicodeDecodeError:
        content = {"binary": base64.b64encode(kept).decode("ascii")}
    if len(data) > len(kept):
        content["properties"] = {"bytes": len(data)}
    return content


def _invocation(run: Run) -> dict[str, Any]:
    made: dict[str, Any] = {
        "executionSuccessful": run.ended_by in ("done", "budget"),
        "exitCode": summary.exit_code(run),
    }
    for key, moment in (("startTimeUtc", run.began), ("endTimeUtc", run.began + run.cost.seconds)):
        try:
            began = datetime.fromtimestamp(moment, UTC)
        except (OverflowError, OSError, ValueError):
            continue
        made[key] = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    notes = [*run.notes]
    if run.ended_by in summary.ENDINGS:
        notes.append(summary.ENDINGS[run.ended_by])
    if notes:
        made["toolExecutionNotifications"] = [
            {"level": "note", "message": {"text": _text(line(note))}} for note in notes
        ]
    return made


def _properties(run: Run) -> dict[str, Any]:
    kept, decided = summary.score(run)
    return {
        "verdict": summary.verdict(run),
        "rulesKept": kept,
        "rulesJudged": decided,
        "contract": line(run.tool.contract),
        "profile": line(run.tool.profile),
        "model": line(run.endpoint.model),
    }


def _text(text: str) -> str:
    """The text of a message, in which nothing is a link."""
    return _LINK.sub(r"\\[", text)
