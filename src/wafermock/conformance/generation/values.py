"""Values made from a schema: the least that obeys it, and any that does.

A name that people know (see `likely`) decides before the schema does, as long as the schema admits
what it says. What is made from a schema alone may miss a keyword that is not followed here (`not`,
`if`, `contains`): callers check the whole, and leave out what does not obey.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from wafermock.spec import Contract
from wafermock.spec.pointer import Pointer, parse_pointer, resolve
from wafermock.spec.schema import compiled

from .likely import LIKELY, RANGES
from .patterns import lengths, matching, stretched
from .source import Source

# Optional properties of objects that are made from a schema alone, values of likely ones, and
# nulls where they are allowed: in which share of cases they are taken.
OPTIONAL_SHARE = 0.3
LIKELY_SHARE = 0.7
NULL_SHARE = 0.05
# Deeper than this only what is required is made.
DEEP = 6
_TOO_DEEP = 24
# Where a property stands that came from another part of an `allOf`: a key that no schema has.
_ELSEWHERE = "where this property of an allOf stands"
_FAR = 1_000


class Unmakeable(Exception):
    """No value of a schema can be made; the argument says where and why."""


class Values:
    """Makes values for the schemas of a contract. A schema is named by its pointer; `name` is that
    of the property which holds the value. `fixed` are values that a name always has: the model."""

    def __init__(self, contract: Contract, fixed: Mapping[str, Any] | None = None) -> None:
        self.contract = contract
        self.fixed = dict(fixed or {})
        self._admits: dict[Pointer, Callable[[Any], bool]] = {}

    def follow(self, at: Pointer) -> tuple[Pointer, Any]:
        """Return the schema at a pointer, and where it really stands, behind its references.

        Raises Unmakeable where they lead in a circle.
        """
        for _ in range(32):
            node = resolve(self.contract.document, at)
            if not (isinstance(node, dict) and isinstance(node.get("$ref"), str)):
                return at, node
            at = parse_pointer(node["$ref"])
        raise Unmakeable(f"{at}: references in a circle")

    def admits(self, at: Pointer, value: Any) -> bool:
        """Say whether a value obeys the schema at a pointer."""
        if at not in self._admits:
            self._admits[at] = self._judge(at)
        return self._admits[at](value)

    def _judge(self, at: Pointer) -> Callable[[Any], bool]:
        # Compiling costs in proportion to the document that references may lead into. Most of what
        # is asked here has none (no `$` begins a keyword), and is compiled alone.
        node = resolve(self.contract.document, at)
        if isinstance(node, dict) and '"$' not in json.dumps(node):
            return compiled(node).is_valid
        return self.contract.schemas.at(at).is_valid

    def least(self, at: Pointer, name: str = "") -> Any:
        """Make the least value, the same at all times. Raises Unmakeable."""
        return self._make(at, name, _Least(), 0)

    def any(self, at: Pointer, name: str, source: Source) -> Any:
        """Make any value that obeys a schema. Raises Unmakeable."""
        return self._make(at, name, source, 0)

    def _make(self, at: Pointer, name: str, source: Source, depth: int) -> Any:
        if depth > _TOO_DEEP:
            raise Unmakeable(f"{at}: nested too deep")
        at, node = self.follow(at)
        if name in self.fixed and self.admits(at, self.fixed[name]):
            return self.fixed[name]
        if source.chance(NULL_SHARE) and self.admits(at, None):
            return None
        likely = [value for value in LIKELY.get(name, ()) if self.admits(at, value)]
        if likely and (isinstance(source, _Least) or source.chance(LIKELY_SHARE)):
            return source.pick(likely)
        return self._of_schema(at, node, name, source, depth)

    def _of_schema(self, at: Pointer, node: Any, name: str, source: Source, depth: int) -> Any:
        if not isinstance(node, dict):
            return source.pick(["", 0, {}])
        if "const" in node:
            return node["const"]
        if choices := [v for v in node.get("enum", ()) if v is not None]:
            return source.pick(choices)
        for keyword in ("oneOf", "anyOf"):
            branches = [
                (*at, keyword, index)
                for index in range(len(node.get(keyword, ())))
                if node[keyword][index] != {"type": "null"}
            ]
            if branches:
                return self._make(source.pick(branches), name, source, depth + 1)
        node = self._with_all_of(at, node)
        kinds = [kind for kind in _types(node) if kind != "null"] or ["null"]
        kind = source.pick(kinds)
        if kind == "object":
            return self._object(at, node, source, depth)
        if kind == "array":
            return self._array(at, node, source, depth)
        return scalar(kind, node, name, source)

    def _with_all_of(self, at: Pointer, node: dict[str, Any]) -> dict[str, Any]:
        """Join a schema with those of its `allOf` by key: enough for objects in parts."""
        joined = {**node, "properties": dict(node.get("properties", {}))}
        required = list(node.get("required", ()))
        for index in range(len(node.get("allOf", ()))):
            where, part = self.follow((*at, "allOf", index))
            if isinstance(part, dict):
                part = self._with_all_of(where, part)
                joined["properties"].update(
                    {key: {_ELSEWHERE: (*where, "properties", key)} for key in part["properties"]}
                )
                required += part.get("required", ())
                joined = {**part, **{k: v for k, v in joined.items() if v or k == "properties"}}
        joined["required"] = list(dict.fromkeys(required))
        return joined

    def _object(self, at: Pointer, node: dict[str, Any], source: Source, depth: int) -> Any:
        made: dict[str, Any] = {}
        required = node.get("required", ())
        for name, inner in node.get("properties", {}).items():
            wanted = name in required or (depth < DEEP and source.chance(OPTIONAL_SHARE))
            if wanted and inner is not False:
                where = inner.get(_ELSEWHERE) if isinstance(inner, dict) else None
                made[name] = self._make(where or (*at, "properties", name), name, source, depth + 1)
        free = [name for name in required if name not in made]
        missing = max(0, node.get("minProperties", 0) - len(made) - len(free))
        for name in [*free, *(f"key{number}" for number in range(missing))]:
            known = isinstance(node.get("additionalProperties"), dict)
            inner_at = (*at, "additionalProperties")
            made[name] = self._make(inner_at, name, source, depth + 1) if known else "value"
        return made

    def _array(self, at: Pointer, node: dict[str, Any], source: Source, depth: int) -> list[Any]:
        least = int(node.get("minItems", 0))
        most = min(int(node.get("maxItems", least + 3)), max(least, 3))
        length = source.integer(max(least, min(1, most)), max(most, least))
        made = [self._item(at, node, index, source, depth + 1) for index in range(length)]
        if not node.get("uniqueItems"):
            return made
        unlike = [item for index, item in enumerate(made) if item not in made[:index]]
        return unlike if len(unlike) >= least else self.least_list(at, length)

    def _item(
        self, at: Pointer, node: dict[str, Any], index: int, source: Source, depth: int
    ) -> Any:
        if index < len(node.get("prefixItems", ())):
            return self._make((*at, "prefixItems", index), "", source, depth)
        return self._make((*at, "items"), "", source, depth) if "items" in node else index

    def least_list(self, at: Pointer, length: int) -> list[Any]:
        """Make a list of a length for the array schema at a pointer, of least items; they differ
        where they must, as far as texts and numbers can. Raises Unmakeable."""
        at, node = self.follow(at)
        made: list[Any] = []
        for index in range(length):
            item = self._item(at, node, index, _Least(), 0)
            if node.get("uniqueItems") and isinstance(item, str):
                item = f"{item}{index}" if index else item
            elif node.get("uniqueItems") and isinstance(item, int | float):
                item += index
            made.append(item)
        return made


def scalar(kind: str, node: Mapping[str, Any], name: str, source: Source) -> Any:
    """Make a text, number, true or false, or null that obeys the keywords beside `type`."""
    if kind == "boolean":
        return source.chance(0.5)
    if kind in ("integer", "number"):
        return _number(kind, node, name, source)
    if kind == "null":
        return None
    return _string(node, source)


def _number(kind: str, node: Mapping[str, Any], name: str, source: Source) -> Any:
    step = node.get("multipleOf", 1 if kind == "integer" else 0)
    low, high = numbers_between(node)
    if name in RANGES:
        low, high = max(low, RANGES[name][0]), min(high, RANGES[name][1])
    if step:
        least, most = -(-low // step), high // step
        if least > most:
            raise Unmakeable("a number within its bounds")
        value = source.integer(int(least), int(most)) * step
        return int(value) if float(value).is_integer() else value
    return source.number(low, high)


def numbers_between(node: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the greatest number to take, both within the bounds of a schema."""
    whole = node.get("type") == "integer" or "integer" in _types(node)
    inside = 1 if whole else 0.001
    lows = [node["minimum"]] if "minimum" in node else []
    lows += [node["exclusiveMinimum"] + inside] if "exclusiveMinimum" in node else []
    highs = [node["maximum"]] if "maximum" in node else []
    highs += [node["exclusiveMaximum"] - inside] if "exclusiveMaximum" in node else []
    low = max(lows) if lows else min([0, *(high - _FAR for high in highs)])
    return low, min(highs) if highs else low + _FAR


