"""What differs between what was expected and what came, marked in both."""

import re
from difflib import SequenceMatcher

from markupsafe import Markup

from .markup import block

# Words, runs of white space, single signs: smaller pieces make marks that nobody can read.
_PIECE = re.compile(r"\w+|\s+|.", re.DOTALL)
# Longer texts cost too much time to compare.
_LONGEST = 1500
# Texts that have less in common differ as a whole: marks would be noise.
_ALIKE = 0.4


def marked(expected: str, actual: str) -> tuple[Markup, Markup]:
    """Return both texts for `<pre>`; what only one of them has stands in `<mark>`."""
    if max(len(expected), len(actual)) > _LONGEST:
        return block(expected), block(actual)
    left, right = _PIECE.findall(expected), _PIECE.findall(actual)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return block(expected), block(actual)
    before, after = Markup(), Markup()
    for kind, start, end, begin, stop in matcher.get_opcodes():
        same = kind == "equal"
        before += _piece("".join(left[start:end]), same)
        after += _piece("".join(right[begin:stop]), same)
    return before, after


def _piece(text: str, same: bool) -> Markup:
    if same or not text:
        return block(text)
    return Markup("<mark>{}</mark>").format(block(text))
