"""Probes: deliberate requests, and groups of requests, that show what a rule asks for.

They plan, and send nothing. `capability_requests` and `repeat_probe` go first: what they find out
decides what of `probes` is sent (`Planned.needs`), and how it is judged (`Bench.facts`).
"""

from collections.abc import Iterator

from wafermock.spec import Contract

from ..planned import Planned, PlannedProbe, Subject
from .asking import DEEP, QUICK, STANDARD, Weighted
from .capabilities import (
    capability_requests,
    judge_capability,
    judge_determinism,
    supported,
    unable,
)
from .encoding import encoding_probes
from .errors import error_probes
from .features import feature_probes
from .headers import header_probes
from .metamorphic import metamorphic_probes, repeat_probe

__all__ = [
    "DEEP",
    "QUICK",
    "STANDARD",
    "Weighted",
    "capability_requests",
    "judge_capability",
    "judge_determinism",
    "probes",
    "repeat_probe",
    "supported",
    "unable",
]

GROUPS = (error_probes, metamorphic_probes, encoding_probes, header_probes, feature_probes)


def probes(
    contract: Contract,
    subject: Subject,
    seed: int = 0,
    *,
    most: int = DEEP,
) -> Iterator[Planned | PlannedProbe]:
    """Yield all probes up to a weight, the most telling first.

    The same for the same contract, subject, seed and weight: what was measured of a server changes
    how rules judge, and not what is asked.
    """
    made = [
        weighted
        for group in GROUPS
        for weighted in group(contract, subject, seed)
        if weighted.weight <= most
    ]
    return (weighted.item for weighted in sorted(made, key=lambda weighted: weighted.weight))
