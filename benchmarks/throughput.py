"""Answers a second over keep-alive connections: the mock against a bare aiohttp server.

    python benchmarks/throughput.py [--requests 4000] [--connections 16] [--rounds 3]

Whole answers and streams; the same request again and again, and another one each time. The load
comes from a second process. The bare server reads the same requests and sends the same bytes.
*Scripted*: a rule says the same words; it has to be looked for each time.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from servers import HERE, WAFERMOCK, bare, record_answers, running

# What is asked of which mock. (streamed, distinct)
CASES = {
    "whole, identical": (False, False),
    "whole, scripted": (False, False),
    "whole, distinct": (False, True),
    "stream, identical": (True, False),
    "stream, scripted": (True, False),
    "stream, distinct": (True, True),
}


def options(case: str, number: int) -> list[str]:
    """The load generator's options; a mock that remembers answers must not know them already."""
    streamed, distinct = CASES[case]
    word = case.replace(", ", "-") + f"-{number}"
    return [*(["--stream"] if streamed else []), *(["--distinct", word] if distinct else [])]


def load(port: int, *options: str) -> dict[str, float]:
    """Run the load generator against a port; return what it measured."""
    command = [sys.executable, str(HERE / "load.py"), str(port), *options]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(run.stdout))


def rule(folder: Path) -> Path:
    """Write a script with one rule, which says what the mock says without it."""
    message = json.loads((folder / "whole").read_bytes())["choices"][0]["message"]
    reply = {"text": message["content"], "reasoning": message.get("reasoning") or ""}
    script = folder / "script.json"
    script.write_text(json.dumps({"rules": [{"match": {"last": "Hello!"}, "reply": reply}]}))
    return script


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers a second.")
    parser.add_argument("--requests", type=int, default=4000, help="of each case and round")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    sizes = ("--requests", str(given.requests), "--connections", str(given.connections))
    with tempfile.TemporaryDirectory() as folder:
        record_answers(Path(folder))
        print(f"{'':<18} {'bare aiohttp':>14} {'wafermock':>12} {'share':>7} {'p99':>9}")
        scripted = (*WAFERMOCK, "--script", str(rule(Path(folder))))
        with running(bare(Path(folder))) as yardstick:
            for case in CASES:
                # A mock of its own: what the case before has left is counted as it goes.
                with running(scripted if "scripted" in case else WAFERMOCK) as mock:
                    measure(case, yardstick, mock, given.rounds, sizes)


def measure(case: str, yardstick: int, mock: int, rounds: int, sizes: Sequence[str]) -> None:
    """Load two ports by turns, and print a line."""
    measured: dict[int, list[float]] = {yardstick: [], mock: []}
    slow = []
    for port in measured:
        load(port, "--requests", "200")
    for number in range(rounds):
        for port, rates in measured.items():
            result = load(port, *sizes, *options(case, number))
            rates.append(result["requests"] / result["seconds"])
            if port == mock:
                slow.append(result["p99"])
    base, own = (median(rates) for rates in measured.values())
    share, p99 = own / base, median(slow)
    print(f"{case:<18} {base:10.0f} /s {own:10.0f} /s {share:6.0%} {p99:6.1f} ms")


if __name__ == "__main__":
    main()
