"""What becomes of findings when their requests are sent again."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from wafermock.reports.run import Finding
from wafermock.spec import Contract

from .client import Client
from .endpoint import Endpoint
from .exchange import Exchange, Probe
from .planned import Subject
from .replay import replay
from .rule import Bench, Breach, Rule
from .rules import all_rules
from .secrets import Masking

ANY_STATUS, SUCCESS, FAILED = range(100, 600), range(200, 300), range(400, 600)
# What a server says to a key that it does not take: it has looked at nothing else.
DENIED = (401, 403)


@dataclass(frozen=True)
class Replayed:
    """A finding whose requests were sent again. `still` says what is still wrong, empty where
    nothing is; `silent` why there was no answer; `unjudged` why the answers say nothing of it."""

    finding: Finding
    still: str = ""
    silent: str = ""
    unjudged: str = ""


async def replayed(
    findings: Iterable[Finding], endpoint: Endpoint, subject: Subject, contract: Contract
) -> list[Replayed]:
    """Send the requests of findings again, one finding behind the other, and judge the answers by
    the rule that was broken. `subject` has the key and the headers that were masked."""
    rules = {rule.id: rule for rule in all_rules()}
    bench = Bench(contract, {"deterministic": True})
    masking = Masking.of(subject)
    results = []
    async with Client(endpoint) as client:
        for finding in findings:
            exchanges = await replay(
                finding,
                client,
                api_key=subject.api_key,
                headers=subject.headers,
                contract=contract,
            )
            silent = next((e.error for e in exchanges if e.received is None), "")
            rule = rules.get(finding.rule)
            if rule is None:
                results.append(Replayed(finding, silent="there is no such rule any more"))
            elif silent and not (rule.unanswered and all(e.reached for e in exchanges)):
                results.append(Replayed(finding, silent=masking.text(silent)))
            elif denied := _turned_away(finding, exchanges, DENIED):
                results.append(
                    Replayed(finding, unjudged=f"{denied}: is the key right (--api-key-env)?")
                )
            elif still := masking.text(_still(rule, exchanges, bench)):
                results.append(Replayed(finding, still))
            else:
                failed = _turned_away(finding, exchanges, FAILED, of=SUCCESS)
                results.append(Replayed(finding, unjudged=failed))
    return results


def _turned_away(
    finding: Finding, exchanges: Sequence[Exchange], by: Container[int], of: range = ANY_STATUS
) -> str:
    """Say which answer has a status of `by` where one of `of` was before, and no refusal was
    wanted: such an answer does not tell whether the finding is gone. Empty: none has."""
    for before, exchange in zip(finding.traffic, exchanges, strict=True):
        now = exchange.received.status if exchange.received else None
        if now in by and before.status in of and now not in (before.status, *before.statuses):
            return f"{now} this time, {before.status} before"
    return ""


def _still(rule: Rule, exchanges: Sequence[Exchange], bench: Bench) -> str:
    if rule.probe:
        roles = {exchange.purpose.kind: exchange for exchange in exchanges}
        found = list(rule.judge(Probe("replay", rule.probe, roles), bench))
    else:
        found = [
            item
            for exchange in exchanges
            if rule.applies(exchange)
            for item in rule.judge(exchange, bench)
        ]
    breaches = [item for item in found if isinstance(item, Breach)]
    return f"expected {breaches[0].expected}; actual {breaches[0].actual}" if breaches else ""
