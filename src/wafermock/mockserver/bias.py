"""`logit_bias`: which tokens are never said, and which are the only ones."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from .draws import Draws
from .prose import short_words
from .tokens import token_text, tokenise


class Bias:
    """What a request's `logit_bias` bans (-100 and less) and what it forces (100 and more).

    Any value between changes how likely a token is, and invented words have no likelihood: it
    changes nothing. A key that is no token's number biases nothing either. Nothing is read before
    it is asked for, so that a bias beyond the bounds costs nothing.
    """

    def __init__(self, biases: Mapping[str, float]) -> None:
        self._biases = biases

    def __len__(self) -> int:
        return len(self._biases)

    @cached_property
    def forced(self) -> tuple[str, ...]:
        """The only tokens that may be said; none where any may."""
        found = sorted(self._numbers(lambda value: value >= 100))
        return tuple(piece for number in found for piece in tokenise(token_text(number)))

    @cached_property
    def banned(self) -> frozenset[str]:
        """The tokens that may not be said."""
        return frozenset(map(token_text, self._numbers(lambda value: value <= -100)))

    @cached_property
    def _allowed(self) -> dict[str, tuple[str, ...]]:
        """The words that may stand in for banned ones, without and with a space before them."""
        spaced = {space: (space + word for word in short_words()) for space in ("", " ")}
        return {s: tuple(w for w in words if w not in self.banned) for s, words in spaced.items()}

    def _numbers(self, wanted: Callable[[float], bool]) -> Iterator[int]:
        for key, value in self._biases.items():
            if wanted(value) and re.fullmatch(r"[0-9]{1,16}", key):
                yield int(key)

    def ban(self, tokens: Sequence[str], draws: Draws) -> list[str]:
        """Put other words in the place of banned tokens; leave them out where there are none."""
        if self.banned.isdisjoint(tokens):
            return list(tokens)
        kept = []
        for token in tokens:
            if token in self.banned:
                words = self._allowed[" " if token.startswith(" ") else ""]
                if not words:
                    continue
                token = draws.pick(words)
            kept.append(token)
        return kept

    def apply(self, tokens: Sequence[str], draws: Draws) -> list[str]:
        """Say only the forced tokens, in turn, where there are any; else none of the banned."""
        if self.forced:
            return [self.forced[at % len(self.forced)] for at in range(len(tokens))]
        return self.ban(tokens, draws)
