"""All of the proof: `make prove`. With `--write` the table and the pages are written anew; else
what they name first must still be true.

Also: `--only rules`, `--only undisturbed`, `--count 20000`; with `--defects done_twice,no_role`
only these rows are found anew, and those that are missing.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from wafermock.conformance.rules import all_rules

from . import pages
from .judging import Choice
from .serving import OPTIONS, mocks, serving_of_tests
from .table import Mocks, Row, Table, broken_by, choices, proofs, read, row, write
from .undisturbed import Result, undisturbed

PROFILES = ("documented", "observed")
COUNT = 20_000
WORKERS = 2


def _row(mocks: Mocks, choice: Choice) -> Row:
    return row(broken_by(mocks, choice), choice)


def _undisturbed(profile: str, count: int, seed: int) -> Result:
    with serving_of_tests()("--profile", profile, *OPTIONS) as served:
        return undisturbed(served.url, profile, count, seed)


def _rules(is_written: bool, names: str = "") -> bool:
    """Break every rule; return whether all is as the table says. `names`: only with these defects
    and those that the table has not."""
    began = time.monotonic()
    known = read() if names else {}
    some = {name.strip() for name in names.split(",")}
    listed = [c for c in choices() if c not in known or c[1].partition(":")[0] in some]
    print(f"{len(listed)} defects and deliveries against {len(all_rules())} rules", flush=True)
    with (
        mocks(serving_of_tests()) as served,
        ProcessPoolExecutor(WORKERS) as pool,
    ):
        rows = pool.map(_row, [served] * len(listed), listed)
        found = {**known, **dict(zip(listed, rows, strict=True))}
    table: Table = {choice: found[choice] for choice in choices()}
    print(f"took {time.monotonic() - began:.0f} s")
    kept = table if is_written else read()
    faults = [*_faults(table), *_lost(table, kept)]
    for fault in faults:
        print(f"FAILED: {fault}")
    for choice in table:
        if table[choice] != kept.get(choice):  # what comes at the same time comes in any order
            print(f"changed: {' '.join(choice)}: {table[choice]}, it was {kept.get(choice)}")
    if is_written:
        write(table)
        pages.write(table)
    return not faults


def _faults(table: Table) -> Iterator[str]:
    """Say which rule is broken by nothing, and which defect breaks none."""
    for rule, known in proofs(table).items():
        if not known:
            yield f"nothing breaks {rule}"
    for (noun, text), rules in table.items():
        if noun == "defect" and not rules:
            yield f"no rule sees {text}"


def _lost(table: Table, kept: Table) -> Iterator[str]:
    """Say which rule is no longer broken by what the docs name first."""
    for rule, known in proofs(kept).items():
        for choice in known[:1]:
            state = kept[choice][rule][0]
            if table.get(choice, {}).get(rule, ("PASS",))[0] != state:
                yield f"{rule} is no longer broken by {' '.join(choice)}"


def _silence(count: int, seed: int) -> bool:
    """Ask the undisturbed mock; return whether no rule said anything."""
    began = time.monotonic()
    with ProcessPoolExecutor(WORKERS) as pool:
        n = len(PROFILES)
        results = dict(
            zip(PROFILES, pool.map(_undisturbed, PROFILES, [count] * n, [seed] * n), strict=True)
        )
    for profile, result in results.items():
        print(f"{profile}: {result.exchanges} exchanges, {len(result.alarms)} alarms")
        for (rule, deliveries), times in sorted(result.told.items()):
            print(f"  worth a word: {rule}, {deliveries}: {times}")
        for alarm in result.alarms.values():
            print(f"FAILED: {alarm.rule} {alarm.state} x{alarm.count}, delivery {alarm.delivery}")
            print(f"  {alarm.told}\n  {alarm.request}")
    print(f"took {time.monotonic() - began:.0f} s")
    return not any(result.alarms for result in results.values())


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="proof", description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--defects", default="")
    parser.add_argument("--only", choices=("rules", "undisturbed"))
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    good = True
    if given.only != "undisturbed":
        good &= _rules(given.write, given.defects)
    if given.only != "rules":
        good &= _silence(given.count, given.seed)
    print("proved" if good else "NOT proved")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
