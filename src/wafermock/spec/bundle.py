"""The completed contract written out as one OpenAPI 3.2 document."""

import json
import re
from collections.abc import Iterable
from typing import Any

import yaml

from .contract import Contract
from .pointer import copy_json
from .structure import operations

VERSION = "3.2.0"

# What a reader looks for first stands first; keys that are not named here follow in their order.
_ROOT = (
    "openapi", "$self", "info", "jsonSchemaDialect", "servers", "security", "tags", "externalDocs",
    "paths", "webhooks", "components",
)  # fmt: skip
_OPERATION = (
    "operationId", "tags", "summary", "description", "deprecated", "security", "servers",
    "parameters", "requestBody", "responses", "callbacks",
)  # fmt: skip
_COMPONENTS = (
    "schemas", "parameters", "headers", "requestBodies", "responses", "examples", "mediaTypes",
    "pathItems", "links", "callbacks", "securitySchemes",
)  # fmt: skip


def bundle(contract: Contract) -> dict[str, Any]:
    """Return the contract's document as OpenAPI 3.2, its keys in an order for readers.

    The extensions `x-wafermock-*` stay, so that the bundle, loaded without the built-in overlays,
    is the same contract again and the mock composes the same answers. Other tools ignore them
    (OpenAPI 3.2, "Specification Extensions").
    """
    document = copy_json(contract.document)
    document["openapi"] = VERSION
    for (_, path, method), operation in list(operations(document)):
        document["paths"][path][method] = _ordered(operation, _OPERATION)
    if "components" in document:
        document["components"] = _ordered(document["components"], _COMPONENTS)
    return _ordered(document, _ROOT)


def _ordered(mapping: dict[str, Any], first: Iterable[str]) -> dict[str, Any]:
    known = [key for key in first if key in mapping]
    return {key: mapping[key] for key in [*known, *(k for k in mapping if k not in known)]}


def to_json(document: dict[str, Any]) -> str:
    """Write a document as indented JSON, with a line feed at its end."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def to_yaml(document: dict[str, Any]) -> str:
    """Write a document as YAML: no aliases, long texts as blocks.

    It reads the same in YAML 1.1 and 1.2: a text that either would take for something else is
    quoted.
    """
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH
    )
    return text


_WIDTH = 100
# YAML 1.2.2, section 10.3.2: what its core schema takes for a number.
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")

# Line breaks to YAML 1.1 and none to 1.2: only escaped do they read the same in both.
_OTHER_BREAKS = re.compile(r"[\r\x85\u2028\u2029]")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)  # entries of a list stand deeper than its key


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _OTHER_BREAKS.search(text):
        style = '"'
    elif "\n" in text.rstrip("\n"):
        style = "|"
    elif len(text) > _WIDTH and " " in text:
        style = ">"
    elif _NUMBER.fullmatch(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
