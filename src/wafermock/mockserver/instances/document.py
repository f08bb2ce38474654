"""A schema as a graph: places in it, the resources they belong to, and where references lead.

Sources: JSON Schema 2020-12 core, sections 8.2 (identifiers, references, dynamic scope) and 9.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urljoin

from .dialects import (
    DEFAULT_DRAFT,
    JSON,
    MANY,
    METASCHEMA,
    NAMED,
    ONE,
    dialect,
    escape,
    identifier,
    meaningful,
    metaschema_documents,
)
from .errors import InvalidSchema

ROOT_URI = "json-schema:///"


class Resource:
    """A schema with a base URI of its own: the document or a part with an `$id`."""

    __slots__ = ("anchors", "draft", "dynamic_anchors", "root", "uri")

    def __init__(self, uri: str, draft: int, root: JSON) -> None:
        self.uri = uri
        self.draft = draft
        self.root = root
        self.anchors: dict[str, tuple[str, ...]] = {}
        self.dynamic_anchors: dict[str, tuple[str, ...]] = {}


class Node:
    """A schema at its place: what to read, where it stands, and how its references resolve.

    Two nodes are the same place if and only if they are the same object. A made node (see
    `made`) holds a schema that stands nowhere; other nodes may be its subschemas.
    """

    __slots__ = (
        *("_children", "_graph", "_keywords", "_pointer", "_target"),
        *("memo", "path", "resource", "schema", "scope"),
    )

    def __init__(
        self,
        graph: Graph,
        schema: JSON,
        resource: Resource,
        path: tuple[str, ...] | None,
        scope: tuple[str, ...],
        pointer: str | None = None,
    ) -> None:
        self._graph = graph
        self._children: dict[tuple[str, ...], Node] = {}
        self._keywords: dict[str, JSON] | None = None
        self._pointer = pointer
        self._target: Node | bool | None = False
        self.memo: dict[str, Any] = {}
        """What was worked out from this place alone, by the name of the work."""
        self.schema = schema
        self.resource = resource
        self.path = path
        """Tokens from the root of its resource; None for a made node."""
        self.scope = scope

    def __repr__(self) -> str:
        return f"<Node {self.pointer or '(root)'}>"

    @property
    def draft(self) -> int:
        """The draft that this schema is written in; made ones are in the newest."""
        return self.resource.draft if self.path is not None else DEFAULT_DRAFT

    @property
    def keywords(self) -> dict[str, JSON]:
        """The keywords that have a meaning in this schema's draft; none for a boolean."""
        if self._keywords is None:
            self._keywords = meaningful(self.schema, self.draft)
        return self._keywords

    @property
    def pointer(self) -> str:
        """The JSON pointer of the place in the document; a made node has one near by."""
        if self._pointer is None:
            self._pointer = self._graph.pointer(self.resource, self.path or ())
        return self._pointer

    def child(self, *tokens: str) -> Node:
        """The subschema that the tokens (keyword, then name or index) lead to."""
        found = self._children.get(tokens)
        if found is None:
            found = self._children[tokens] = self._graph.step(self, tokens)
        return found

    def children(self, keyword: str) -> list[Node]:
        """The subschemas of a keyword whose value is a list of schemas."""
        return [self.child(keyword, str(index)) for index in range(len(self.schema[keyword]))]

    def made(self, schema: JSON, pointer: str | None = None) -> Node:
        """A node for a schema made up here; subschemas in it may be nodes."""
        at = self.pointer if pointer is None else pointer
        return Node(self._graph, schema, self.resource, None, self.scope, at)

    def target(self) -> Node | None:
        """The node that this schema's reference leads to; None without a reference."""
        if isinstance(self._target, bool):
            named = isinstance(self.schema, dict)
            self._target = self._graph.follow(self) if named else None
        return self._target


