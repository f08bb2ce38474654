"""What the API is: documents, overlays and catalogues, and the contract made of them."""

from .contract import Contract, Route
from .document import DocumentError
from .load import DEFAULT_PROFILE, load_contract, profiles
from .operation import Example, MediaType, Operation, Response
from .schema import Schema
from .violations import Violation

__all__ = [
    "DEFAULT_PROFILE",
    "Contract",
    "DocumentError",
    "Example",
    "MediaType",
    "Operation",
    "Response",
    "Route",
    "Schema",
    "Violation",
    "load_contract",
    "profiles",
]
