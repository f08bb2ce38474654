"""What people put into requests: values by the name of the property that holds them.

A value is used where the schema at that place admits it; the first is the simplest. What has no
entry here is made from its schema alone (see `values`).
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

_CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Name of a city"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city", "unit"],
    "additionalProperties": False,
}
_SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer"},
        "filters": {
            "type": "object",
            "properties": {"after": {"type": "string"}, "exact": {"type": "boolean"}},
            "required": ["after", "exact"],
            "additionalProperties": False,
        },
    },
    "required": ["query", "limit", "filters"],
    "additionalProperties": False,
}
_EMPTY: Json = {"type": "object", "properties": {}, "additionalProperties": False}

# Functions that tools offer, by name.
FUNCTIONS: Mapping[str, Json] = {"get_weather": _CITY, "search-docs": _SEARCH, "now": _EMPTY}

# Arguments of calls in a conversation's history.
ARGUMENTS = {
    "get_weather": '{"city":"Boston","unit":"celsius"}',
    "search-docs": '{"query":"æther","limit":3,"filters":{"after":"2026","exact":false}}',
    "now": "{}",
}

# Schemas that answers shall obey; each keeps what a strict schema must.
ANSWER_SCHEMAS: tuple[Json, ...] = (
    {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "rating": {"type": "integer"},
            "kind": {"type": "string", "enum": ["film", "book", "song"]},
            "people": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "alive": {"type": "boolean"}},
                    "required": ["name", "alive"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["title", "rating", "kind", "people"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/leaf"}, "note": {"type": ["string", "null"]}},
        "required": ["tree", "note"],
        "additionalProperties": False,
        "$defs": {
            "leaf": {
                "type": "object",
                "properties": {"colour": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
                "required": ["colour"],
                "additionalProperties": False,
            }
        },
    },
)

# A picture of 8 x 8 points.
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4EKWBFTEMLQkA"
    "VuRcgZIHKQ4AAAAASUVORK5CYII="
)

SHORTEST_PROMPT = "Hi"

LIKELY: Mapping[str, tuple[Any, ...]] = {
    "arguments": tuple(ARGUMENTS.values()),
    "content": (SHORTEST_PROMPT,),
    "description": ("Says what it does", None),
    "detail": ("auto", "low", "high"),
    "grammar_root": ("root",),
    "id": ("call_1",),
    "logit_bias": ({"1234": -1}, {"50": 5, "7": -5.5}),
    "model_parameters": ({},),
    "name": tuple(FUNCTIONS),
    "parameters": tuple(FUNCTIONS.values()),
    "prompt": (SHORTEST_PROMPT,),
    "prompt_cache_key": ("conversation-1", "k"),
    "reasoning": ("They greet me.",),
    "schema": ANSWER_SCHEMAS,
    "stop": ("\n\n", ["END"], [". ", "\n", "!", "?"]),
    "temperature": (0, 0.7, 1, 1.5),
    "text": (SHORTEST_PROMPT,),
    "tool_call_id": ("call_1",),
    "top_p": (1, 0.9, 0.5),
    "url": (PICTURE,),
    "user": ("user-1", "Grüße"),
}

# From where to where a number is likely, whatever a schema admits beyond.
RANGES: Mapping[str, tuple[int, int]] = {
    "best_of": (1, 4),
    "logprobs": (0, 5),
    "max_completion_tokens": (4, 160),
    "max_tokens": (4, 160),
    "min_completion_tokens": (0, 4),
    "min_tokens": (0, 4),
    "n": (1, 3),
    "seed": (0, 2**31 - 1),
    "top_logprobs": (0, 5),
}
