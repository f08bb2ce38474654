"""The script of a running mock, as the control interface shows and loads it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wafermock.spec.document import Document, is_json, parse_document

from ..mock import Mock
from .bench import RuleShown

# A reply that takes its body from a file of the machine that the server runs on.
_FILE = "file"

# The longest script in YAML that is read for the network, in characters. The server answers
# others meanwhile, but YAML takes some seconds a megabyte, and ten times as long as JSON.
MOST_YAML = 1024 * 1024


class TooLong(ValueError):
    """A script in YAML that is over the bound."""


class LoadedScripts:
    """Scripts by way of the mock's ScriptState. A mock without one gets it with the first script.

    What is loaded stays, and is tried first, when the files that the server was started with are
    read again.
    """

    def __init__(self, mock: Mock) -> None:
        self._mock = mock
        self._last = 0
        # One is loaded at a time: rules are put before those that are there.
        self._loading = threading.Lock()

    def rules(self) -> list[RuleShown]:
        """List the rules in the order they are tried."""
        state = self._mock.script
        if state is None:
            return []
        answers = state.answers()
        return [
            RuleShown(rule.name, rule.place, answers.get(rule.name, 0))
            for rule in state.script.rules
        ]

    def load(self, text: str, name: str, *, instead: bool) -> None:
        """Read a script and put its rules before the others, or in their place.

        Raises DocumentError, which calls the script by its `name`, and TooLong; nothing has
        changed then.
        """
        from ..script import Script, ScriptState, rules_of

        if len(text) > MOST_YAML and not is_json(text):
            raise TooLong(
                f"a script in YAML is at most {MOST_YAML} characters long, not {len(text)}; "
                "write it as JSON, which may be as long as --max-body, or start the server with it"
            )
        with self._loading:
            self._last += 1
            document = parse_document(text, Path(f"{name}-{self._last}.yaml"))
            _refuse_files(document)
            rules = rules_of(document, self._mock.contract)
            if self._mock.script is None:
                self._mock.script = ScriptState(Script(contract=self._mock.contract))
            self._mock.script.put(rules, instead=instead)

    def reset(self, scope: str | None) -> None:
        """Begin all counts and scenarios anew: of a scope, or all."""
        if self._mock.script is not None:
            self._mock.script.reset(scope)


def _refuse_files(document: Document) -> None:
    """Whoever may control the server may not therefore read the files of its machine."""
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
