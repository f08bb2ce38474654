"""Scripts: rules that say what is answered to which request.

A script is read from files (`Script.load`), looked into at every request (`ScriptState.find`), and
read again when its files change (`ScriptState.read_again`). Only the reading touches
files; what is found is a function of the request, the script and the position in it.
"""

from .criteria import Difference
from .outcome import Outcome, Position
from .rule import Rule
from .script import Script, problems, rules_of
from .state import Found, Missed, ScriptState
from .subject import Subject

__all__ = [
    "Difference",
    "Found",
    "Missed",
    "Outcome",
    "Position",
    "Rule",
    "Script",
    "ScriptState",
    "Subject",
    "problems",
    "rules_of",
]
