"""ERRORS: how a server refuses, and that it refuses what it should and nothing else."""

from ..rule import RuleBook
from . import error_answers, leaks, refusals

BOOK = RuleBook("ERRORS")

for part in (refusals, error_answers, leaks):
    BOOK.rules += part.BOOK.rules
