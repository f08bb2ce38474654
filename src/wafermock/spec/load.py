"""From files to a contract: made of documents, overlays and catalogues, or found as kept before."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from . import kept
from .assemble import assemble
from .contract import Contract
from .document import Document, DocumentError, read_document

HERE = Path(__file__).parent
DEFAULT_PROFILE = "documented"
CATALOGUES = ("errors", "models", "requirements", "limits")


class Sources(Struct, frozen=True):
    """What a contract is made of, by file: documents, and overlays in the order they apply."""

    documents: tuple[Path, ...]
    overlays: tuple[Path, ...]


def profiles() -> tuple[str, ...]:
    """Name the profiles, the default one first."""
    return tuple(read_document(HERE / "sources.yaml").root["profiles"])


def sources(
    profile: str = DEFAULT_PROFILE,
    documents: Sequence[Path | str] = (),
    overlays: Sequence[Path | str] = (),
    *,
    corrected: bool = True,
) -> Sources:
    """List the files of a contract: `sources.yaml` holds the built-in ones and their order.

    `documents` stand in for the two built-in ones, `overlays` come after the built-in ones;
    without `corrected` no built-in overlay is applied at all.
    Raises ValueError for a profile that does not exist.
    """
    listed = read_document(HERE / "sources.yaml").root
    if profile not in listed["profiles"]:
        raise ValueError(f"no profile {profile!r}; there are {', '.join(listed['profiles'])}")
    built_in = [*listed["overlays"], *listed["profiles"][profile]] if corrected else []
    return Sources(
        documents=tuple(map(Path, documents)) or tuple(HERE / d for d in listed["documents"]),
        overlays=(*(HERE / o for o in built_in), *map(Path, overlays)),
    )


def load_contract(
    profile: str = DEFAULT_PROFILE,
    documents: Sequence[Path | str] = (),
    overlays: Sequence[Path | str] = (),
    *,
    corrected: bool = True,
) -> Contract:
    """Load the contract of a profile, from the built-in documents or from others.

    Built-in overlays are applied to the documents they are meant for (`x-wafermock-applies-to`).
    Raises DocumentError (file, line, pointer) for anything that cannot be used, ValueError for
    an unknown profile.
    """
    given = [*map(Path, documents), *map(Path, overlays)]
    options = (profile, list(map(str, documents)), list(map(str, overlays)), corrected)
    name = kept.key(given, options)
    found = None if name is None else kept.fetch(name)
    if found is not None:
        catalogues = {c: Document(HERE / f"{c}.yaml", None, found[c]) for c in CATALOGUES}
        return assemble(found["document"], catalogues, profile, found["validation_form"])
    return _make_contract(sources(profile, documents, overlays, corrected=corrected), profile, name)


def _make_contract(files: Sources, profile: str, name: str | None) -> Contract:
    # Imported where a contract is made: one that was kept needs none of this.
    from .complete import complete
    from .merge import merge
    from .overlay import read_overlay
    from .references import leads_to_files

    read = [read_document(path) for path in files.documents]
    catalogues = {c: read_document(HERE / f"{c}.yaml") for c in CATALOGUES}
    overlays = list(map(read_overlay, files.overlays))
    try:
        contract = complete(merge(read), overlays, catalogues, profile)
    except DocumentError as error:
        raise _unfit(error, read) from None
    if name is not None and not any(leads_to_files(document.root) for document in read):
        roots = {c: catalogue.root for c, catalogue in catalogues.items()}
        form = contract.schemas.validation_form
        kept.keep(name, {"document": contract.document, "validation_form": form, **roots})
    return contract


def _unfit(error: DocumentError, read: Sequence[Document]) -> DocumentError:
    """Say what to do where a built-in overlay does not fit a document of the user's own: nobody
    can mend the overlay, as the error as it is would want."""
    built_in = Path(error.file).parent == HERE / "overlays"
    own = next((document for document in read if HERE not in document.path.parents), None)
    if own is None or not built_in:
        return error
    where = f"{Path(error.file).name}:{error.line}, {error.message}"
    return own.error(
        f"the built-in overlays correct the published documents, and do not fit this one ({where}):"
        " leave them out with --bare (in Python bare=True)",
        (),
    )
