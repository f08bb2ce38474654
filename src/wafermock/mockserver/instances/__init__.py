"""Instances of JSON Schemas: values that a schema accepts, natural to read, from a seed."""

from .bounds import DEFAULT_BOUNDS, Bounds
from .errors import (
    InvalidSchema,
    SchemaError,
    TooLarge,
    Unsatisfiable,
)
from .maker import InstanceMaker, make_instance

__all__ = [
    "DEFAULT_BOUNDS",
    "Bounds",
    "InstanceMaker",
    "InvalidSchema",
    "SchemaError",
    "TooLarge",
    "Unsatisfiable",
    "make_instance",
]
