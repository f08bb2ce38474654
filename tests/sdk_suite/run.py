"""Run the official Python SDK's own tests of the API against the mock.

The source distribution of `cerebras_cloud_sdk` ships its tests. They are fetched, not copied:
into a folder beside the project's own environment, with a virtual environment of their own.

    python tests/sdk_suite/run.py [--api-base URL] [pytest's arguments]

Without `--api-base` it starts `wafermock serve --validate off`: the suite asks for models that do
not exist, and sends values like `string`. Exits with pytest's code, or with 69 when the suite
cannot be had.
"""

import argparse
import os
import signal
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

VERSION = "1.91.0"
SDK = "cerebras_cloud_sdk"
# What its `tests/conftest.py` and `tests/utils.py` import, and the plugin that its options name.
NEEDS = (f"{SDK}[aiohttp]=={VERSION}", "pytest", "pytest-asyncio", "pytest-xdist", "rich")

CACHE = Path(__file__).parents[2] / ".venv" / f"sdk-suite-{VERSION}"

UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h


class Unavailable(Exception):
    """Why the suite cannot be had."""


def python() -> Path:
    """The interpreter of the suite's environment."""
    return CACHE / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def prepare() -> Path:
    """Return the unpacked source distribution, fetched if need be. Raises Unavailable."""
    sources = CACHE / f"{SDK}-{VERSION}"
    ready = CACHE / "ready"
    if ready.exists():
        return sources
    venv.create(CACHE, with_pip=True, clear=True)
    _pip("install", *NEEDS)
    _pip("download", "--no-binary", ":all:", "--no-deps", "--dest", str(CACHE), f"{SDK}=={VERSION}")
    [archive] = CACHE.glob(f"{SDK}-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(CACHE, filter="data")
    ready.touch()
    return sources


def _pip(*arguments: str) -> None:
    """Run pip in the suite's environment, once: an index that is not there stays away."""
    quiet = ("--quiet", "--disable-pip-version-check", "--retries", "0", "--timeout", "20")
    run = subprocess.run(
        [python(), "-m", "pip", *arguments, *quiet], capture_output=True, text=True, check=False
    )
    if run.returncode:
        last = run.stderr.strip().splitlines() or ["no word from pip"]
        raise Unavailable(f"pip {arguments[0]} failed: {last[-1]}")


@contextmanager
def mock() -> Iterator[str]:
    """Run the mock; yield its base URL."""
    command = [sys.executable, "-m", "wafermock.cli", "serve", "--validate", "off", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("listening on "):
                sys.exit("the mock did not start")
            yield line.split()[-1]
        finally:
            process.send_signal(signal.SIGTERM)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The official Python SDK's own tests.")
    parser.add_argument("--api-base", metavar="URL", help="A server that runs already.")
    options, more = parser.parse_known_args(arguments)
    try:
        sources = prepare()
    except Unavailable as error:
        print(f"no SDK suite: {error}", file=sys.stderr)
        return UNAVAILABLE
    # One process: the suite's own option `-n auto` costs more than it saves on so few tests.
    command = [
        str(python()),
        "-m",
        "pytest",
        "tests/api_resources",
        "-n0",
        "-q",
        "--show-capture=no",
    ]
    with nullcontext(options.api_base) if options.api_base else mock() as url:
        environment = {**os.environ, "TEST_API_BASE_URL": url}
        environment.pop("PYTHONPATH", None)
        run = subprocess.run([*command, *more], cwd=sources, env=environment, check=False)
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
