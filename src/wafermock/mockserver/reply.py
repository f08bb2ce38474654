"""What is to be said, before it becomes tokens: the common ground of canned, invented and scripted
answers."""

from msgspec import Struct


class ToolCall(Struct, frozen=True):
    """A call of a function: its name, and its arguments as JSON text."""

    name: str
    arguments: str


class Reply(Struct, frozen=True):
    """The words of one choice. Empty texts are absent, not said.

    To a reply that is said `verbatim`, a script's, no thoughts are invented.
    """

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    verbatim: bool = False
