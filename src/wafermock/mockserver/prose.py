"""Invented text: sentences of everyday English words, from Faker's word list."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .draws import Draws


@cache
def word_list() -> tuple[str, ...]:
    """Return the words that texts are made of, in lower case or as names are written.

    They are read out of the source of Faker's provider. Importing it would import all of Faker,
    which costs as much as a quarter of the server's start-up, for one list of words.
    """
    package = find_spec("faker")
    for folder in package.submodule_search_locations or () if package else ():
        source = Path(folder, "providers", "lorem", "en_US", "__init__.py")
        if source.is_file():
            found = _WORD_LIST.search(source.read_text("utf-8"))
            if found:
                return tuple(re.findall(r'"([^"\\]+)"', found[1]))
    from faker.providers.lorem.en_US import Provider

    return tuple(Provider.word_list)


# The one list of the provider: one word in quotes after the other, in parentheses.
_WORD_LIST = re.compile(r'\bword_list\b[^=]*= *\(((?:\s*"[^"\\]+",?)+\s*)\)')


@cache
def short_words() -> tuple[str, ...]:
    """Return the words that are one token each: lower case, up to ten letters."""
    return tuple(word for word in word_list() if re.fullmatch("[a-z]{1,10}", word))


def sentences(draws: Draws, tokens: int) -> str:
    """Invent whole sentences of about so many tokens in all (a word or a stop is a token)."""
    text: list[str] = []
    left = tokens
    while left > 0:
        length = 6 + draws.below(9)
        text.append(_sentence(draws, length))
        left -= length + 1
    return " ".join(text)


def words(draws: Draws, count: int) -> list[str]:
    """Draw some words of the list."""
    return draws.picks(word_list(), count)


def _sentence(draws: Draws, length: int) -> str:
    chosen = words(draws, length)
    if length > 9:
        chosen[length // 2] += ","
    return f"{' '.join(chosen).capitalize()}."
