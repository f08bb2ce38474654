"""Predicted outputs: an answer that follows the prediction, and how much of it came true."""

import re
import zlib
from collections.abc import Sequence

from .prose import short_words

# How far ahead in the prediction a token of the answer is looked for.
_WINDOW = 64
# One word in so many is changed, as when a file is written again with small changes.
_CHANGED = 12
# A word that may be changed: a short one between spaces; the last of a text may be cut.
_WORD = re.compile(r"(?<!\S)[a-z]{3,10}(?=[.,;:!?]?\s)")


def follow_prediction(prediction: str, salt: bytes) -> str:
    """Write the prediction again with a few words changed; which ones depends on the salt.

    Done twice it is the same as done once: what was answered, predicted, comes true in full.
    """
    kept = [word for word in short_words() if len(word) > 2 and not _changes(word, salt)]

    def write(match: re.Match[str]) -> str:
        word = match.group()
        return kept[_number(word, salt) % len(kept)] if _changes(word, salt) else word

    return _WORD.sub(write, prediction)


def _changes(word: str, salt: bytes) -> bool:
    return _number(word, salt) % _CHANGED == 0


def _number(word: str, salt: bytes) -> int:
    return zlib.crc32(word.encode(), zlib.crc32(salt))


def compare(prediction: Sequence[str], answer: Sequence[str]) -> tuple[int, int]:
    """Return how many predicted tokens were accepted and how many rejected.

    The answer is read token by token beside the prediction: a token that comes next is accepted;
    when it comes a little later, what is skipped was predicted in vain.
    """
    predicted = list(prediction)
    accepted = at = 0
    for token in answer:
        try:
            at = predicted.index(token, at, at + _WINDOW) + 1
        except ValueError:
            continue
        accepted += 1
    return accepted, len(predicted) - accepted
