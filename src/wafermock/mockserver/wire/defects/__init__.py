"""Defects: each breaks one rule on purpose, so that a judge can be shown to see it."""

from ..catalogue import Catalogue
from .encoding import ENCODING
from .errors import ERRORS
from .framing import FRAMING
from .headers import HEADERS
from .metamorphic import METAMORPHIC
from .schema import SCHEMA
from .semantics import SEMANTICS
from .sequence import SEQUENCE

_SHELVES = (SCHEMA, FRAMING, SEQUENCE, SEMANTICS, ERRORS, ENCODING, METAMORPHIC, HEADERS)

DEFECTS = Catalogue("defect", "defects", [entry for shelf in _SHELVES for entry in shelf.entries])
