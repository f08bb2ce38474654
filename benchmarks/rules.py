"""What do all the rules together cost for an exchange?

    .venv/bin/python benchmarks/rules.py [--budget standard]

A run against the mock, in this process; told is the CPU time of judging each exchange.
"""

import argparse
import asyncio
import statistics
import time

from servers import WAFERMOCK, running

from wafermock.conformance.budgets import budget
from wafermock.conformance.check import Order, check
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.exchange import Exchange
from wafermock.conformance.tally import Shown, Tally
from wafermock.spec import load_contract

KEY = "benchmark"


def measured(port: int, name: str) -> list[float]:
    """Run the judge; return what judging each exchange took, in seconds, sorted."""
    taken: list[float] = []
    judge = Tally.exchange

    def timed(tally: Tally, exchange: Exchange) -> list[Shown]:
        began = time.process_time()
        shown = judge(tally, exchange)
        taken.append(time.process_time() - began)
        return shown

    Tally.exchange = timed  # type: ignore[method-assign]
    endpoint = Endpoint.at(f"http://127.0.0.1:{port}")
    asyncio.run(check(Order(endpoint, load_contract(), budget(name), api_key=KEY)))
    return sorted(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description="What the rules cost.")
    parser.add_argument("--budget", default="standard")
    given = parser.parse_args()
    with running((*WAFERMOCK, "--models", "strict", "--api-key", KEY)) as port:
        taken = measured(port, given.budget)
    mean, median, slow = statistics.mean(taken), statistics.median(taken), taken[-len(taken) // 20]
    print(
        f"{len(taken)} exchanges: {1000 * mean:.2f} ms mean, {1000 * median:.2f} ms median, "
        f"{1000 * slow:.2f} ms for one in twenty"
    )


if __name__ == "__main__":
    main()
