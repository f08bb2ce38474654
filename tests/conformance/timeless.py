"""What two runs with one seed have in common: all of their result files but for the times."""

from dataclasses import replace

from wafermock.reports.run import Finding, Run, Traffic


def timeless(run: Run) -> Run:
    """Return a run without any time in it."""
    return replace(
        run,
        began=0.0,
        cost=replace(run.cost, seconds=0.0),
        timings={},
        findings=tuple(map(_finding, run.findings)),
    )


def _finding(finding: Finding) -> Finding:
    return replace(finding, traffic=tuple(map(_traffic, finding.traffic)))


def _traffic(traffic: Traffic) -> Traffic:
    parts = tuple(replace(part, at=0.0) for part in traffic.parts)
    headers = tuple((name, value) for name, value in traffic.headers if name.lower() != "date")
    return replace(traffic, parts=parts, headers=headers)
