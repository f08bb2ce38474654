"""The guard: what it refuses, what it lets pass, and how it names what was tried.

192.0.2.0/24 and 2001:db8::/32 are for documentation (RFC 5737, RFC 3849), names in `.invalid` have
no address (RFC 2606): where a guard fails, nobody is reached.
"""

import asyncio
import contextlib
import socket
import threading
from pathlib import Path

import aiohttp
import httpx
import pytest
import requests

from wafermock.network_guard import NetworkGuard, NetworkRefused, is_this_machine

from .conftest import Run

HERE = Path(__file__).parent


def connect(address: tuple[str, int], family: int = socket.AF_INET) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as made:
        made.settimeout(1)
        made.connect(address)


def send(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.sendto(b"x", address)


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost", True),
        ("LocalHost.", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", True),
        ("::", True),
        ("", True),
        ("api.cerebras.ai", False),
        ("localhost.example.com", False),
        ("notlocalhost", False),
        ("192.0.2.1", False),
        ("::ffff:192.0.2.1", False),
        ("fe80::1%eth0", False),
        ("169.254.169.254", False),
    ],
)
def test_which_hosts_are_this_machine(host: str, is_here: bool) -> None:
    assert is_this_machine(host) is is_here


@pytest.mark.parametrize(
    ("reach", "named"),
    [
        (lambda: connect(("192.0.2.1", 443)), "192.0.2.1:443"),
        (lambda: connect(("2001:db8::1", 443), socket.AF_INET6), "[2001:db8::1]:443"),
        (lambda: send(("192.0.2.1", 53)), "192.0.2.1:53"),
        (lambda: socket.create_connection(("host.invalid", 80)), "host.invalid:80"),
        (lambda: socket.gethostbyname("host.invalid"), "host.invalid"),
        (lambda: httpx.get("http://host.invalid/", trust_env=False), "host.invalid:80"),
        (lambda: httpx.get("http://192.0.2.1:8080/", trust_env=False), "192.0.2.1:8080"),
        (lambda: requests.get("https://host.invalid/", timeout=1), "host.invalid:443"),
        (lambda: asyncio.run(over_asyncio()), "host.invalid:443"),
        (lambda: asyncio.run(over_aiohttp()), "host.invalid:80"),
        (lambda: asyncio.run(over_httpx()), "host.invalid:80"),
        (lambda: in_a_thread(), "192.0.2.1:80"),
    ],
)
def test_other_machines_are_refused_by_name_and_place(reach: object, named: str) -> None:
    # A library makes of it what it likes.
    with NetworkGuard(root=HERE) as guard, contextlib.suppress(Exception):
        reach()  # type: ignore[operator]
    assert [str(attempt) for attempt in guard.attempts] == [named]
    assert guard.attempts[0].place.startswith(f"{Path(__file__).name}:")


async def over_asyncio() -> None:
    await asyncio.open_connection("host.invalid", 443)


async def over_aiohttp() -> None:
    async with aiohttp.ClientSession() as session:
        await session.get("http://host.invalid/")


async def over_httpx() -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        await client.get("http://host.invalid/")


def in_a_thread() -> None:
    def try_it() -> None:
        with pytest.raises(NetworkRefused):
            connect(("192.0.2.1", 80))

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()


def test_the_error_is_one_of_a_connection_and_says_what_it_is() -> None:
    with NetworkGuard(), pytest.raises(ConnectionRefusedError, match=r"guard.*192\.0\.2\.1:9"):
        connect(("192.0.2.1", 9))


