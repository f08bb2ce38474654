"""What may happen to an answer on its way: failures, deliveries, defects, and how they are done.

`plan` makes a plan of an answer and of what was chosen for it, `perform` (a module of its own, for
it needs aiohttp) puts it on the wire.
"""

from .catalogue import Catalogue, CatalogueError, Chosen, Entry, Parameter, happening
from .defects import DEFECTS
from .deliveries import DELIVERIES
from .failures import failure_catalogue, refusal_of
from .plan import Plan, plan
from .requests import rewritten

__all__ = [
    "DEFECTS",
    "DELIVERIES",
    "Catalogue",
    "CatalogueError",
    "Chosen",
    "Entry",
    "Parameter",
    "Plan",
    "failure_catalogue",
    "happening",
    "plan",
    "refusal_of",
    "rewritten",
]