def _string(node: Mapping[str, Any], source: Source) -> str:
    least = int(node.get("minLength", 0))
    most = int(node.get("maxLength", max(12, least + 12)))
    if "pattern" in node:
        text = matching(node["pattern"], source)
        if text is None or not least <= len(text) <= most:
            shortest = max(least, lengths(node["pattern"])[0])
            text = stretched(node["pattern"], shortest)
        if text is None:
            raise Unmakeable(f"a text that matches {node['pattern']}")
        return text
    return source.text(min(max(least, 1), most), min(most, max(least, 1) + 12))


def types_of(node: Any) -> list[str]:
    """List the types that a schema names, [] where it names none."""
    kinds = node.get("type", []) if isinstance(node, dict) else []
    return list(kinds) if isinstance(kinds, list) else [kinds]


def _types(node: Mapping[str, Any]) -> list[str]:
    if kinds := types_of(node):
        return kinds
    if node.get("properties") or node.get("required") or "additionalProperties" in node:
        return ["object"]
    if "items" in node or "prefixItems" in node:
        return ["array"]
    bounded = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    return ["number"] if bounded & node.keys() else ["string"]


class _Least:
    """The source that always takes the simplest."""

    def integer(self, low: int, high: int) -> int:
        return low

    def number(self, low: float, high: float) -> float:
        return 0 if low <= 0 <= high else low

    def chance(self, share: float) -> bool:
        return False

    def pick(self, items: Any) -> Any:
        return items[0]

    def sentence(self) -> str:
        return "Hi"

    def text(self, low: int = 0, high: int = 12) -> str:
        return "a" * max(low, 1)
