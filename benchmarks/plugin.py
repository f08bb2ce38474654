"""What the pytest plugin costs: tests with a scripted reply each, against tests that call nothing.

    python benchmarks/plugin.py [--runs 5] [--tests 20]

Each figure is the time of a whole process, `python -m pytest`, the best and the median of several
runs that take turns. Three things are told:

- unused: a run without the plugin, and with it installed and not used. Target: 30 ms at most.
- used: tests that make one call each, against the same tests that call nothing (both make a
  client). Target: 1.3 times at most. Beside it the same tests with a bare aiohttp server in a
  thread, which has one answer for all: what a call, and aiohttp, cost by themselves.
- fixture: what one test pays for the fixture alone.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def sdk(package: str, kind: str, url: str, options: str) -> tuple[str, str, str]:
    """The tests of a client of the OpenAI kind; `url` names the address that it wants."""
    head = f"""
from {package} import {kind} as Client

MESSAGES = [{{"role": "user", "content": "hi"}}]
"""
    calling = f"""
def test_{{number}}(wafermock):
    wafermock.on(last_user="hi").replies("Hello.")
    with Client(base_url=wafermock.{url}, api_key="k", {options}) as client:
        answer = client.chat.completions.create(model="gpt-oss-120b", messages=MESSAGES)
    assert answer.choices[0].message.content == "Hello."
"""
    silent = f"""
def test_{{number}}():
    with Client(base_url="http://127.0.0.1:9", api_key="k", {options}) as client:
        assert client.chat.completions.create
"""
    return head, calling, silent


# For each kind of client: what stands above the tests, a test that calls, and one that does not.
CLIENTS = {
    # Without the option it knocks at its server when it is made, which here is nobody.
    "Cerebras SDK": sdk("cerebras.cloud.sdk", "Cerebras", "url", "warm_tcp_connection=False"),
    "openai": sdk("openai", "OpenAI", "openai_url", ""),
    "httpx": (
        """
import httpx

HEADERS = {"authorization": "Bearer k"}
BODY = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "hi"}]}
""",
        """
def test_{number}(wafermock):
    wafermock.on(last_user="hi").replies("Hello.")
    with httpx.Client(base_url=wafermock.url, headers=HEADERS) as client:
        answer = client.post("/v1/chat/completions", json=BODY).json()
    assert answer["choices"][0]["message"]["content"] == "Hello."
""",
        """
def test_{number}():
    with httpx.Client(base_url="http://127.0.0.1:9", headers=HEADERS) as client:
        assert client.post
""",
    ),
}

# The same name and methods, and nothing behind them.
BARE = """
import asyncio, threading, types
import pytest
from aiohttp import web

MESSAGE = {"role": "assistant", "content": "Hello."}
ANSWER = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-oss-120b",
    "choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}

@pytest.fixture(scope="session")
def wafermock():
    ready, ports = threading.Event(), []

    async def answer(request):
        await request.read()
        return web.json_response(ANSWER)

    async def serve():
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ports.append(runner.addresses[0][1])
        ready.set()
        await asyncio.Event().wait()

    threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()
    ready.wait()
    url = f"http://127.0.0.1:{ports[0]}"
    expectation = types.SimpleNamespace(replies=lambda text: None)
    yield types.SimpleNamespace(url=url, openai_url=f"{url}/v1", on=lambda **_: expectation)
"""

EMPTY = """
def test_{number}():
    pass
"""

FIXTURE = """
def test_{number}(wafermock):
    pass
"""


def seconds(folder: Path, *options: str) -> float:
    """Time one run of the tests in a folder."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tests", type=int, default=20)
    options = parser.parse_args()
    plugin = ("-p", "wafermock")
    cases = {
        "no plugin, empty tests": ("", EMPTY, 1, ()),
        "plugin unused, empty tests": ("", EMPTY, 1, plugin),
        "one test with the fixture": ("", FIXTURE, 1, plugin),
        "201 tests with the fixture": ("", FIXTURE, 201, plugin),
        "201 empty tests": ("", EMPTY, 201, plugin),
    }
    for client, (head, calling, silent) in CLIENTS.items():
        cases[f"{client}: call nothing"] = (head, silent, options.tests, plugin)
        cases[f"{client}: one reply each"] = (head, calling, options.tests, plugin)
        cases[f"{client}: of a bare server"] = (BARE + head, calling, options.tests, plugin)
    with tempfile.TemporaryDirectory() as home:
        times: dict[str, list[float]] = {}
        folders: dict[str, Path] = {}
        for name, (head, test, count, _) in cases.items():
            folder = folders[name] = Path(home, str(len(folders)))
            folder.mkdir()
            tests = "".join(test.format(number=number) for number in range(count))
            (folder / f"test_{folder.name}.py").write_text(head + tests)
        for run in range(options.runs + 1):
            for name, (_, _, _, extra) in cases.items():
                taken = seconds(folders[name], *extra)
                if run:  # the first one compiles
                    times.setdefault(name, []).append(taken)
    for name, taken in times.items():
        print(f"{name:30} best {min(taken):.3f} s, median {statistics.median(taken):.3f} s")
    best = {name: min(taken) for name, taken in times.items()}
    unused = best["plugin unused, empty tests"] - best["no plugin, empty tests"]

    for client in CLIENTS:
        nothing = best[f"{client}: call nothing"]
        ours, bare = (best[f"{client}: {what}"] for what in ("one reply each", "of a bare server"))
        print(f"used: {ours / nothing:.2f} x ({client}); bare server {bare / nothing:.2f} x")
    each = best["201 tests with the fixture"] - best["one test with the fixture"]
    each -= best["201 empty tests"] - best["plugin unused, empty tests"]
    print(f"unused {1000 * unused:.0f} ms; fixture {each / 200 * 1000:.2f} ms")


if __name__ == "__main__":
    main()
