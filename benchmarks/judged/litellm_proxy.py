"""litellm's proxy: a gateway to many providers, here with answers that it makes up itself."""

import json

from .server import HOST, KEY, Place, Server

CONFIG = {
    "model_list": [
        {
            "model_name": "mocked",
            "litellm_params": {
                "model": "openai/mocked",
                "api_key": "none",
                "mock_response": "Hello! How can I help you today?",
            },
        }
    ],
    "general_settings": {"master_key": KEY},
    "litellm_settings": {"telemetry": False, "num_retries": 0},
    "router_settings": {"num_retries": 0},  # it would send what fails again, after pauses
}


def _prepare(place: Place) -> tuple[str, ...]:
    # JSON is YAML.
    config = place.write("config.yaml", json.dumps(CONFIG))
    port = ("--host", HOST, "--port", str(place.port))
    return (place.program("litellm"), *port, "--config", config, "--telemetry", "False")


LITELLM = Server(
    name="litellm",
    what="gateway, with made-up answers, Python",
    client="pip",
    packages=("litellm[proxy]==1.108.7",),
    port=4135,
    prepare=_prepare,
    # Its table of prices is read from the package, not from elsewhere.
    environment={"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_DOCS": "True"},
    setup="One model with `mock_response`, one master key, no database.",
)
