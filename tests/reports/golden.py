"""Golden files: what a format looks like, to be read by people when it changes.

`GOLDEN=write pytest tests/reports` writes them anew.
"""

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("golden")


def check(name: str, text: str) -> None:
    """Compare a text with a golden file."""
    file = FOLDER / name
    if os.environ.get("GOLDEN") == "write":
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    assert text == file.read_text(encoding="utf-8"), f"{name} differs: GOLDEN=write accepts it"
