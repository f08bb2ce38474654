"""Wafermock: a test bench for the Cerebras inference API.

PYTEST_DONT_REWRITE: a program may have imported this before it runs pytest, which would warn.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conforming import assert_conforms
    from .mockserver.embedded.calls import Call, Calls
    from .mockserver.embedded.expectation import Expectation
    from .mockserver.embedded.held import HeldStream
    from .mockserver.embedded.matchers import (
        anything,
        at_least,
        at_most,
        contains,
        equals,
        matches,
    )
    from .mockserver.embedded.mock_server import MockServer
    from .mockserver.embedded.request import CalledTool, ClientRequest, Message, Tool
    from .mockserver.embedded.space import Space
    from .mockserver.reply import Reply, ToolCall

__version__ = "0.1.0"

# Where public names are made. A program that only looks for the version imports none of it.
_NAMES = {
    "conforming": ("assert_conforms",),
    "mockserver.embedded.calls": ("Call", "Calls"),
    "mockserver.embedded.expectation": ("Expectation",),
    "mockserver.embedded.held": ("HeldStream",),
    "mockserver.embedded.matchers": (
        "anything", "at_least", "at_most", "contains", "equals", "matches",
    ),
    "mockserver.embedded.mock_server": ("MockServer",),
    "mockserver.embedded.request": ("CalledTool", "ClientRequest", "Message", "Tool"),
    "mockserver.embedded.space": ("Space",),
    "mockserver.reply": ("Reply", "ToolCall"),
}  # fmt: skip
_HOMES = {name: f"wafermock.{home}" for home, names in _NAMES.items() for name in names}

__all__ = [
    "Call",
    "CalledTool",
    "Calls",
    "ClientRequest",
    "Expectation",
    "HeldStream",
    "Message",
    "MockServer",
    "Reply",
    "Space",
    "Tool",
    "ToolCall",
    "anything",
    "assert_conforms",
    "at_least",
    "at_most",
    "contains",
    "equals",
    "matches",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
