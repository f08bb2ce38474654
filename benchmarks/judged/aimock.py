"""aimock (formerly llmock), by CopilotKit: a mock of many providers that answers from fixtures."""

import json

from .server import HOST, KEY, Place, Server

# One answer with a tool where a tool is offered and has not been called yet, else a text.
FIXTURES = {
    "fixtures": [
        {
            "match": {"toolName": "get_weather", "hasToolResult": False},
            "response": {"toolCalls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]},
        },
        {"match": {}, "response": {"content": "Hello! How can I help you today?"}},
    ]
}


def _prepare(place: Place) -> tuple[str, ...]:
    fixtures = place.write("fixtures.json", json.dumps(FIXTURES))
    port = ("--host", HOST, "--port", str(place.port))
    return (place.program("llmock"), *port, "--fixtures", fixtures, "--log-level", "warn")


AIMOCK = Server(
    name="aimock",
    what="mock of many providers, Node",
    client="npm",
    packages=("@copilotkit/aimock@1.43.0",),
    port=4131,
    prepare=_prepare,
    environment={"AIMOCK_API_KEYS": KEY},
    flags=("--any-model",),
    setup="One fixture that answers every chat, one that calls a tool; one key is known.",
)
