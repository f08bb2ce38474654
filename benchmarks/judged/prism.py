"""Prism, by Stoplight: a mock of any OpenAPI document, here of Wafermock's own.

Prism reads OpenAPI 3.1; what only 3.2 has is left out of the document on the spot.
"""

import json
from typing import Any

from wafermock.spec import load_contract
from wafermock.spec.bundle import bundle

from .server import HOST, Place, Server

# Fields of OpenAPI 3.2 that 3.1 does not have, beside `itemSchema`, and that the document uses.
NEW_IN_3_2 = {"dataValue"}


def _downgraded(node: Any) -> Any:
    if isinstance(node, list):
        return [_downgraded(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "itemSchema" in node:  # the media type of a stream of events: one text
        return {"schema": {"type": "string"}}
    return {name: _downgraded(value) for name, value in node.items() if name not in NEW_IN_3_2}


def openapi_3_1(document: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI 3.2 document as one of 3.1."""
    downgraded: dict[str, Any] = {**_downgraded(document), "openapi": "3.1.0"}
    return downgraded


def _prepare(place: Place) -> tuple[str, ...]:
    document = place.write("openapi.json", json.dumps(openapi_3_1(bundle(load_contract()))))
    return (place.program("prism"), "mock", "--host", HOST, "--port", str(place.port), document)


PRISM = Server(
    name="prism",
    what="mock of an OpenAPI document, Node",
    client="npm",
    packages=("@stoplight/prism-cli@5.14.2",),
    port=4134,
    prepare=_prepare,
    flags=("--any-key", "--any-model"),
    setup="On `wafermock spec bundle`, brought down to OpenAPI 3.1; static answers.",
)
