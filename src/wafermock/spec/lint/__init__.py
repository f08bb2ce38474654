"""What is wrong in an OpenAPI document, where it stands, and what the overlays do about it."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from ..document import Document, read_document
from ..load import load_contract, sources
from ..overlay import Overlay, read_overlay
from ..pointer import Pointer, format_pointer
from ..shape import misshapen
from ..structure import operations
from . import declarations, dialect, examples, references
from .remedy import remedy, steps
from .subject import Rule, subject_of

__all__ = ["RULES", "Finding", "Rule", "lint", "lint_files"]

RULES: dict[str, Rule] = {
    **references.RULES,
    **dialect.RULES,
    **declarations.RULES,
    **examples.RULES,
}


class Finding(Struct, frozen=True):
    """A fault of a document: where it stands, the rule it breaks, and what becomes of it."""

    file: str
    line: int | None
    pointer: Pointer
    rule: str
    sentence: str
    remedy: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        told = f"{self.sentence} [{self.rule}] -> {self.remedy}"
        return f"{where}: {format_pointer(self.pointer)}: {told}"


def lint(documents: Sequence[Document], overlays: Sequence[Overlay] = ()) -> list[Finding]:
    """Examine documents, each for itself, by every rule; operation ids are compared across them.

    `overlays` are those that a finding's remedy is looked for in, in the order they apply.
    Findings come in the documents' order, then by line. Raises DocumentError for a document that
    has not the shape of OpenAPI 3.
    """
    found: list[Finding] = []
    taken: dict[str, str] = {}
    for document in documents:
        if fault := misshapen(document.root):
            pointer, sentence = fault
            raise document.error(sentence, pointer)
        found.extend(_lint(document, overlays, taken))
        for at, operation in operations(document.root):
            if id := operation.get("operationId"):
                taken.setdefault(id, f"{document.path.name}, {format_pointer(at)}")
    return found


def _lint(document: Document, overlays: Sequence[Overlay], taken: dict[str, str]) -> list[Finding]:
    subject = subject_of(document, dict(taken))
    faults = [(rule, at, text) for rule in RULES.values() for at, text in rule.check(subject)]
    carried_out = steps(subject, overlays) if faults else []
    findings = [
        Finding(
            file=str(document.path),
            line=document.line_of(at),
            pointer=at,
            rule=rule.id,
            sentence=text,
            remedy=remedy(rule, at, carried_out),
        )
        for rule, at, text in faults
    ]
    return sorted(findings, key=lambda finding: finding.line or 0)


def lint_files(files: Sequence[Path], profile: str) -> list[tuple[str, list[Finding]]]:
    """Examine files; without any, the two built-in documents and then the completed contract.

    Returns what was examined, each with its findings. Raises DocumentError for a file that cannot
    be used, ValueError for an unknown profile.
    """
    parts = sources(profile, files)
    overlays = [read_overlay(path) for path in parts.overlays]
    documents = [read_document(path) for path in parts.documents]
    findings = lint(documents, overlays)
    examined = [
        (f"{d.path}{'' if files else ', as given'}", [f for f in findings if f.file == str(d.path)])
        for d in documents
    ]
    if not files:
        name = f"the completed contract, profile {profile}"
        contract = Document(Path(name), "", load_contract(profile).document)
        examined.append((name, lint([contract])))
    return examined
