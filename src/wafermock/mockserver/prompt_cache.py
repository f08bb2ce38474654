"""What this server has really read: prompts by their exact prefixes, in blocks of tokens."""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from threading import Lock

# How many blocks are remembered: eight million tokens, in some ten megabytes.
MOST_BLOCKS = 65_536


class PromptCache:
    """Remembers the beginnings of prompts, block by block, up to a number of blocks.

    A block is known by all the tokens up to its end, the model, and the `prompt_cache_key` of the
    requests that brought it: requests with another key, or without one, do not share it. The blocks
    that were not asked for the longest are forgotten first. Answers then depend on what came
    before: they must not be memoised.
    """

    def __init__(self, most_blocks: int = MOST_BLOCKS) -> None:
        self._most = most_blocks
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._lock = Lock()

    def read(self, tokens: Sequence[str], model: str, key: str | None, block: int) -> int:
        """Return how many tokens of a prompt are known, in whole blocks of so many tokens, and
        remember it all."""
        names = self._names(tokens, model, key, block)
        with self._lock:
            known = 0
            while known < len(names) and names[known] in self._seen:
                known += 1
            # The last block first: a prefix must outlive what is built on it.
            for name in reversed(names):
                self._seen[name] = None
                self._seen.move_to_end(name)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)
        return known * block

    def _names(self, tokens: Sequence[str], model: str, key: str | None, block: int) -> list[bytes]:
        """Name each whole block by everything up to its end."""
        whole = len(tokens) // block * block
        name = _digest(repr((model, key)).encode())
        names = []
        for at in range(0, whole, block):
            name = _digest(name + "\0".join(tokens[at : at + block]).encode())
            names.append(name)
        return names


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
