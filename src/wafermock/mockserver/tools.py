"""Tool calls: whether to call, which functions, with what arguments, and what to say after."""

import json
import re
from typing import Any

from .canned import text_of
from .draws import digest
from .reply import Reply, ToolCall
from .structured import Instances, compiled

# How many functions are called at once at most.
MOST_CALLS = 8

# Words that say nothing about what a function is for.
_COMMON = frozenset(
    """
    a an and are be by call can current do for from function get given has how i in is it me my of
    on or please return returns set tell that the this to tool use user what when where which will
    with you your
    """.split()  # noqa: SIM905 - a list of a hundred quotes reads worse
)


def choose(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the functions to call, as `tools` describes them; none where text is the answer.

    `required` and a named function are obeyed. `auto` calls the functions whose name or
    description shares the most words with the user's last message, unless a tool has just
    answered. Without `parallel_tool_calls` at most one is called.
    """
    functions = [tool["function"] for tool in body.get("tools") or ()]
    choice = body.get("tool_choice") or "auto"
    if not functions or choice == "none":
        return []
    if isinstance(choice, dict):
        name = choice["function"]["name"]
        return [f for f in functions if f["name"] == name][:1]
    said = _words(last_message(body))
    fits = [_fit(function, said) for function in functions]
    best = max(fits)
    if choice == "auto" and (best == 0 or _answered(body)):
        return []
    chosen = [f for f, fit in zip(functions, fits, strict=True) if fit == best]
    several = best > 0 and body.get("parallel_tool_calls") is not False
    return chosen[: MOST_CALLS if several else 1]


def _answered(body: dict[str, Any]) -> bool:
    return bool(body.get("messages")) and body["messages"][-1]["role"] == "tool"


def last_message(body: dict[str, Any]) -> str:
    """Return the end of what the user said last."""
    for message in reversed(body.get("messages") or ()):
        if message["role"] == "user":
            return text_of(message.get("content"))[-2000:]
    return ""


def _fit(function: dict[str, Any], said: frozenset[str]) -> int:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", function["name"])
    return len(said & _words(f"{name} {function.get('description') or ''}"))


def _words(text: str) -> frozenset[str]:
    """Return the words that matter, without a plural's or a verb's s."""
    found = re.findall(r"\w+", text.casefold())
    return frozenset(w.removesuffix("s") if len(w) > 3 else w for w in found) - _COMMON


class Caller:
    """Makes the calls of a request's functions, for all choices of an answer together."""

    def __init__(self, body: dict[str, Any], choices: int) -> None:
        self._functions = choose(body)
        self._message = last_message(body)
        wanted = choices * len(self._functions)
        self._instances = [_instances(function, wanted) for function in self._functions]

    def __bool__(self) -> bool:
        return bool(self._functions)

    def calls(self, voice: bytes) -> tuple[ToolCall, ...]:
        """Call each function, with arguments that its `parameters` accept.

        Raises Refusal when no arguments can satisfy them.
        """
        made = zip(self._functions, self._instances, strict=True)
        return tuple(ToolCall(f["name"], self._arguments(f, i, voice)) for f, i in made)

    def _arguments(
        self, function: dict[str, Any], instances: Instances | None, voice: bytes
    ) -> str:
        if instances is None:
            return "{}"
        from .arguments import natural_arguments

        invented = instances.make(digest(voice, function["name"]))
        schema = function["parameters"]
        arguments = natural_arguments(invented, schema, self._message, instances.accepts)
        return json.dumps(arguments, ensure_ascii=False)

    def would_make(self, reply: Reply) -> bool:
        """Say whether the calls of a reply are some that could be made here."""
        parameters = {f["name"]: f.get("parameters") or {} for f in self._functions}
        return 0 < len(reply.tool_calls) <= len(self._functions) and all(
            call.name in parameters
            and compiled(parameters[call.name]).accepts(json.loads(call.arguments))
            for call in reply.tool_calls
        )


def _instances(function: dict[str, Any], wanted: int) -> Instances | None:
    """Make ready what makes a function's arguments; None for a function without parameters."""
    schema = function.get("parameters")
    if not schema:
        return None
    # Arguments are an object, whether or not the schema says so.
    schema = schema if "type" in schema or "$ref" in schema else {**schema, "type": "object"}
    return Instances(schema, wanted, f"the parameters of {function['name']}: ")


def tool_results(body: dict[str, Any]) -> str:
    """Say what the tools have just answered, in words; empty where the last turn is no tool's."""
    said = []
    names = {
        call["id"]: call["function"]["name"]
        for message in body.get("messages") or ()
        for call in message.get("tool_calls") or ()
    }
    for message in reversed(body.get("messages") or ()):
        if message["role"] != "tool":
            break
        result = _readable(text_of(message.get("content")))
        name = names.get(message["tool_call_id"])
        said.append(f"According to {name}: {result}" if name else f"The result is: {result}")
    return "\n".join(reversed(said))


def _readable(result: str) -> str:
    """Write a JSON object as `key: value` pairs; any other result as it is, shortened."""
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        result = ", ".join(f"{key}: {_written(item)}" for key, item in value.items())
    return result if len(result) <= 1000 else result[:1000] + "…"


def _written(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
