"""Held streams: the test decides when each part goes."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from wafermock import MockServer, Space

BODY = {
    "model": "gpt-oss-120b",
    "messages": [{"role": "user", "content": "hi"}],
    "stream": True,
}
HEADERS = {"authorization": "Bearer x"}


class Reading:
    """A client that reads a stream in a thread."""

    def __init__(self, mock: Space, timeout: float = 20) -> None:
        self.text = ""
        self.error: Exception | None = None
        self._url = f"{mock.url}/v1/chat/completions"
        self._timeout = timeout
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        try:
            with (
                httpx.Client(timeout=self._timeout, trust_env=False) as client,
                client.stream("POST", self._url, json=BODY, headers=HEADERS) as response,
            ):
                for chunk in response.iter_text():
                    self.text += chunk
        except Exception as error:
            self.error = error

    @property
    def events(self) -> int:
        return self.text.count("\n\n")

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive()


@contextmanager
def reading(mock: Space) -> Iterator[Reading]:
    client = Reading(mock)
    client.start()
    try:
        yield client
    finally:
        client.join()


def test_part_by_part(mock: Space) -> None:
    stream = mock.on().streams(["a", "b", "c", "d"]).held()
    assert (stream.state, stream.parts, stream.sent) == ("awaited", None, 0)
    with reading(mock) as client:
        stream.until_begun()
        assert (stream.state, stream.parts, stream.sent) == ("running", 7, 0)
        stream.emit(3)
        stream.until_sent()
        assert stream.sent == 3
        stream.emit()
        stream.until_sent(4)
        stream.release()
        stream.until_over()
    assert (stream.state, stream.sent, client.events, client.error) == ("over", 7, 7, None)


def test_levers_moved_before_it_begins(mock: Space) -> None:
    stream = mock.on().streams(["a", "b", "c"]).held()
    stream.emit(2)
    stream.drop()
    with reading(mock) as client:
        stream.until_over()
    assert (stream.state, stream.sent) == ("dropped", 2)
    assert client.events == 2
    assert isinstance(client.error, httpx.RemoteProtocolError)
    with reading(mock):  # once the next call is answered, the one before is noted down
        pass
    assert mock.calls[0].ending == "dropped"


def test_dropped_where_it_stands(mock: Space) -> None:
    stream = mock.on().streams(["a", "b", "c"]).held()
    with reading(mock) as client:
        stream.until_begun()
        stream.drop()
        stream.until_over()
    assert (stream.state, stream.sent, client.events) == ("dropped", 0, 0)


def test_held_again(mock: Space) -> None:
    stream = mock.on().streams(list("abcdefgh")).held()
    with reading(mock) as client:
        stream.emit(2)
        stream.until_sent()
        stream.hold()
        stream.emit(1)
        stream.until_sent()
        assert stream.sent == 3
        stream.release()
    assert client.error is None


def test_only_the_next_one_and_only_of_its_expectation(mock: Space) -> None:
    mock.on(model="other").replies("x")
    stream = mock.on().replies("y").held()
    with reading(mock):
        stream.release()
    with reading(mock) as client:
        pass
    assert client.error is None


def test_whatever_answers_next(mock: Space) -> None:
    first, second = mock.hold_next(), mock.hold_next()
    with reading(mock) as client:
        first.until_begun()
        first.release()
    assert second.state == "awaited"
    with reading(mock) as client:
        second.until_begun()
        second.release()
    for stream in (first, second):  # the client may have it all before the server knows
        stream.until_over()
    assert (client.error, first.state, second.state) == (None, "over", "over")


def test_waiting_has_an_end_and_says_what_there_was(mock: Space) -> None:
    stream = mock.on().replies("y").held()
    with pytest.raises(TimeoutError, match=r"stream of on\(\) to begin; it is awaited.*at all\?"):
        stream.until_begun(timeout=0.01)
    with reading(mock):
        stream.until_begun()
        with pytest.raises(TimeoutError, match="to have sent 2 parts; it is running, 0 parts"):
            stream.until_sent(2, timeout=0.01)
        stream.release()


def test_a_stream_that_nobody_moves_is_dropped_and_told_of(mock: Space) -> None:
    stream = mock.on().replies("y").held(patience=0.05)
    with reading(mock) as client:
        stream.until_over()
    assert client.error is not None
    with pytest.raises(TimeoutError, match=r"stood still at part 0 of \d for 0.05 s"):
        mock.verify()


def test_closing_a_space_drops_what_is_held(server: MockServer) -> None:
    space = server.space()
    stream = space.on().replies("y").held()
    with reading(space) as client:
        stream.until_begun()
        space.close()
        stream.until_over()
    assert client.error is not None
    assert stream.state == "dropped"


async def test_levers_and_client_in_one_event_loop(mock: Space) -> None:
    stream = mock.on().streams(["a", "b", "c"]).held()
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"{mock.url}/v1/chat/completions"
        async with client.stream("POST", url, json=BODY, headers=HEADERS) as response:
            stream.emit(2)
            chunks = response.aiter_text()
            seen = ""
            while seen.count("\n\n") < 2:
                seen += await anext(chunks)
            await asyncio.to_thread(stream.until_sent)
            assert stream.sent == 2
            with pytest.raises(RuntimeError, match=r"await asyncio\.to_thread"):
                stream.until_over()
            stream.release()
            async for chunk in chunks:
                seen += chunk
        await asyncio.to_thread(stream.until_over)
    assert seen.endswith("[DONE]\n\n")


@pytest.mark.parametrize("parts", [0, -1, True, "2"])
def test_what_cannot_go(mock: Space, parts: int) -> None:
    with pytest.raises(ValueError, match="at least one part"):
        mock.hold_next().emit(parts)


def test_patience_is_a_time(mock: Space) -> None:
    with pytest.raises(ValueError, match="above 0"):
        mock.hold_next(patience=0)
