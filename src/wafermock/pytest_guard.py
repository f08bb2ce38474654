"""The network guard in pytest: `--wafermock-guard`, the setting `wafermock_guard`, and a marker.

PYTEST_DONT_REWRITE: there is nothing to be rewritten here.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from wafermock.network_guard import NetworkGuard

_MARKER = (
    "wafermock_guard(on=True, allow=[]): fail this test when it connects to another machine; "
    "with False, let it; the hosts of `allow` may be reached."
)
_GUARD: pytest.StashKey[NetworkGuard] = pytest.StashKey()
_WRONG = pytest.StashKey[str]()

# Hosts that the session itself is to reach, as the real service of `--wafermock-live`.
ALLOWED = pytest.StashKey[tuple[str, ...]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("wafermock").addoption(
        "--wafermock-guard",
        action="store_true",
        help="Fail every test that opens a connection to another machine, and name it.",
    )
    parser.addini(
        "wafermock_guard",
        "Whether a test fails that opens a connection to another machine (default: false).",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Let the guard stand from the first fixture of a test to its last."""
    __tracebackhide__ = True
    try:
        wanted = _wanted(item)
    except TypeError as error:
        item.stash[_WRONG] = str(error)
        return (yield)
    if wanted is None:
        return (yield)
    from wafermock.network_guard import NetworkGuard

    guard = item.stash[_GUARD] = NetworkGuard(wanted, item.config.rootpath)
    with guard:
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    __tracebackhide__ = True
    if wrong := item.stash.get(_WRONG, None):
        pytest.fail(wrong, pytrace=False)
    return (yield from _guarded(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    __tracebackhide__ = True
    return (yield from _guarded(item, "call"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    __tracebackhide__ = True
    return (yield from _guarded(item, "teardown"))


def _guarded(item: pytest.Item, when: str) -> Generator[None, None, None]:
    """Fail the test for what was refused, also where its client kept that to itself."""
    __tracebackhide__ = True
    guard = item.stash.get(_GUARD, None)
    try:
        yield
    except BaseException:
        if guard is not None and (attempts := guard.take_attempts()):
            item.add_report_section(when, "wafermock guard", _message(attempts))
        raise
    if guard is not None and (attempts := guard.take_attempts()):
        pytest.fail(_message(attempts), pytrace=False)


def _message(attempts: Sequence[Any]) -> str:
    from wafermock.network_guard import refused_message

    return refused_message(attempts)


def _wanted(item: pytest.Item) -> tuple[str, ...] | None:
    """Return the hosts that a test may reach; None: all. The closest marker counts.

    Raises TypeError for a marker that says what it cannot say.
    """
    config = item.config
    on = config.getoption("wafermock_guard") or config.getini("wafermock_guard")
    allowed: tuple[str, ...] = ()
    for marker in reversed(list(item.iter_markers("wafermock_guard"))):
        on, allowed = _read(*marker.args, **marker.kwargs)
    return (*allowed, *config.stash.get(ALLOWED, ())) if on else None


def _read(
    on: Any = True, /, *more: Any, allow: Any = (), **other: Any
) -> tuple[bool, tuple[str, ...]]:
    hosts = (allow,) if isinstance(allow, str) else tuple(allow)
    if more or other or not isinstance(on, bool) or not all(isinstance(h, str) for h in hosts):
        raise TypeError(
            "@pytest.mark.wafermock_guard takes True or False, and allow=[...] with names of hosts"
        )
    return on, hosts
