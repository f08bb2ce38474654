"""The network guard: while it stands, this process connects to nobody but this machine.

Mocks that patch an HTTP library have let calls through to real services, with real keys. The guard
stands lower: it listens to what Python itself tells of every connection, `sys.addaudithook`
(PEP 578), whichever library makes it. A hook cannot be taken away again, so there is one, which
does nothing while no guard stands. uvloop does not use Python's sockets and is guarded by its own
methods. What no Python code sees stays unseen: other processes, and libraries in C with sockets of
their own (libcurl, gRPC).
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .network_callers import caller

_DATAGRAMS = ("socket.sendto", "socket.sendmsg")
_LOOKUPS = ("socket.getaddrinfo", "socket.gethostbyname")


@dataclass(frozen=True)
class Attempt:
    """Somebody tried to reach another machine. `port` is None where none is known yet, `place` is
    FILE:LINE in FUNCTION of the project's code; empty: it was not found."""

    host: str
    port: int | None
    place: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


class NetworkRefused(ConnectionRefusedError):
    """The guard has refused a connection. The message names the host."""


class NetworkGuard:
    """`with NetworkGuard() as guard:` refuses connections to other machines, and keeps `attempts`.

    `allowed` are hosts that may be reached all the same: names, or addresses. `root` is the folder
    of the code that is named as the place. It guards all threads of the process; one stands at a
    time, the innermost.
    """

    def __init__(self, allowed: Collection[str] = (), root: str | os.PathLike[str] = ".") -> None:
        self._allowed = frozenset(host.strip("[]").lower().rstrip(".") for host in allowed)
        self._root = os.fspath(root)
        self._addresses: frozenset[str] = frozenset()
        self._attempts: list[Attempt] = []
        self._lock = threading.Lock()
        self._before: NetworkGuard | None = None

    def __enter__(self) -> NetworkGuard:
        _listen()
        self._before, _standing.guard = _standing.guard, self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _standing.guard = self._before

    @property
    def attempts(self) -> list[Attempt]:
        """What was refused so far, each once."""
        with self._lock:
            return list(dict.fromkeys(self._attempts))

    def take_attempts(self) -> list[Attempt]:
        """Return what was refused, and forget it."""
        with self._lock:
            taken, self._attempts = list(dict.fromkeys(self._attempts)), []
        return taken

    def check(self, host: Any, port: Any) -> None:
        """Refuse a connection to a host. Raises NetworkRefused."""
        name = _text(host)
        if is_this_machine(name) or self._is_allowed(name):
            return
        attempt = Attempt(name, _number(port), caller(self._root, name))
        with self._lock:
            self._attempts.append(attempt)
        raise NetworkRefused(
            f"the network guard has refused a connection to {attempt}: "
            "a test may only reach this machine"
        )

    def check_lookup(self, host: Any, port: Any) -> None:
        """Refuse to ask for the address of a name. Raises NetworkRefused.

        An address needs no asking: whoever connects to it is refused then.
        """
        name = _text(host)
        if _address(name) is None and name.lower() not in _own_names():
            self.check(name, port)

    def _is_allowed(self, name: str) -> bool:
        plain = name.lower().rstrip(".")
        if plain in self._allowed:
            return True
        if not self._allowed or _address(plain) is None:
            return False
        if plain not in self._addresses:  # an allowed name may have other addresses by now
            self._addresses |= _addresses_of(self._allowed)
        return plain in self._addresses


class _Standing(threading.local):
    """Whether this thread is inside the guard itself, which asks for addresses too."""

    inside = False


class _Guards:
    """The guard that stands; None: none does."""

    guard: NetworkGuard | None = None
    is_heard = False


_standing = _Guards()
_thread = _Standing()
_hearing = threading.Lock()


def is_this_machine(host: str) -> bool:
    """Say whether a host, by name or address, is the machine that asks.

    `localhost` and names that end in it (RFC 6761, section 6.3), loopback addresses, and the
    address that means no particular one, where clients reach this machine, too.
    """
    name = host.lower().rstrip(".")
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    address = _address(name)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address is not None and (address.is_loopback or address.is_unspecified)


