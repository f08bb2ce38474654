"""Findings: what is broken, with the traffic that shows it and how to repeat it."""

from collections.abc import Iterable

from wafermock.reports.run import Finding

from .endpoint import Endpoint
from .repeating import curl, python
from .secrets import Masking
from .tally import Shown


def finding(shown: Shown, number: int, endpoint: Endpoint, masking: Masking) -> Finding:
    """Make a finding of a breach that was seen; every secret in it is masked."""
    traffic = tuple(masking.traffic(exchange) for exchange in shown.exchanges)
    return masking.finding(
        Finding(
            id=f"F{number}",
            rule=shown.rule,
            state=shown.state,
            location=shown.location,
            kind=shown.kind,
            where=shown.breach.where,
            expected=shown.breach.expected,
            actual=shown.breach.actual,
            traffic=traffic,
            count=shown.count,
            curl=curl(traffic, endpoint.url, insecure=endpoint.insecure, ca_file=endpoint.ca_file),
            python=python(
                traffic, endpoint.url, insecure=endpoint.insecure, ca_file=endpoint.ca_file
            ),
        )
    )


def findings(shown: Iterable[Shown], endpoint: Endpoint, masking: Masking) -> tuple[Finding, ...]:
    """Make findings of all that was seen, numbered in its order."""
    return tuple(
        finding(one, number, endpoint, masking) for number, one in enumerate(shown, start=1)
    )