@pytest.mark.parametrize("name", ["uvloop.run", "Runner"])
def test_uvloop_is_guarded_too(name: str) -> None:
    import uvloop

    async def reach() -> None:
        loop = asyncio.get_running_loop()
        assert "uvloop" in type(loop).__module__
        for call in (
            lambda: asyncio.open_connection("192.0.2.1", 443),
            lambda: loop.getaddrinfo("host.invalid", 80),
            lambda: loop.create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=("192.0.2.1", 53)
            ),
        ):
            with pytest.raises(NetworkRefused):
                await call()
        server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            await writer.wait_closed()

    with NetworkGuard() as guard:
        if name == "Runner":
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(reach())
        else:
            uvloop.run(reach())
    assert sorted(map(str, guard.attempts)) == ["192.0.2.1:443", "192.0.2.1:53", "host.invalid:80"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_may_be_reached(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, NetworkGuard() as guard:
        port = server.getsockname()[1]
        socket.create_connection((host, port), 2).close()
        socket.getaddrinfo(socket.gethostname(), None)
        left, right = socket.socketpair()
        left.close()
        right.close()
    assert guard.attempts == []


def test_sockets_in_the_file_system_are_of_this_machine(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, NetworkGuard() as guard:
        server.bind(path)
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
    assert guard.attempts == []


def test_allowed_hosts_are_let_through() -> None:
    with NetworkGuard(allowed=["192.0.2.1", "Host.Invalid"]) as guard:
        guard.check("192.0.2.1", 443)
        guard.check_lookup("host.invalid", 443)
        with pytest.raises(NetworkRefused):
            guard.check("192.0.2.2", 443)
        with pytest.raises(NetworkRefused):
            guard.check_lookup("other.invalid", 443)
    assert [attempt.host for attempt in guard.attempts] == ["192.0.2.2", "other.invalid"]


def test_addresses_of_allowed_names_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def getaddrinfo(host: str, port: object) -> list[tuple[object, ...]]:
        asked.append(host)
        return [(0, 0, 0, "", ("192.0.2.7", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with NetworkGuard(allowed=["api.example"]) as guard:
        guard.check("192.0.2.7", 443)
        guard.check("192.0.2.7", 443)
        with pytest.raises(NetworkRefused):
            guard.check("192.0.2.8", 443)
    assert asked == ["api.example", "api.example"]  # once for each address that is not known


def test_nothing_is_refused_when_it_is_over() -> None:
    with NetworkGuard():
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.connect(("192.0.2.1", 9))  # sends nothing


def test_the_innermost_guard_counts() -> None:
    with NetworkGuard() as outer:
        with NetworkGuard(allowed=["192.0.2.1"]) as inner:
            inner.check("192.0.2.1", 1)
        with pytest.raises(NetworkRefused):
            connect(("192.0.2.1", 1))
    assert [str(attempt) for attempt in outer.take_attempts()] == ["192.0.2.1:1"]
    assert outer.attempts == []


# ---------------------------------------------------------------------- in pytest

LEAKS = """
    import socket, pytest

    def leak():
        try:
            socket.create_connection(("api.invalid", 443))
        except OSError:
            pass  # as clients do that try again later

    def test_leak():
        leak()

    def test_raises():
        socket.create_connection(("api.invalid", 443))

    @pytest.fixture
    def leaking():
        leak()
        yield
        leak()

    def test_in_a_fixture(leaking):
        pass

    @pytest.mark.wafermock_guard(False)
    def test_may():
        try:
            socket.getaddrinfo("api.invalid", 443)
        except OSError as error:
            assert "guard" not in str(error)

    @pytest.mark.wafermock_guard(allow="api.invalid")
    def test_may_that_one():
        leak()

    def test_stays_here():
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()

    @pytest.mark.asyncio
    async def test_async_leak():
        import asyncio
        try:
            await asyncio.open_connection("async.invalid", 80)
        except OSError:
            pass
"""


def test_a_test_that_leaks_fails_though_its_client_says_nothing(run: Run) -> None:
    result = run(LEAKS, "--wafermock-guard")
    result.assert_outcomes(passed=3, failed=3, errors=2)
    result.stdout.fnmatch_lines(
        ["*refused a connection to another machine:*", "*api.invalid:443, by *.py:5 in leak*"]
    )
    result.stdout.fnmatch_lines(["*async.invalid:80, by *.py:* in test_async_leak*"])


def test_without_the_option_nobody_is_looked_at(run: Run) -> None:
    source = LEAKS.replace('socket.create_connection(("api.invalid", 443))\n\n', "pass\n\n", 1)
    result = run(source, "-k", "test_leak or test_stays")
    result.assert_outcomes(passed=2, deselected=5)


def test_the_marker_alone_is_enough_and_a_wrong_one_is_told(run: Run) -> None:
    result = run("""
        import pytest, socket
        @pytest.mark.wafermock_guard
        def test_guarded():
            with pytest.raises(OSError):
                socket.create_connection(("api.invalid", 443))
        @pytest.mark.wafermock_guard(alow=["x"])
        def test_wrong():
            pass
    """)
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["*wafermock_guard takes True or False, and allow=*"])


def test_the_setting_guards_with_xdist_too(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nwafermock_guard = true\n")
    result = run(LEAKS, "-n1", "-k", "test_leak or test_stays")
    result.assert_outcomes(passed=1, failed=1)
