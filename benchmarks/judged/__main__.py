"""Install, start and judge servers that others wrote: `python -m benchmarks.judged [NAME]...`."""

import argparse
import signal
import sys
from pathlib import Path

from . import SERVERS, page, samples
from .environments import CannotInstall, cache_folder, installed
from .judging import CannotJudge, judged
from .running import CannotStart
from .server import Server

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "docs" / "samples"
PAGE = ROOT / "docs" / "servers.md"


def main() -> int:
    """Judge each server that is named, or all; return 1 where one of them could not be had."""
    names = [server.name for server in SERVERS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judged", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(names)}")
    parser.add_argument("--budget", choices=("quick", "standard", "deep"), default="standard")
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="where to install")
    parser.add_argument("--samples", type=Path, default=SAMPLES, help="where reports go")
    parser.add_argument("--html", action="store_true", help="write the reports in HTML, too")
    parser.add_argument(
        "--table-only", action="store_true", help="make the tables of what is there"
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no server {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    # Who ends this ends the server that runs just now as well.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options.samples.mkdir(parents=True, exist_ok=True)
    chosen = [server for server in SERVERS if not options.names or server.name in options.names]
    done = [options.table_only or _judge(server, options) for server in chosen]
    runs = samples.read(options.samples)
    samples.write_comparison(runs, options.samples)
    if options.samples == SAMPLES:
        page.update(PAGE, runs)
    return 0 if all(done) else 1


def _judge(server: Server, options: argparse.Namespace) -> bool:
    print(f"{server.name} {server.version}", flush=True)
    try:
        run = judged(server, installed(server, options.cache), options.budget)
    except (CannotInstall, CannotStart, CannotJudge) as error:
        print(f"  {error}", file=sys.stderr)
        return False
    samples.write(run, server.name, options.samples, with_html=options.html)
    print(f"  {run.cost.requests} requests, {run.cost.seconds:.0f} s, {run.state}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
