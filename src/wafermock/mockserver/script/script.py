"""A script: the rules of some files, in order, and whether the files have changed since.

Rules can also be given to it that stand in no file: they come first, and stay when files are read
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wafermock.spec import Contract, DocumentError, load_contract
from wafermock.spec.document import Document, read_document

from .rule import Rule

# What is a script among the files of a folder. Material of scripts stands in folders below it.
SUFFIXES = (".yaml", ".yml", ".json")

# What tells that a file is another: its time in nanoseconds, its size; None where there is none.
Stamp = tuple[int, int] | None

# What to do about more faults than the one that is told: of files, which a command can look at.
_LISTED = ": `wafermock script check` lists them"


class Script(Struct, frozen=True):
    """Rules, as their files had them when they were read.

    The first of them are `given`, which stand in no file. `problem` is what was wrong with the
    files when they were last read again; the rules are then those from before.
    """

    rules: tuple[Rule, ...] = ()
    paths: tuple[Path, ...] = ()
    given: tuple[Rule, ...] = ()
    contract: Contract | None = None
    stamps: dict[Path, Stamp] = {}
    problem: DocumentError | None = None

    @classmethod
    def load(
        cls, paths: Iterable[Path | str] | Path | str, contract: Contract | None = None
    ) -> Script:
        """Read scripts from files and folders, in the order given, a folder's files by name.

        `contract` knows operations and errors (default: the built-in one). Raises DocumentError
        (file, line, pointer) for the first thing that cannot be used.
        """
        listed = [paths] if isinstance(paths, Path | str) else paths
        script, wrong = _read(tuple(map(Path, listed)), contract or load_contract())
        if wrong:
            raise _first(wrong, _LISTED)
        return script

    def with_rules(self, rules: tuple[Rule, ...], *, instead: bool = False) -> Script:
        """Return the script with rules that stand in no file: before the others, or in place of
        them all, the files' as well.

        Raises DocumentError for one that is called as another is.
        """
        others = Script(contract=self.contract) if instead else self
        wrong = _same_names([*others.rules, *rules])
        if wrong:
            raise wrong[0]
        return replace(others, rules=(*rules, *others.rules), given=(*rules, *others.given))

    def changed(self) -> bool:
        """Say whether a file is another one than when it was read, is new, or is gone.

        Looks at times and sizes, which costs a look-up a file.
        """
        watched = {*_files(self.paths), *self.stamps}
        return any(_stamp(path) != self.stamps.get(path) for path in watched)

    def reload(self) -> Script:
        """Read the files again. Where one is broken, the rules stay, and `problem` says what is.

        So do in any case those that are `given`. Never raises for what a file says.
        """
        script, wrong = _read(self.paths, self.contract or load_contract(), self.given)
        if not wrong:
            return script
        return replace(self, stamps=script.stamps, problem=_first(wrong, _LISTED))


def rules_of(document: Document, contract: Contract) -> tuple[Rule, ...]:
    """Return the rules of a document that is no file.

    Raises DocumentError for the first thing in it that cannot be used.
    """
    from .catalogues import Catalogues
    from .reading import read_rules

    rules, _, wrong = read_rules(document, Catalogues(contract))
    wrong += _same_names(rules)
    if wrong:
        raise _first(wrong)
    return tuple(rules)


def _first(wrong: Sequence[DocumentError], advice: str = "") -> DocumentError:
    """Return the first thing that is wrong; it says how many more there are."""
    first, others = wrong[0], len(wrong) - 1
    if not others:
        return first
    more = f"{others} more {'is' if others == 1 else 'are'} wrong{advice}"
    return DocumentError(
        f"{first.message} ({more})", file=first.file, line=first.line, pointer=first.pointer
    )


def problems(
    paths: Iterable[Path | str], contract: Contract | None = None
) -> tuple[Script, list[DocumentError]]:
    """Read scripts; return the rules that can be used, and all that is wrong, file by file."""
    return _read(tuple(map(Path, paths)), contract or load_contract())


def _read(
    paths: tuple[Path, ...], contract: Contract, given: tuple[Rule, ...] = ()
) -> tuple[Script, list[DocumentError]]:
    # What reads scripts is large, and most mocks have none.
    from .catalogues import Catalogues
    from .reading import read_rules

    catalogues = Catalogues(contract)
    rules: list[Rule] = list(given)
    wrong: list[DocumentError] = []
    stamps: dict[Path, Stamp] = {}
    for file in _files(paths):
        stamps[file] = _stamp(file)  # before it is read: what changes meanwhile has changed since
        try:
            document = read_document(file)
        except DocumentError as error:
            wrong.append(error)
            continue
        found, material, faults = read_rules(document, catalogues)
        rules += found
        wrong += faults
        stamps |= {path: _stamp(path) for path in material}
    wrong += _same_names(rules)
    return Script(tuple(rules), paths, given, contract, stamps), wrong


def _files(paths: Sequence[Path]) -> list[Path]:
    """List the files of scripts; a folder stands for the files in it."""
    files: list[Path] = []
    for path in paths:
        try:
            inside = sorted(path.iterdir()) if path.is_dir() else [path]
        except OSError:
            inside = [path]  # reading it will say what is wrong
        if path.is_dir():
            inside = [f for f in inside if f.suffix.lower() in SUFFIXES and f.name[0] != "."]
        files += inside
    return list(dict.fromkeys(files))


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def _same_names(rules: Sequence[Rule]) -> list[DocumentError]:
    first: dict[str, Rule] = {}
    wrong = []
    for rule in rules:
        other = first.setdefault(rule.name, rule)
        if other is not rule:
            message = f"the rule {rule.name!r} stands at {other.place} already; name it otherwise"
            wrong.append(DocumentError(message, file=rule.file, line=rule.line))
    return wrong
