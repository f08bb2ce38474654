"""Likely requests for a chat completion: what applications send, in every combination."""

from typing import Any

from . import shares
from .conversation import conversation
from .likely import ANSWER_SCHEMAS, FUNCTIONS
from .parameters import LONG_ROOM, SHORT_ROOM, parameters
from .scene import Scene
from .source import Source

Body = dict[str, Any]

# What makes a request of one kind; none of it comes into one of another.
MODES = ("tools", "response_format", "prediction")
# Parameters that say something about others only.
_WITH_TOOLS = frozenset({"parallel_tool_calls"})


def chat_request(scene: Scene, source: Source) -> Body:
    """Make a request. The simplest is one message of the user, and a short answer."""
    roles = scene.capabilities.get("roles", ["user"])
    pictures = bool(scene.capabilities.get("vision"))
    body: Body = {
        "model": scene.model,
        "messages": conversation(source, roles, pictures=pictures),
    }
    body.update({k: v for k, v in _mode(source).items() if k in scene.properties})
    if "stream" in scene.properties and _can_stream(body) and source.chance(shares.STREAMED):
        body["stream"] = True
    others = {"model", "messages", "stream", "tool_choice", *MODES}
    if "tools" not in body:
        others |= _WITH_TOOLS
    needs_room = "tools" in body or kind_of_format(body) in ("json_schema", "json_object")
    room = LONG_ROOM if needs_room else SHORT_ROOM
    body.update(parameters(scene, source, others, room))
    if "tools" in body and "tool_choice" in scene.properties and source.chance(shares.TOOL_CHOICE):
        body["tool_choice"] = _tool_choice(source, body["tools"])
    return body


def kind_of_format(body: Body) -> str | None:
    """Return the type of answer that is asked for, if any."""
    wanted = body.get("response_format")
    return wanted.get("type") if isinstance(wanted, dict) else None


def _can_stream(body: Body) -> bool:
    return kind_of_format(body) != "json_object"


def _mode(source: Source) -> Body:
    """Decide what kind of chat it is. One choice, so that the shares are what they say."""
    at = source.number(0, 1)
    for share, make in (
        (1 - shares.TOOLS - shares.JSON_SCHEMA - shares.JSON_OBJECT - shares.PREDICTION, _plain),
        (shares.TOOLS, _tools),
        (shares.JSON_SCHEMA, _json_schema),
        (shares.JSON_OBJECT, lambda _: {"response_format": {"type": "json_object"}}),
    ):
        if at < share:
            return make(source)
        at -= share
    content = source.sentence()
    return {"prediction": {"type": "content", "content": content}}


def _plain(source: Source) -> Body:
    if source.chance(shares.PARAMETER):
        return {"response_format": {"type": "text"}}
    return {}


def _tools(source: Source) -> Body:
    names = list(FUNCTIONS)
    count = source.integer(1, len(names))
    strict = source.chance(shares.STRICT)
    tools = []
    for name in names[:count]:
        function: Body = {"name": name, "parameters": FUNCTIONS[name]}
        if source.chance(0.5):
            function["description"] = source.sentence()
        if strict:
            function["strict"] = True
        tools.append({"type": "function", "function": function})
    return {"tools": tools}


def _tool_choice(source: Source, tools: list[Body]) -> Any:
    name = source.pick(tools)["function"]["name"]
    named = {"type": "function", "function": {"name": name}}
    return source.pick(["auto", "none", "required", named])


def _json_schema(source: Source) -> Body:
    wanted: Body = {"name": "answer", "schema": source.pick(ANSWER_SCHEMAS)}
    if source.chance(0.7):
        wanted["strict"] = source.chance(0.8)
    return {"response_format": {"type": "json_schema", "json_schema": wanted}}