def refused_message(attempts: Iterable[Attempt]) -> str:
    """Say which connections a test has tried, and where."""
    listed = list(attempts)
    what = "a connection" if len(listed) == 1 else f"{len(listed)} connections"
    lines = [f"The network guard has refused {what} to another machine:"]
    for attempt in listed:
        lines.append(f"  {attempt}, by {attempt.place}" if attempt.place else f"  {attempt}")
    lines.append(
        "Give the client the URL of the mock, as wafermock.url. What is meant to be reached is "
        'allowed by @pytest.mark.wafermock_guard(allow=["HOST"]).'
    )
    return "\n".join(lines)


# ---------------------------------------------------------------------- what Python tells


def _listen() -> None:
    with _hearing:
        if not _standing.is_heard:
            sys.addaudithook(_heard)
            _standing.is_heard = True
    _guard_uvloop()


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    guard = _standing.guard
    if guard is None or not event.startswith("socket.") or _thread.inside:
        return
    _thread.inside = True
    try:
        if event == "socket.connect" or (event in _DATAGRAMS and arguments[1]):
            _check_address(guard, *arguments)
        elif event in _LOOKUPS:
            guard.check_lookup(arguments[0], arguments[1] if len(arguments) > 1 else None)
        elif event == "socket.__new__":
            _guard_uvloop()  # it may have been imported since
    finally:
        _thread.inside = False


def _check_address(guard: NetworkGuard, used: socket.socket, address: Any) -> None:
    if used.family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return  # a socket of this machine, as AF_UNIX has
    host, port = address[0], address[1]
    if _address(_text(host)) is None and _text(host).lower() in _own_names():
        return
    guard.check(host, port)


def _guard_uvloop() -> None:
    """Put a check before the methods by which a loop of uvloop reaches other machines."""
    loop = getattr(sys.modules.get("uvloop"), "Loop", None)
    if loop is None or "create_connection" in vars(loop):
        return
    for name, check in _OF_UVLOOP.items():
        setattr(loop, name, _guarded(getattr(loop, name), check))


def _guarded(method: Any, check: Callable[..., None]) -> Any:
    async def guarded(self: Any, *arguments: Any, **more: Any) -> Any:
        if (guard := _standing.guard) is not None:
            check(guard, *arguments, **more)
        return await method(self, *arguments, **more)

    return guarded


def _on_connection(
    guard: NetworkGuard, factory: Any, host: Any = None, port: Any = None, **more: Any
) -> None:
    if host is not None:
        guard.check(host, port)


def _on_datagrams(
    guard: NetworkGuard, factory: Any, local: Any = None, remote_addr: Any = None, **more: Any
) -> None:
    if isinstance(remote_addr, tuple):
        guard.check(remote_addr[0], remote_addr[1])


def _on_socket(guard: NetworkGuard, used: Any, address: Any) -> None:
    _check_address(guard, used, address)


def _on_lookup(guard: NetworkGuard, host: Any, port: Any, **more: Any) -> None:
    guard.check_lookup(host, port)


_OF_UVLOOP: dict[str, Callable[..., None]] = {
    "create_connection": _on_connection,
    "create_datagram_endpoint": _on_datagrams,
    "sock_connect": _on_socket,
    "getaddrinfo": _on_lookup,
}


# ---------------------------------------------------------------------- names and addresses


def _text(host: Any) -> str:
    if isinstance(host, bytes | bytearray):
        return bytes(host).decode("ascii", "replace")
    return "" if host is None else str(host)


def _number(port: Any) -> int | None:
    try:
        return int(port) or None
    except (TypeError, ValueError):
        return None


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.strip("[]").partition("%")[0])
    except ValueError:
        return None


def _own_names() -> frozenset[str]:
    """The name of this machine, which libraries look up to introduce themselves."""
    return frozenset({socket.gethostname().lower()})


def _addresses_of(names: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        try:
            found |= {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
        except OSError:
            continue
    return frozenset(found)
