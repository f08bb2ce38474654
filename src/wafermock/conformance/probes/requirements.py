"""Requests that break one rule between parameters, and nothing else.

They are worked out from the predicates of the rule itself; a rule that a predicate alone does not
tell how to break (`check: ...`) has its way to break it here. Each is judged before it is planned:
valid by the schema, and breaking this rule only.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from itertools import islice
from typing import Any

from wafermock.spec import Operation
from wafermock.spec.alternatives import NULL, discriminated, unwrapped
from wafermock.spec.requirements import Requirement

from .asking import Asking, properties

Body = dict[str, Any]

# The mock's own bounds, say: no server can be held to what nobody has written down.
_NOBODYS = "none"


def breaking(asking: Asking, operation: Operation) -> Iterator[tuple[Requirement, Body]]:
    """Yield the requirements of an operation that can be broken alone, with a body that does."""
    catalogue = asking.contract.requirements
    for requirement in catalogue.requirements:
        if not requirement.applies(operation.id, catalogue.default_patch):
            continue
        if requirement.source.startswith(_NOBODYS):
            continue
        for body in islice(_candidates(asking, operation, requirement), 8):
            if breaks_only(asking, operation, requirement, body):
                yield requirement, body
                break


def breaks_only(asking: Asking, operation: Operation, requirement: Requirement, body: Body) -> bool:
    """Say whether a body keeps the schema, and all requirements but one."""
    schema = operation.request_schema
    if schema is None or not schema.is_valid(body):
        return False
    model = asking.contract.models.get(body.get("model"))
    unmet = asking.contract.requirements.unmet(body, operation.id, model)
    return [broken.requirement.id for broken in unmet] == [requirement.id]


def _candidates(asking: Asking, operation: Operation, requirement: Requirement) -> Iterator[Body]:
    """Yield bodies that may break a requirement."""
    base = asking.body(operation)
    model = asking.contract.models.get(asking.subject.model) or {}
    for broken in _CHECKS.get(_check_of(requirement), (lambda body, model: None,)):
        body = deepcopy(base)
        broken(body, model)
        if all(_made_true(body, predicate, operation, model) for predicate in _plain(requirement)):
            yield body


def _check_of(requirement: Requirement) -> str:
    return next((str(p["check"]) for p in requirement.predicates if "check" in p), "")


def _plain(requirement: Requirement) -> Iterator[Mapping[str, Any]]:
    return (predicate for predicate in requirement.predicates if "check" not in predicate)


# ---------------------------------------------------------------------- predicates


def _made_true(
    body: Body, predicate: Mapping[str, Any], operation: Operation, model: Mapping[str, Any]
) -> bool:
    """Change a body so that a predicate holds; False where nobody knows how."""
    ((name, operand),) = predicate.items()
    if name in ("present", "absent", "true", "not_true"):
        return _field(body, name, operand, operation)
    if name in ("equals", "above", "not_above", "matches", "not_of_model"):
        ((path, value),) = operand.items()
        return _valued(body, name, path, value, operation, model)
    return name == "model_lacks"


def _field(body: Body, name: str, path: str, operation: Operation) -> bool:
    if name == "absent" or name == "not_true":
        return _put(body, path, None)
    if name == "true":
        return _put(body, path, True)
    if path in body and body[path] is not None:
        return True
    if _IMAGE in path:
        return _with_image(body, _PIXEL)
    value = _some(operation, path)
    return value is not None and _put(body, path, value)


def _valued(
    body: Body,
    name: str,
    path: str,
    value: Any,
    operation: Operation,
    model: Mapping[str, Any],
) -> bool:
    if name == "equals":
        choice = value[0] if isinstance(value, list) else value
        if path == "response_format.type":
            return _with_format(body, choice)
        return _put(body, path, choice)
    if name == "above":
        return _put(body, path, int(value) + 1)
    if name == "not_above":
        return _put(body, path, 2) and _put(body, value, 2)
    if name == "matches":
        return _IMAGE in path and _with_image(body, "https://example.com/image.png")
    return _other_value(body, path, operation, _capability(model, value))


def _capability(model: Mapping[str, Any], path: str) -> list[Any]:
    value: Any = model
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return list(value or ())


def _other_value(body: Body, path: str, operation: Operation, supported: list[Any]) -> bool:
    """Put a value there that the schema has, and the model has not."""
    if path == "messages.*.role":
        roles = [role for role in ("developer", "system") if role not in supported]
        if roles and isinstance(body.get("messages"), list):
            body["messages"].insert(0, {"role": roles[0], "content": "Be brief."})
        return bool(roles)
    values = properties(operation).get(path, {}).get("enum") or ()
    others = [value for value in values if value is not None and value not in supported]
    return bool(others) and _put(body, path, others[-1])


def _put(body: Body, path: str, value: Any) -> bool:
    """Put a value at a dotted path, None for none; False where there is no way to it."""
    *way, name = path.split(".")
    owner: Any = body
    for key in way:
        owner = owner.get(key) if isinstance(owner, dict) else None
    if not isinstance(owner, dict):
        return value is None
    if value is None:
        owner.pop(name, None)
    else:
        owner[name] = value
    return True


def _some(operation: Operation, name: str) -> Any:
    """Return a value that the schema of a parameter takes; None where it is not easy to find."""
    if name == "tools":
        return [_tool("get_time")]
    schema = operation.request_schema
    if schema is None or name not in schema.properties:
        return None
    return _of_schema(schema.space.root, schema.properties[name])


def _of_schema(root: dict[str, Any], node: Any, depth: int = 0) -> Any:
    node = unwrapped(root, node)
    _, branches = discriminated(node)
    for branch in (*branches.values(), *node.get("oneOf", ()), *node.get("anyOf", ())):
        if branch != NULL and depth < 8:
            return _of_schema(root, branch, depth + 1)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return next((value for value in node["enum"] if value is not None), None)
    kinds = node.get("type", "object")
    kind = next((k for k in ([kinds] if isinstance(kinds, str) else kinds) if k != "null"), "")
    if kind == "object" and depth < 8:
        wanted = node.get("required", ())
        inner = node.get("properties", {})
        made = {key: _of_schema(root, inner.get(key, {}), depth + 1) for key in wanted}
        return made or {"none": True}  # an empty object is as good as none
    plain: dict[str, Any] = {"string": "none", "boolean": True, "array": None}
    return plain.get(kind, max(1, node.get("minimum", 1)))


# ---------------------------------------------------------------------- checks

_IMAGE = "image_url"
# One pixel, as small as PNG can be.
_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB"
    "0C8AAAAASUVORK5CYII="
)


def _with_image(body: Body, url: str, count: int = 1) -> bool:
    if not isinstance(body.get("messages"), list):
        return False
    image = {"type": "image_url", "image_url": {"url": url}}
    text = {"type": "text", "text": "What is this?"}
    body["messages"][-1] = {"role": "user", "content": [text, *[image] * count]}
    return True


def _too_many_images(body: Body, model: Mapping[str, Any]) -> None:
    most = (model.get("vision") or {}).get("max_images")
    if isinstance(most, int):
        _with_image(body, _PIXEL, most + 1)


def _with_format(body: Body, kind: str) -> bool:
    """Ask for a structure; a schema that is there already stays."""
    there = body.get("response_format")
    if isinstance(there, dict) and there.get("type") == kind:
        return True
    schema = _object({"city": {"type": "string"}})
    body["response_format"] = {"type": kind}
    if kind == "json_schema":
        body["response_format"] = _format(schema)
    return True


def _tool(name: str, **more: Any) -> Body:
    parameters = {"type": "object", "properties": {}, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


def _object(inner: Body, **more: Any) -> Body:
    return {
        "type": "object",
        "properties": inner,
        "required": list(inner),
        "additionalProperties": False,
        **more,
    }


def _format(schema: Body) -> Body:
    named = {"name": "answer", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


Change = Callable[[Body, Mapping[str, Any]], None]


def _strict(schema: Body) -> Change:
    return _more(response_format=_format(schema))


def _more(**values: Any) -> Change:
    return lambda body, model: body.update(deepcopy(values))


def _call(id: str) -> Body:
    return {"id": id, "type": "function", "function": {"name": "get_time", "arguments": "{}"}}


def _turns(*messages: Body) -> Change:
    def change(body: Body, model: Mapping[str, Any]) -> None:
        if isinstance(body.get("messages"), list):
            body["tools"] = [_tool("get_time")]
            body["messages"] = [*body["messages"], *deepcopy(list(messages))]

    return change


_ASKS = {"role": "assistant", "content": "", "tool_calls": [_call("call1")]}
_TELLS = {"role": "tool", "tool_call_id": "call1", "content": "noon"}
_AND = {"role": "user", "content": "And now?"}


def _nested(depth: int) -> Body:
    schema: Body = {"type": "string"}
    for _ in range(depth):
        schema = _object({"inner": schema})
    return schema


_STRING = {"type": "string"}
_CHOSEN = {"type": "function", "function": {"name": "no_such_tool"}}

# Ways to break what a check of the contract looks for, by the check's name.
_CHECKS: dict[str, tuple[Change, ...]] = {
    "more_images_than": (_too_many_images,),
    "chosen_tool_is_missing": (_more(tools=[_tool("get_time")], tool_choice=_CHOSEN),),
    "tools_differ_in_strictness": (
        _more(tools=[_tool("get_time", strict=True), _tool("get_date", strict=False)]),
    ),
    "call_id_stands_twice": (_turns(_ASKS, _TELLS, _AND, _ASKS, _TELLS),),
    "tool_message_without_call": (
        _turns(_ASKS, _TELLS, {**_TELLS, "tool_call_id": "call2"}),
        _turns({**_TELLS, "tool_call_id": "call2"}),
    ),
    "call_without_tool_message": (_turns(_ASKS, _AND),),
    "schema_root_is_no_object": (_strict({"type": "array", "items": _STRING}),),
    "schema_uses": (
        _strict(_object({"city": {"type": "string", "pattern": "^[A-Z]"}})),
        _strict(_object({"city": {"$ref": "#/definitions/city"}}, definitions={"city": _STRING})),
    ),
    "schema_object_is_open": (
        _strict({"type": "object", "properties": {"city": _STRING}, "required": ["city"]}),
    ),
    "schema_reference_is_lost": (_strict(_object({"city": {"$ref": "#/$defs/nowhere"}})),),
    # Without an object in the circle: one in it would be nested too deep as well.
    "schema_is_recursive": (
        _strict(
            _object(
                {"city": {"$ref": "#/$defs/name"}},
                **{"$defs": {"name": {"anyOf": [_STRING, {"$ref": "#/$defs/name"}]}}},
            )
        ),
    ),
    "schema_is_deeper_than": (_strict(_nested(12)),),
    "schema_has_more_properties_than": (
        _strict(_object({f"p{number}": _STRING for number in range(501)})),
    ),
    "schema_has_more_enum_values_than": (
        _strict(_object({"city": {"type": "string", "enum": [f"c{n}" for n in range(501)]}})),
    ),
}