class Graph:
    """All the places of one schema document and of the metaschemas it refers to."""

    def __init__(self, schema: JSON, resources: Mapping[str, JSON]) -> None:
        self.dynamic = False
        self._further = resources
        self._nodes: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Node] = {}
        self._resources: dict[str, Resource] = {}
        self._prefix: dict[str, str] = {}
        self._scanned = False
        draft = dialect(schema, DEFAULT_DRAFT)
        own = identifier(schema, draft)
        uri = _join(ROOT_URI, own).partition("#")[0] if own else ROOT_URI
        self.resource = self._add(uri, draft, schema, "")
        if uri != ROOT_URI:
            self._resources.setdefault(ROOT_URI, self.resource)
        self.dynamic = _mentions_dynamic(schema) or any(map(_mentions_dynamic, resources.values()))
        self.root = self._root(self.resource, ())

    # -- places ---------------------------------------------------------------------------

    def step(self, node: Node, tokens: tuple[str, ...]) -> Node:
        """The node at `tokens` below a node."""
        value, resource, path = node.schema, node.resource, node.path
        for index, token in enumerate(tokens):
            try:
                value = value[int(token)] if isinstance(value, list) else value[token]
            except (KeyError, IndexError, ValueError, TypeError) as none:
                raise InvalidSchema(
                    node.pointer, f"nothing stands at {_below(node.pointer, tokens[: index + 1])}"
                ) from none
            if path is None:
                continue
            path = (*path, token)
            own = identifier(value, resource.draft)
            uri = _join(resource.uri, own).partition("#")[0] if own else resource.uri
            if uri != resource.uri:
                pointer = _below(node.pointer, tokens[: index + 1])
                draft = dialect(value, resource.draft)
                resource = self._resources.get(uri) or self._add(uri, draft, value, pointer)
                path = ()
        if isinstance(value, Node):
            return value
        return node.made(value) if path is None else self._node(resource, path, node.scope, value)

    def pointer(self, resource: Resource, path: tuple[str, ...]) -> str:
        """The JSON pointer, from the document's root, of a place in one of its resources."""
        return _below(self._prefix[resource.uri], path)

    def _root(self, resource: Resource, scope: tuple[str, ...]) -> Node:
        return self._node(resource, (), scope, resource.root)

    def _at(self, resource: Resource, path: tuple[str, ...], scope: tuple[str, ...]) -> Node:
        return self.step(self._root(resource, scope), path)

    def _node(
        self, resource: Resource, path: tuple[str, ...], scope: tuple[str, ...], value: JSON
    ) -> Node:
        if self.dynamic and resource.uri not in scope:
            scope = (*scope, resource.uri)
        key = (resource.uri, path, scope)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Node(self, value, resource, path, scope)
        return node

    def _add(self, uri: str, draft: int, root: JSON, pointer: str) -> Resource:
        resource = self._resources[uri] = Resource(uri, draft, root)
        self._prefix[uri] = pointer
        return resource

    # -- references -----------------------------------------------------------------------

    def follow(self, node: Node) -> Node | None:
        """Where the reference of a node leads: to the end of a chain of nothing but references."""
        target = self._follow(node)
        passed = {node}
        while target is not None and target not in passed:
            passed.add(target)
            if not isinstance(target.schema, dict) or set(target.schema) != {"$ref"}:
                return target
            target = self._follow(target)
        return None if target is None else target.made(True)  # round and round: nothing is asked

    def _follow(self, node: Node) -> Node | None:
        """Where `$ref`, `$dynamicRef` or `$recursiveRef` of a node leads."""
        schema = node.schema
        if "$ref" in schema and isinstance(schema["$ref"], str):
            return self._resolve(node, "$ref", schema["$ref"])
        if node.draft == 2020 and isinstance(schema.get("$dynamicRef"), str):
            reference = schema["$dynamicRef"]
            target = self._resolve(node, "$dynamicRef", reference)
            anchor = unquote(reference.partition("#")[2])
            if anchor in target.resource.dynamic_anchors:
                for uri in target.scope:
                    outer = self._resources[uri]
                    if anchor in outer.dynamic_anchors:
                        return self._at(outer, outer.dynamic_anchors[anchor], node.scope)
            return target
        if node.draft == 2019 and isinstance(schema.get("$recursiveRef"), str):
            target = self._resolve(node, "$recursiveRef", schema["$recursiveRef"])
            if isinstance(target.schema, dict) and target.schema.get("$recursiveAnchor") is True:
                for uri in node.scope:
                    outer = self._resources[uri]
                    if isinstance(outer.root, dict) and outer.root.get("$recursiveAnchor") is True:
                        return self._root(outer, node.scope)
            return target
        return None

    def _resolve(self, node: Node, keyword: str, reference: str) -> Node:
        uri, _, fragment = _join(node.resource.uri, reference).partition("#")
        fragment = unquote(fragment)
        resource = self._resources.get(uri)
        if resource is None or (fragment and not fragment.startswith("/")):
            self._scan()
            resource = self._resources.get(uri) or self._document(uri)
        where = f"{node.pointer}/{keyword}"
        if resource is None:
            raise InvalidSchema(where, leads_out(uri))
        if not fragment:
            return self._root(resource, node.scope)
        if not fragment.startswith("/"):
            path = resource.anchors.get(fragment)
            if path is None:
                raise InvalidSchema(where, f"no $anchor {fragment!r} for the reference")
            return self._at(resource, path, node.scope)
        tokens = tuple(t.replace("~1", "/").replace("~0", "~") for t in fragment.split("/")[1:])
        try:
            return self.step(self._root(resource, node.scope), tokens)
        except InvalidSchema as error:
            raise InvalidSchema(
                where, f"the reference {reference!r} leads nowhere: {error.reason}"
            ) from error

    def _document(self, uri: str) -> Resource | None:
        """The resource of another document: one that was handed in, or a metaschema."""
        found: Mapping[str, JSON] = {uri: self._further[uri]} if uri in self._further else {}
        if not found and METASCHEMA.fullmatch(uri):
            found = metaschema_documents(uri)
        for at, document in dict(found).items():
            if at not in self._resources:
                draft = dialect(document, self.resource.draft)
                own = identifier(document, draft)
                name = _join(at, own).partition("#")[0] if own else at
                resource = self._resources.get(name) or self._add(name, draft, document, name + "#")
                self._resources[at] = resource
                self.dynamic = self.dynamic or _mentions_dynamic(document)
                self._scan_from(self._root(resource, ()))
        return self._resources.get(uri)

    def _scan(self) -> None:
        """Learns every `$id` and anchor of the document."""
        if not self._scanned:
            self._scanned = True
            self._scan_from(self.root)

    def documents(self) -> dict[str, JSON]:
        """The documents handed in that references lead to, by URI; follows all references.

        Raises `InvalidSchema` for one that leads nowhere.
        """
        self._scan()
        found: dict[str, JSON] = {}
        waiting, seen = [self.root], {self.root}
        while waiting:
            node = waiting.pop()
            below = list(_subschemas(node))
            target = node.target()
            if target is not None:
                document = self._resources[target.resource.uri]
                for uri, whole in self._further.items():
                    if self._resources.get(uri) is document:
                        found[uri] = whole
                below.append(target)
                below.append(self._root(target.resource, node.scope))
            for other in below:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return found

    def _scan_from(self, start: Node) -> None:
        waiting = [start]
        while waiting:
            node = waiting.pop()
            schema = node.schema
            if isinstance(schema, dict) and (node.draft > 7 or "$ref" not in schema):
                _note_anchors(node.resource, node.path or (), schema)
            waiting.extend(_subschemas(node))


