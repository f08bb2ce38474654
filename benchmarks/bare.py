"""The yardstick: an aiohttp server with one handler that reads JSON and answers from memory.

    python benchmarks/bare.py FOLDER

`FOLDER` holds the two answers, `whole` (JSON) and `stream` (an event stream), as bytes.
"""

import asyncio
import signal
import sys
from pathlib import Path

from aiohttp import web


def application(whole: bytes, stream: bytes) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        if not body.get("stream"):
            return web.Response(body=whole, content_type="application/json")
        response = web.Response(body=stream, content_type="text/event-stream", charset="utf-8")
        response.enable_chunked_encoding()
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    return app


async def serve(whole: bytes, stream: bytes) -> None:
    runner = web.AppRunner(application(whole, stream), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await stop.wait()
    await runner.cleanup()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    asyncio.run(serve((folder / "whole").read_bytes(), (folder / "stream").read_bytes()))
