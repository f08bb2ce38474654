"""Wafermock: a test bench for the Cerebras inference API.

PYTEST_DONT_REWRITE: a program may have imported this before it runs pytest, which would warn.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conforming import assert_conforms
    from .mockserver.embedded import (
        Call,
        CalledTool,
        Calls,
        ClientRequest,
        Expectation,
        HeldStream,
        Message,
        MockServer,
        Space,
        Tool,
        anything,
        at_least,
        at_most,
        contains,
        equals,
        matches,
    )
    from .mockserver.reply import Reply, ToolCall

__version__ = "0.1.0"

_EMBEDDED = (
    "Call", "CalledTool", "Calls", "ClientRequest", "Expectation", "HeldStream", "Message",
    "MockServer", "Space", "Tool", "anything", "at_least", "at_most", "contains", "equals",
    "matches",
)  # fmt: skip

# Where each public name is made. A program that only looks for the version imports none of it.
_HOMES = {
    **dict.fromkeys(_EMBEDDED, "wafermock.mockserver.embedded"),
    "assert_conforms": "wafermock.conforming",
    "Reply": "wafermock.mockserver.reply",
    "ToolCall": "wafermock.mockserver.reply",
}

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
