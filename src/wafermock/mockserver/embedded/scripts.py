"""Scripts for a space: from a file, a folder, or a text."""

from __future__ import annotations

from pathlib import Path

from wafermock.spec import Contract, DocumentError
from wafermock.spec.document import Document

from ..script import Rule, Script
from ..script.catalogues import Catalogues
from ..script.reading import read_rules

# How messages call a script that came as a text.
_TEXT = Path("<script>")


def read_script(script: Path | str, contract: Contract) -> tuple[Rule, ...]:
    """Read the rules of a script. A text with more than one line, or with a brace at its
    beginning, is a script itself. Raises DocumentError (file, line, pointer)."""
    if isinstance(script, str) and ("\n" in script.strip() or script.lstrip().startswith("{")):
        return _of_text(script, contract)
    return Script.load(Path(script), contract).rules


def _of_text(text: str, contract: Contract) -> tuple[Rule, ...]:
    from wafermock.spec.yaml_data import read_yaml

    root = read_yaml(text, _TEXT)
    if not isinstance(root, dict):
        raise DocumentError("a mapping is wanted here", file=_TEXT, line=1, pointer=())
    rules, _, wrong = read_rules(Document(_TEXT, text, root), Catalogues(contract))
    if wrong:
        raise wrong[0]
    return tuple(rules)
