"""The script of a running mock, as the control interface shows and loads it."""

import os
import tempfile
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from wafermock.spec import DocumentError
from wafermock.spec.document import read_document

from ..mock import Mock
from .bench import RuleShown

# A reply that takes its body from a file of the machine that the server runs on.
_FILE = "file"


class LoadedScripts:
    """Scripts by way of the mock's ScriptState. A mock without one gets it with the first script.

    What is loaded stands in a folder of its own for as long as the server runs, so that it can be
    read again together with the files that the server was started with.
    """

    def __init__(self, mock: Mock) -> None:
        self._mock = mock
        self._last = 0
        # One is loaded at a time: rules are put before those that are there.
        self._loading = threading.Lock()

    @cached_property
    def _folder(self) -> "tempfile.TemporaryDirectory[str]":
        return tempfile.TemporaryDirectory(prefix="wafermock-scripts-")

    def close(self) -> None:
        """Remove what was loaded from the disk; the rules stay in memory."""
        if "_folder" in self.__dict__:
            self._folder.cleanup()

    def rules(self) -> list[RuleShown]:
        """List the rules in the order they are tried."""
        state = self._mock.script
        if state is None:
            return []
        answers = state.answers()
        return [
            RuleShown(rule.name, self._shown(rule.place), answers.get(rule.name, 0))
            for rule in state.script.rules
        ]

    def load(self, text: str, name: str, *, instead: bool) -> None:
        """Read a script and put its rules before the others, or in their place.

        Raises DocumentError, which calls the script by its `name`; nothing has changed then.
        """
        with self._loading:
            self._load(text, name, instead=instead)

    def _load(self, text: str, name: str, *, instead: bool) -> None:
        from ..script import Script, ScriptState

        self._last += 1
        path = Path(self._folder.name) / f"{name}-{self._last}.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            self._refuse_files(path)
            state = self._mock.script
            others = state.script.paths if state is not None and not instead else ()
            script = Script.load([path, *others], self._mock.contract)
        except DocumentError as error:
            path.unlink()
            raise DocumentError(
                self._shown(error.message),
                file=self._shown(error.file),
                line=error.line,
                pointer=error.pointer,
            ) from None
        if state is None:
            self._mock.script = ScriptState(script)
        else:
            state.script = script

    def reset(self, scope: str | None) -> None:
        """Begin all counts and scenarios anew: of a scope, or all."""
        if self._mock.script is not None:
            self._mock.script.reset(scope)

    def _shown(self, place: str) -> str:
        if "_folder" not in self.__dict__:
            return place
        return place.replace(f"{self._folder.name}{os.sep}", "")

    def _refuse_files(self, path: Path) -> None:
        """Whoever may control the server may not therefore read the files of its machine."""
        document = read_document(path)
        for at in _files(document.root.get("rules")):
            message = "a script that is loaded over the network takes no files; write a `body`"
            raise document.error(message, at)


def _files(rules: Any) -> Iterator[tuple[str | int, ...]]:
    for number, rule in enumerate(rules if isinstance(rules, list) else ()):
        if not isinstance(rule, dict):
            continue
        if isinstance(rule.get("reply"), dict) and _FILE in rule["reply"]:
            yield ("rules", number, "reply", _FILE)
        steps = rule.get("sequence")
        for step, reply in enumerate(steps if isinstance(steps, list) else ()):
            if isinstance(reply, dict) and _FILE in reply:
                yield ("rules", number, "sequence", step, _FILE)
