"""Campaigns: requests planned from the contract. The same ones in the same order for a seed.

Every campaign is an iterator of `Planned`; it sends nothing.
"""

from .boundaries import boundaries
from .campaign import CAMPAIGNS, Campaign
from .examples import examples
from .generated import Generated, generated
from .invalid import invalid
from .mutations import mutations
from .telling import LeftOut

__all__ = [
    "CAMPAIGNS",
    "Campaign",
    "Generated",
    "LeftOut",
    "boundaries",
    "examples",
    "generated",
    "invalid",
    "mutations",
]