def _subschemas(node: Node) -> Iterator[Node]:
    """The schemas within a schema, in the places where keywords have them."""
    schema = node.schema
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in NAMED and isinstance(value, dict):
            for name, item in value.items():
                if isinstance(item, dict):
                    yield node.child(keyword, name)
        elif keyword in MANY and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    yield node.child(keyword, str(index))
        elif keyword in ONE and isinstance(value, dict):
            yield node.child(keyword)


def _below(pointer: str, tokens: tuple[str, ...]) -> str:
    return pointer + "".join("/" + escape(token) for token in tokens)


def _note_anchors(resource: Resource, path: tuple[str, ...], schema: dict[str, JSON]) -> None:
    if resource.draft <= 7:
        own = schema.get("id" if resource.draft == 4 else "$id")
        if isinstance(own, str) and own.startswith("#") and len(own) > 1:
            resource.anchors[own[1:]] = path
        return
    if isinstance(schema.get("$anchor"), str):
        resource.anchors[schema["$anchor"]] = path
    if resource.draft == 2020 and isinstance(schema.get("$dynamicAnchor"), str):
        resource.anchors[schema["$dynamicAnchor"]] = path
        resource.dynamic_anchors[schema["$dynamicAnchor"]] = path


def _join(base: str, reference: str) -> str:
    """RFC 3986 section 5, for URI schemes that urllib does not count as hierarchical too."""
    if reference.startswith("#"):
        return base.partition("#")[0] + reference
    if base.startswith(ROOT_URI):
        joined = urljoin("http://json-schema/" + base[len(ROOT_URI) :], reference)
        return joined.replace("http://json-schema/", ROOT_URI, 1)
    return urljoin(base, reference)


def _mentions_dynamic(schema: JSON) -> bool:
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if "$dynamicRef" in value or "$recursiveRef" in value:
                return True
            waiting.extend(v for v in value.values() if isinstance(v, dict | list))
        elif isinstance(value, list):
            waiting.extend(v for v in value if isinstance(v, dict | list))
    return False


def leads_out(uri: str) -> str:
    """The reason given for a reference to a document that is not at hand."""
    return (
        f"a reference leads out of the schema to {uri!r}; nothing is fetched, "
        "so put its target under $defs"
    )
