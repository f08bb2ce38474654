"""How much faster is `wafermock check -n 2` than one process?

    .venv/bin/python benchmarks/judge.py             # five runs each
    .venv/bin/python benchmarks/judge.py --runs 9 --processes 2

A standard run (about 1,900 requests), turns taken, against a mock at full speed that remembers its
answers, and against one that answers at the pace of a service. Told are the best and the median
wall time, and the CPU time of all of the judge; the mock's is not in it. Against the first the mock
wants its share of the same cores: a second process cannot get all of its own.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from servers import WAFERMOCK, running

KEY = "benchmark"
MOCK = (*WAFERMOCK, "--models", "strict", "--api-key", KEY)
# What a large service shows: 20 to 300 ms to the first token, then hundreds of tokens a second.
PACE = ("--ttft", "50ms", "--tokens-per-second", "1000", "--jitter", "20%")
SUBJECTS = {"at full speed": (), "at a service's pace": PACE}


@dataclass(frozen=True)
class Took:
    """What a run took, in seconds."""

    wall: float
    cpu: float


def check(port: int, processes: int, folder: Path) -> Took:
    """Run the judge once; end where the mock does not conform, or not all was asked."""
    command = (
        sys.executable, "-m", "wafermock.cli", "check", f"http://127.0.0.1:{port}", "--quiet",
        "--api-key-env", "KEY", "--budget", "standard", "--out", str(folder / "run.json"),
        "-n", str(processes),
    )  # fmt: skip
    before = os.times()
    began = time.perf_counter()
    done = subprocess.run(
        command, env={**os.environ, "KEY": KEY}, capture_output=True, text=True, check=False
    )
    wall = time.perf_counter() - began
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    cpu = after.children_user + after.children_system
    return Took(wall, cpu - before.children_user - before.children_system)


def measure(options: Sequence[str], processes: Sequence[int], runs: int) -> dict[int, list[Took]]:
    """Measure runs against one mock, turns taken, after one that warms its memory."""
    took: dict[int, list[Took]] = {number: [] for number in processes}
    with running((*MOCK, *options)) as port, tempfile.TemporaryDirectory() as folder:
        check(port, 1, Path(folder))
        for _ in range(runs):
            for number in processes:
                took[number].append(check(port, number, Path(folder)))
    return took


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=5, help="how often each is measured")
    parser.add_argument("--processes", type=int, default=2, help="how many are compared with one")
    parser.add_argument("--only", default="", help="only the mock whose name contains this")
    given = parser.parse_args()
    for name, options in SUBJECTS.items():
        if given.only not in name:
            continue
        took = measure(options, (1, given.processes), given.runs)
        print(f"a mock {name}")
        for number, each in took.items():
            walls, cpus = [one.wall for one in each], [one.cpu for one in each]
            print(
                f"  -n {number}: best {min(walls):.2f} s, median {statistics.median(walls):.2f} s"
                f"; CPU best {min(cpus):.2f} s, median {statistics.median(cpus):.2f} s"
            )
        one, more = ([run.wall for run in took[number]] for number in (1, given.processes))
        middle = statistics.median(one) / statistics.median(more)
        print(f"  times faster: {min(one) / min(more):.2f} (best), {middle:.2f} (median)")


if __name__ == "__main__":
    main()
