"""A bench behind a socket, and a browser before it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from wafermock.mockserver.control.held import Dropped
from wafermock.mockserver.control.paths import METRICS, is_control
from wafermock.mockserver.exchange import Answer, Request

PATIENCE = 30


def _handler(bench: Any) -> Any:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        path, _, query = request.raw_path.partition("?")
        asked = Request(request.method, path, query, headers, await request.read())
        if is_control(path) or path == METRICS:
            return _whole(bench.control.interface.answer(asked, request.remote))
        watch = bench.service.clock.stopwatch()
        turn = bench.service.begin(asked)
        observed = bench.control.note(asked, turn)
        ending = "complete"
        try:
            if observed.held is None:
                return _whole(turn.answer)
            response = web.StreamResponse(status=200, headers=turn.answer.headers)
            await response.prepare(request)
            for index, part in enumerate(turn.answer.parts):
                await observed.held.reach(index)
                await response.write(part)
            await response.write_eof()
            return response
        except Dropped:
            ending = "dropped"
            request.transport.abort()  # type: ignore[union-attr]
            raise
        finally:
            observed.end(watch.seconds, ending)

    return handle


def _whole(answer: Answer) -> web.Response:
    return web.Response(status=answer.status, headers=answer.headers, body=answer.body)


@contextmanager
def served(bench: Any) -> Iterator[str]:
    """Serve a bench from a thread of its own; yield its address."""
    ready, done = threading.Event(), threading.Event()
    address: list[str] = []

    async def main() -> None:
        runner = web.ServerRunner(web.Server(_handler(bench), access_log=None))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        address.append(f"http://127.0.0.1:{port}")
        ready.set()
        await asyncio.get_running_loop().run_in_executor(None, done.wait)
        bench.control.holds.drop_all()
        await runner.cleanup()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield address[0]
    finally:
        done.set()
        thread.join(PATIENCE)
