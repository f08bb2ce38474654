"""Scripts for a space: from a file, a folder, or a text."""

from __future__ import annotations

from pathlib import Path

from wafermock.spec import Contract
from wafermock.spec.document import parse_document

from ..script import Rule, Script, rules_of

# How messages call a script that came as a text.
_TEXT = Path("<script>")


def read_script(script: Path | str, contract: Contract) -> tuple[Rule, ...]:
    """Read the rules of a script. A text with more than one line, or with a brace at its
    beginning, is a script itself. Raises DocumentError (file, line, pointer)."""
    if isinstance(script, str) and ("\n" in script.strip() or script.lstrip().startswith("{")):
        return rules_of(parse_document(script, _TEXT), contract)
    return Script.load(Path(script), contract).rules
