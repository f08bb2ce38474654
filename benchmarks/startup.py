"""From the start of a process to its first answer: the mock against a bare aiohttp server.

    python benchmarks/startup.py [--rounds 15]

The two take turns, so that whatever else the machine does falls on both. Prints the medians in
milliseconds and their ratio.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from servers import WAFERMOCK, ask, bare, record_answers, request, running

TARGET = 1.5


def measure(command: tuple[str, ...]) -> tuple[float, float]:
    """Return the milliseconds until a server listens, and until it has answered."""
    start = perf_counter()
    with running(command) as port:
        listening = perf_counter() - start
        ask(port, request())
        answered = perf_counter() - start
    return listening * 1000, answered * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="Start to first answer.")
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        record_answers(Path(folder))
        commands = {"bare aiohttp": bare(Path(folder)), "wafermock": WAFERMOCK}
        for command in commands.values():
            measure(command)  # compiles what is not compiled yet
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(measure(command))
    print(f"{'median of ' + str(rounds):<14} {'listening':>12} {'first answer':>14}")
    answered = {}
    for name, measured in times.items():
        listening, answered[name] = (median(column) for column in zip(*measured, strict=True))
        print(f"{name:<14} {listening:9.0f} ms {answered[name]:11.0f} ms")
    ratio = answered["wafermock"] / answered["bare aiohttp"]
    print(f"ratio of first answers: {ratio:.2f} (target: at most {TARGET})")


if __name__ == "__main__":
    main()
