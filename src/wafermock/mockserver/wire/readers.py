"""How the official clients read deliveries: facts about each, which the tests find anew."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct


class Reader(Struct, frozen=True):
    """An official client: its package and language, and the version that the facts hold for."""

    package: str
    language: str
    version: str

    def __str__(self) -> str:
        return f"`{self.package}` ({self.language})"


READERS: Mapping[str, Reader] = {
    "cerebras-python": Reader("cerebras_cloud_sdk", "Python", "1.91"),
    "openai-python": Reader("openai", "Python", "3.57"),
    "cerebras-node": Reader("@cerebras/cerebras_cloud_sdk", "Node", "1.91"),
    "openai-node": Reader("openai", "Node", "7.59"),
}

# What a client gets of a stream, without a word of what is missing.
Loss = Literal["first event lost", "all lost"]

_LOSSES: Mapping[Loss, str] = {
    "first event lost": "lose the first event and tell nobody: in chat the role, in completions "
    "words",
    "all lost": "wrap what they call named events: chunks without words, and nobody is told",
}

# By delivery and client. What is not here is read as the undisturbed stream is.
MISREAD: Mapping[str, Mapping[str, Loss]] = {
    "bom": {
        "cerebras-python": "first event lost",
        "openai-python": "first event lost",
        "cerebras-node": "first event lost",
    },
    "event_message": {"cerebras-python": "all lost", "cerebras-node": "all lost"},
}

READ = "Read alike by all."


def how_read(delivery: str) -> str:
    """Say in a sentence or two how the clients read a delivery."""
    losses = MISREAD.get(delivery, {})
    if not losses:
        return READ
    said = []
    whole = [str(reader) for name, reader in READERS.items() if name not in losses]
    if whole:
        said.append(f"Read by {_listed(whole)}.")
    for loss, sentence in _LOSSES.items():
        clients = [str(READERS[name]) for name in losses if losses[name] == loss]
        if clients:
            said.append(f"{_listed(clients)} {sentence}.")
    return " ".join(said)


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
