"""Different calls one behind the other, for what they say together."""

from collections.abc import Iterator, Sequence

from wafermock.spec import Contract, Operation

from ..planned import PlannedProbe, Subject, plan, pointer
from .asking import QUICK, STANDARD, Asking, Weighted, cost, needs

CAMPAIGN = "headers"

CALLS = 3


def header_probes(contract: Contract, subject: Subject, seed: int = 0) -> Iterator[Weighted]:
    """Plan different calls, one behind the other: `calls` for the headers, `ids` for the bodies."""
    asking = Asking(contract, subject, seed)
    if asking.main is None:
        return
    numbers = [f"call {number}" for number in range(1, CALLS + 1)]
    yield Weighted(QUICK, _different(asking, asking.main, "calls", numbers))
    for operation in asking.completing:
        weight = QUICK if operation is asking.main else STANDARD
        yield Weighted(weight, _different(asking, operation, "ids", ["a", "b"]))


def _different(
    asking: Asking, operation: Operation, name: str, roles: Sequence[str]
) -> PlannedProbe:
    """Plan calls of which no two ask the same."""
    planned = {}
    for role in roles:
        asked = asking.body(operation, f"Say the word {asking.word(f'{name} {role}')}.")
        planned[role] = plan(
            operation,
            asked,
            asking.subject,
            campaign=CAMPAIGN,
            kind=role,
            location=pointer(operation),
            tokens=cost(asked),
        )
    return PlannedProbe(name, planned, needs=needs(operation))
