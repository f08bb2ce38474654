"""The token model: text in pieces that join to the text again, and a number for each piece.

A token is a word with the space before it, up to three digits, or a few signs. Words of up to ten
letters stay whole. There is no vocabulary to download: a piece and its number are two spellings
of the same thing, so tokens sent back as numbers become their text again.
"""

import re

# A space belongs to the word behind it, as in the tokenisers of real models. One alternative of
# the pattern matches at every character, so the pieces always join to the text.
_WORD = r" ?(?:[a-z]{1,10}|[A-Z][a-z]{0,9}|[A-Z]{2,10})(?![A-Za-z])"
_LETTERS = r" ?[A-Za-z]{1,4}"
_DIGITS = " ?[0-9]{1,3}"
_SIGNS = r" ?[!-/:-@\[-`{-~]{1,3}"
_SPACES = r"[ \t\r\n]{1,3}"
_WIDE = r"[^\x00-\x7f]{1,2}"
_PIECE = re.compile("|".join((_WORD, _LETTERS, _DIGITS, _SIGNS, _SPACES, _WIDE, ".")), re.DOTALL)


def tokenise(text: str) -> list[str]:
    """Cut a text into tokens. Joined, they are the text."""
    return _PIECE.findall(text)


def count_tokens(text: str) -> int:
    """Count the tokens of a text."""
    return len(_PIECE.findall(text))


# Numbers: each kind of piece has a range of its own, all below 2**53 so that every JSON reader
# keeps them exact. Words count in base 27 (0 ends the word), with two bits for a leading space
# and two for the case; other pieces count their characters in base 0x110000 or 0x80.
_KIND_BITS = 51
_LOWER, _CAPITALISED, _UPPER = 0, 1, 2
_WORD_KIND, _ASCII_KIND, _WIDE_KIND = 0, 1, 2


def token_id(piece: str) -> int:
    """Return the number of a token; `token_text` gives the token back."""
    word = piece[1:] if piece.startswith(" ") else piece
    if word.isascii() and word.isalpha() and len(word) <= 10 and (case := _case(word)) is not None:
        value = 0
        for letter in reversed(word.lower()):
            value = value * 27 + ord(letter) - 96
        return (_WORD_KIND << _KIND_BITS) | (value << 3 | case << 1 | (word is not piece))
    if piece.isascii() and len(piece) <= 7:
        return (_ASCII_KIND << _KIND_BITS) | _number(piece, 0x80)
    return (_WIDE_KIND << _KIND_BITS) | _number(piece[:2], 0x110001)


def token_text(number: int) -> str:
    """Return the text of a token's number. Any number has one: foreign numbers read as words."""
    number = int(number)  # JSON has one kind of number: 5.0 is the token 5
    kind, value = number >> _KIND_BITS, number & ((1 << _KIND_BITS) - 1)
    if kind == _WORD_KIND:
        return _word_text(value)
    if kind == _ASCII_KIND:
        return _text(value, 0x80)
    return _text(value, 0x110001)


def _word_text(value: int) -> str:
    space, case, value = value & 1, value >> 1 & 3, value >> 3
    letters = []
    while value:
        value, digit = divmod(value, 27)
        letters.append(chr(96 + digit) if digit else "a")
    word = "".join(letters) or "a"
    if case == _CAPITALISED:
        word = word.capitalize()
    elif case:
        word = word.upper()
    return " " + word if space else word


def _case(word: str) -> int | None:
    if word.islower():
        return _LOWER
    if word[0].isupper() and (word[1:].islower() or len(word) == 1):
        return _CAPITALISED
    return _UPPER if word.isupper() else None


def _number(piece: str, base: int) -> int:
    value = 0
    for character in reversed(piece):
        value = value * base + ord(character) + (base != 0x80)
    return value * 8 + len(piece)


def _text(value: int, base: int) -> str:
    value, length = divmod(value, 8)
    characters = []
    for _ in range(length):
        value, code = divmod(value, base)
        code -= base != 0x80
        characters.append(chr(code) if code >= 0 and not 0xD800 <= code < 0xE000 else "\ufffd")
    return "".join(characters)
