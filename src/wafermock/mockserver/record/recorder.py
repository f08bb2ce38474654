"""The recorder: what was exchanged goes into a script, without secrets, in the order of starts."""

import asyncio
import re
from collections.abc import Callable, Sequence

from ..exchange import Request
from .bounded import Searcher, bounded
from .meaning import said
from .passing import Exchange
from .recording import Recording, Unreadable, without_secrets
from .redaction import Redactor, secrets_in_data, secrets_in_headers, secrets_of
from .rule import rule_of
from .script_file import ScriptFile


class Recorder:
    """Keeps exchanges. `say` is told of each, and of what could not be kept and why.

    `patterns` are secrets on top of the catalogue's. A secret that was seen in a request is known
    from then on, in whatever answer it turns up.
    """

    def __init__(
        self,
        file: ScriptFile,
        patterns: Sequence[re.Pattern[str]] = (),
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._file = file
        self._searcher = Searcher(patterns)
        self._redactor = Redactor(bounded(self._searcher))
        self._say = say
        self._started = 0
        self._lock = asyncio.Lock()
        self.kept = 0
        self.lost = 0

    def start(self) -> int:
        """Return the place of an exchange that begins now in the order of all."""
        self._started += 1
        return self._started

    def close(self) -> None:
        """Let go of what looked for secrets. Nothing is kept behind it."""
        self._searcher.close()

    def learn(self, request: Request) -> None:
        """Remember the secrets that a request carries."""
        self._redactor = self._redactor.knowing(
            secrets_of(request) | secrets_in_data(said(request))
        )

    def hear(self, exchange: Exchange, at: float, *, is_over: bool) -> None:
        """Wait for the end of it: only whole exchanges are kept."""

    async def keep(self, start: int, recording: Recording) -> None:
        """Write an exchange. Never raises: what cannot be kept is told of and counted as lost."""
        self._redactor = self._redactor.knowing(secrets_in_headers(recording.headers))
        async with self._lock:
            # Looking through a large body takes a while, in which others want to be passed on.
            line = await asyncio.to_thread(self._keep, start, recording, self._redactor)
        self._say(line)

    def pass_over(self, start: int, reason: str) -> None:
        """Tell that an exchange is not kept."""
        self.lost += 1
        self._say(f"not recorded: exchange {start}: {reason}")

    def _keep(self, start: int, recording: Recording, redactor: Redactor) -> str:
        number = self._file.last_number + start
        try:
            clean = without_secrets(recording, redactor)
            rule = rule_of(clean, redactor, number)
        except Unreadable as error:
            self.lost += 1
            return f"not recorded: exchange {start}: it could hold secrets: {error}"
        title = rule["name"]
        try:
            self._file.add(start, rule)
        except OSError as error:
            self.lost += 1
            return f"not recorded: {title}: {self._file.path}: {error.strerror or error}"
        self.kept += 1
        failure = rule["reply"].get("failure", {}).get("name")
        return f"recorded {title}: {failure or clean.status}"
