"""A run as JUnit XML: a test suite a group, a test case a rule.

A rule that fails is a failure. A broken SHOULD passes and tells so, as in the exit code; what a
baseline knows, what is not supported and what was not run is skipped, with the reason.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from . import summary
from .run import Finding, Run
from .summary import Judged
from .visible import block, body, line

_FINDINGS = 20


def render(run: Run) -> str:
    """Write a run as JUnit XML."""
    root = Element("testsuites", name="wafermock")
    groups: dict[str, list[Judged]] = {}
    for item in summary.judged(run):
        groups.setdefault(item.rule.group, []).append(item)
    for name, items in groups.items():
        suite = _suite(root, run, name)
        for item in items:
            _case(suite, item)
    if run.ended_by in ("interrupted", "unreachable"):
        # Without this a run that asked nothing would look as good as one that found nothing.
        case = SubElement(_suite(root, run, "RUN"), "testcase", classname="RUN", name="ended")
        SubElement(case, "error", message=summary.ENDINGS[run.ended_by], type=run.ended_by)
    for suite in root:
        _count(suite, list(suite.iter("testcase")))
    _count(root, list(root.iter("testcase")))
    root.set("time", f"{run.cost.seconds:.3f}")
    indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{tostring(root, encoding='unicode')}\n"


def _suite(root: Element, run: Run, name: str) -> Element:
    suite = SubElement(root, "testsuite", name=line(name), hostname=line(run.endpoint.url))
    if began := summary.moment(run):
        suite.set("timestamp", began.removesuffix("Z"))
    properties = SubElement(suite, "properties")
    for key, value in (
        ("model", run.endpoint.model),
        ("contract", run.tool.contract),
        ("profile", run.tool.profile),
        ("wafermock", run.tool.version),
        ("seed", str(run.seed)),
        ("ended by", run.ended_by),
    ):
        SubElement(properties, "property", name=key, value=line(value))
    return suite


def _count(element: Element, cases: list[Element]) -> None:
    element.set("tests", str(len(cases)))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(key, str(sum(case.find(tag) is not None for case in cases)))


def _case(suite: Element, item: Judged) -> None:
    rule = item.rule
    case = SubElement(suite, "testcase", classname=line(rule.group), name=line(rule.id), time="0")
    told = "\n\n".join(_findings(item))
    requirement = line(rule.requirement) or "this rule is kept"
    if item.known:
        reasons = dict.fromkeys(line(finding.known) for finding in item.findings)
        SubElement(case, "skipped", message=f"known: {'; '.join(reasons)}", type=item.state)
    elif item.state == "FAIL":
        times = summary.count(item.verdict.broken, "time")
        message = f"{requirement} ({rule.level}, broken {times})"
        SubElement(case, "failure", message=message, type=item.state).text = told
    elif item.state in ("UNSUPPORTED", "NOT RUN"):
        why = line(item.verdict.why)
        SubElement(case, "skipped", message=f"{item.state}: {why}", type=item.state)
    lines = [
        f"{item.state} {rule.level}: {requirement}",
        f"source: {line(rule.source)}",
        f"kept {item.verdict.kept}, broken {item.verdict.broken}",
        line(item.verdict.why),
        told if item.state != "FAIL" or item.known else "",
    ]
    SubElement(case, "system-out").text = "\n".join(text for text in lines if text)


def _findings(item: Judged) -> Iterator[str]:
    for finding in item.findings[:_FINDINGS]:
        yield _finding(finding)
    left = len(item.findings) - _FINDINGS
    if left > 0:
        yield f"and {summary.count(left, 'more finding')}"


def _finding(finding: Finding) -> str:
    told = [
        f"{line(finding.id)} {finding.state} at {line(finding.where)}, seen "
        f"{summary.count(finding.count, 'time')}",
        f"contract: {line(finding.location)}",
        f"kind of request: {line(finding.kind)}",
        f"expected: {block(finding.expected)}",
        f"actual: {block(finding.actual)}",
    ]
    if finding.known:
        told.append(f"known: {line(finding.known)}")
    for exchange in finding.traffic[:1]:
        came = "nothing came" if exchange.status is None else f"status {exchange.status}"
        told.append(f"answer: {came} {line(exchange.error)}".rstrip())
        if exchange.parts:
            told.append(body(exchange.body, 1000, exchange.omitted))
    if finding.curl:
        told.append(f"repeat it:\n{block(finding.curl, 4000)}")
    return "\n".join(told)
