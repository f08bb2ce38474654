"""The drafts of JSON Schema: their names, their metaschemas, and the keywords they know."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

JSON: TypeAlias = Any

DEFAULT_DRAFT = 2020

DIALECTS = {
    "json-schema.org/draft/2020-12/schema": (2020, "https://json-schema.org/draft/2020-12/schema"),
    "json-schema.org/draft/2019-09/schema": (2019, "https://json-schema.org/draft/2019-09/schema"),
    "json-schema.org/draft-07/schema": (7, "http://json-schema.org/draft-07/schema#"),
    "json-schema.org/draft-06/schema": (6, "http://json-schema.org/draft-06/schema#"),
    "json-schema.org/draft-04/schema": (4, "http://json-schema.org/draft-04/schema#"),
}
METASCHEMA = re.compile(
    r"https?://json-schema\.org/(draft-0[467]/schema|draft/20(20-12|19-09)/(schema|meta/[a-z-]+))"
)

# Where subschemas stand: a schema, a list of schemas, a map of schemas. `items` may be the first
# or the second, `dependencies` a map of schemas and lists of names.
ONE = frozenset(
    (
        *("not", "if", "then", "else", "contains", "propertyNames", "contentSchema", "items"),
        *("additionalProperties", "additionalItems"),
        *("unevaluatedItems", "unevaluatedProperties"),
    )
)
MANY = frozenset(["allOf", "anyOf", "oneOf", "prefixItems", "items"])
NAMED = frozenset(
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]
)
DATA = frozenset(["const", "enum", "default", "examples", "required", "dependentRequired", "type"])

# The drafts that know a keyword, where not all do.
SINCE = {
    "const": 6, "contains": 6, "propertyNames": 6, "if": 7, "then": 7, "else": 7,
    "dependentSchemas": 2019, "dependentRequired": 2019, "minContains": 2019, "maxContains": 2019,
    "unevaluatedItems": 2019, "unevaluatedProperties": 2019, "$recursiveRef": 2019,
    "prefixItems": 2020, "$dynamicRef": 2020,
}  # fmt: skip
UNTIL = {"additionalItems": 2019, "dependencies": 7, "$recursiveRef": 2019}


def escape(token: str) -> str:
    """One reference token of a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def dialect(schema: JSON, inherited: int) -> int:
    """The draft (4, 6, 7, 2019, 2020) that a schema resource is written in."""
    name = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(name, str):
        return inherited
    known = DIALECTS.get(name.rstrip("#").partition("://")[2])
    return known[0] if known else DEFAULT_DRAFT


def meaningful(schema: JSON, draft: int) -> dict[str, JSON]:
    """The keywords of a schema that its draft gives a meaning."""
    if not isinstance(schema, dict):
        return {}
    if draft <= 7 and "$ref" in schema:  # draft-07 core, section 8.3: siblings are ignored
        return {"$ref": schema["$ref"]}
    return {
        keyword: value
        for keyword, value in schema.items()
        if SINCE.get(keyword, 0) <= draft <= UNTIL.get(keyword, DEFAULT_DRAFT)
    }


def identifier(schema: JSON, draft: int) -> str | None:
    """The `$id` that makes a schema a resource of its own."""
    if not isinstance(schema, dict) or (draft <= 7 and "$ref" in schema):
        return None
    own = schema.get("id" if draft == 4 else "$id")
    return own if isinstance(own, str) and own and not own.startswith("#") else None


def metaschema_documents(uri: str) -> dict[str, JSON]:
    """The metaschema at `uri` and those it is made of, by URI, as the validator has them."""
    import jsonschema_rs

    draft = next((d for d in DIALECTS if uri.partition("://")[2] == d), None)
    if draft is None:  # a vocabulary's metaschema
        draft = "json-schema.org/draft/20" + ("20-12" if "2020-12" in uri else "19-09") + "/schema"
    bundle: dict[str, Any] = jsonschema_rs.bundle(
        {"$schema": DIALECTS[draft][1], "$ref": uri, "type": "object"}
        if DIALECTS[draft][0] > 7
        else {"$schema": DIALECTS[draft][1], "allOf": [{"$ref": uri}]},
        offline=True,
    )
    return {
        name.rstrip("#"): contents
        for place in ("$defs", "definitions")
        for name, contents in bundle.get(place, {}).items()
    }
