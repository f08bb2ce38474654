"""The last step to a contract: a completed document and the catalogues, put together."""

from collections.abc import Mapping
from typing import Any

from .contract import Contract
from .document import Document
from .errors import ErrorCatalogue
from .limits import LimitCatalogue
from .models import ModelCatalogue
from .requirements import RequirementCatalogue

Catalogues = Mapping[str, Document]


def assemble(
    root: dict[str, Any],
    catalogues: Catalogues,
    profile: str,
    validation_form: dict[str, Any] | None = None,
) -> Contract:
    """Put a completed document and the catalogues (errors, models, requirements, limits) together.

    `validation_form` is that of the document's schemas where it is known already.
    """
    errors = ErrorCatalogue(catalogues["errors"], profile)
    models = ModelCatalogue(catalogues["models"])
    requirements = RequirementCatalogue(catalogues["requirements"], errors)
    limits = LimitCatalogue(catalogues["limits"])
    return Contract(root, profile, errors, models, requirements, limits, validation_form)
