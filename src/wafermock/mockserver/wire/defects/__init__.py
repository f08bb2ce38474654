"""Defects: each breaks one rule on purpose, so that a judge can be shown to see it."""

from ..catalogue import Catalogue
from .alternatives import PROBABILITIES
from .calls import FRAGMENTED
from .encoding import ENCODING
from .errors import ERRORS
from .fields import FIELDS
from .framing import FRAMING
from .headers import HEADERS
from .ignored import IGNORED
from .lines import LINES
from .metamorphic import METAMORPHIC
from .models import MODELS
from .schema import SCHEMA
from .semantics import SEMANTICS
from .sequence import SEQUENCE
from .spellings import DRESSES, SPELLINGS
from .thoughts import THOUGHTS
from .told import TOLD
from .usage import USAGE

_SHELVES = (
    *(SCHEMA, FRAMING, LINES, SEQUENCE, FRAGMENTED),
    *(SEMANTICS, USAGE, IGNORED, PROBABILITIES, THOUGHTS, MODELS),
    *(ERRORS, TOLD, ENCODING, DRESSES, METAMORPHIC, SPELLINGS, HEADERS, FIELDS),
)

DEFECTS = Catalogue("defect", "defects", [entry for shelf in _SHELVES for entry in shelf.entries])
