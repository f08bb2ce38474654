"""The mock inside a Python process: a server in a thread, spaces, expectations, calls.

Everything here stands on the parts of the server that listens on a port: rules are rules of a
script, calls are those of the journal, held streams those of the control.
"""

from .calls import Call, Calls
from .expectation import Expectation
from .held import HeldStream
from .matchers import anything, at_least, at_most, contains, equals, matches
from .mock_server import MockServer
from .request import CalledTool, ClientRequest, Message, Tool
from .settings import SpaceSettings
from .space import Space

__all__ = [
    "Call",
    "CalledTool",
    "Calls",
    "ClientRequest",
    "Expectation",
    "HeldStream",
    "Message",
    "MockServer",
    "Space",
    "SpaceSettings",
    "Tool",
    "anything",
    "at_least",
    "at_most",
    "contains",
    "equals",
    "matches",
]
