"""Making a contract: unite documents, apply overlays, normalise, complete with the catalogues."""

from collections.abc import Sequence
from typing import Any

from .assemble import Catalogues, assemble
from .contract import Contract
from .errors import ErrorCatalogue
from .merge import Merged
from .normalise import normalise
from .overlay import Overlay, apply_overlay
from .pointer import copy_json
from .references import point, unresolved
from .shape import misshapen
from .structure import operations


def complete(
    merged: Merged, overlays: Sequence[Overlay], catalogues: Catalogues, profile: str
) -> Contract:
    """Apply the overlays to a united document and make the contract of the result.

    Raises DocumentError for an overlay action without a match, a reference that leads nowhere,
    and whatever else makes the result no document of OpenAPI.
    """
    root = copy_json(merged.root)
    for overlay in overlays:
        if overlay.applies(root):
            apply_overlay(root, overlay)
    if fault := misshapen(root):
        pointer, sentence = fault
        raise merged.error(sentence, pointer)
    point(root)
    for pointer, target in unresolved(root):
        raise merged.error(f"$ref {target} leads nowhere", pointer)
    normalise(root)
    _exemplify_errors(root, ErrorCatalogue(catalogues["errors"], profile))
    contract = assemble(root, catalogues, profile)
    _check(contract, merged)
    return contract


def _exemplify_errors(root: dict[str, Any], errors: ErrorCatalogue) -> None:
    """Put each error of the catalogue as an example where responses say they take them.

    A response component with `x-wafermock-errors: STATUS` shows the catalogue's errors of that
    status, so the document and the mock can never name different ones.
    """
    for response in root.get("components", {}).get("responses", {}).values():
        if "x-wafermock-errors" not in response:
            continue
        for entry in errors.of_status(response["x-wafermock-errors"]):
            media_type = response.get("content", {}).get(entry.media_type)
            if media_type is not None:
                example = {"summary": entry.when, "value": entry.answer()}
                media_type.setdefault("examples", {})[entry.name] = example


def _check(contract: Contract, merged: Merged) -> None:
    for pointer, sentence in contract.schemas.faults():
        raise merged.error(f"not a schema: {sentence}", pointer)
    count = 0
    for at, _ in operations(contract.document):
        try:
            contract.read_operation(at)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            message = f"an operation that cannot be read: {error!r}"
            raise merged.error(message, at) from None
        count += 1
    if not count:
        raise merged.error("no operations: `paths` is empty or missing", ("paths",))
