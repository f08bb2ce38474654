"""The script that recorded rules go into: a valid document after every one of them.

A rule that comes last is appended by one write. One that started before others which are in the
file already is put in its place: the file is written anew beside itself and renamed. So whoever
reads the file, also after the recorder was killed, finds whole rules in the order of their start.
"""

import bisect
import errno
import os
import re
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from wafermock.spec.document import DocumentError, read_document

from .rule import NEWEST, OVERTAKEN, Rule, written

_HEAD = "description: Recorded traffic.\nrules:\n"


class _Newest(Struct, frozen=True):
    """The rule that answers a request for ever: its start, and where it is made to answer once.

    `mark` is the place of the line that is to be overwritten, or (not `is_marked`) where one is
    missing, in bytes.
    """

    start: int
    mark: int
    is_marked: bool


class ScriptFile:
    """A script in YAML that rules are added to. What was in it before stays as it is.

    Raises DocumentError when it is opened: the file is no script, is one that cannot be appended
    to, or cannot be written. Adding raises OSError: the disk is full, say; the file is whole then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last_number = 0  # of the names `#N …` that are taken
        self._starts: list[int] = []  # of the rules added by this object: their place in order
        self._offsets: list[int] = []  # and in the file, in bytes
        self._newest: dict[str, _Newest] = {}  # rule for a request, by the request's digest
        self._open()

    def _open(self) -> None:
        existing = self.path.exists()
        if existing:
            root = read_document(self.path).root
            rules = root.get("rules")
            if not isinstance(rules, list):
                raise DocumentError(
                    "there is no list `rules` in it, so it is no script; name another file",
                    file=self.path, line=1,
                )  # fmt: skip
            names = [str(rule.get("name")) for rule in rules if isinstance(rule, dict)]
            numbers = [int(match[1]) for match in map(_NUMBERED.match, names) if match]
            self.last_number = max(numbers, default=0)
            self._size = self.path.stat().st_size
            self._check_appendable(rules)
            self._newest = _newest_rules(self.path.read_bytes())
        else:
            self._size = 0
        try:
            with self._beside().open("wb"):
                pass
            self._beside().unlink()
            if existing:
                with self.path.open("ab"):
                    pass
        except OSError as error:
            raise DocumentError(f"cannot be written: {error.strerror}", file=self.path) from None

    def _check_appendable(self, rules: list[Any]) -> None:
        """See whether a rule that is put behind the file's end is read as the last of its rules."""
        from wafermock.spec.yaml_data import read_yaml

        text = self.path.read_text(encoding="utf-8-sig")
        probe = {"name": "a rule"}
        try:
            root = read_yaml(f"{text}{_line_end(text)}- name: a rule\n", self.path)
            as_meant = isinstance(root, dict) and root.get("rules") == [*rules, probe]
        except DocumentError:
            as_meant = False
        if not as_meant:
            raise DocumentError(
                "rules cannot be appended to it: `rules` must be the last key of a YAML file, its "
                "rules one below the other, each with `- ` at the line's beginning; name another "
                "file",
                file=self.path,
                pointer=("rules",),
            )

    # ------------------------------------------------------------------ adding

    def add(self, start: int, rule: Rule) -> None:
        """Add a rule. `start` is its place in the order of starts; it is not to be used twice.

        Of several rules for the same request the last one answers for ever, the others once.
        """
        digest = rule["match"]["recorded"]
        before = self._newest.get(digest)
        overtaken = before is not None and before.start > start
        data = written({**rule, "times": 1} if overtaken else rule).encode()
        self._put(start, data)
        if overtaken:
            return
        if before is not None:  # its place again: the new rule may have moved it
            self._overtake(self._newest[digest])
        mark = self._offsets[bisect.bisect_left(self._starts, start)] + data.index(NEWEST.encode())
        self._newest[digest] = _Newest(start, mark, is_marked=True)

    def _put(self, start: int, data: bytes) -> None:
        at = bisect.bisect(self._starts, start)
        if at == len(self._starts) and self._size:
            offset = self._append(data)
        else:
            offset = self._insert(self._offsets[at] if at < len(self._offsets) else None, data)
        self._starts.insert(at, start)
        self._offsets.insert(at, offset)

    def _overtake(self, rule: "_Newest") -> None:
        """Let a rule answer once from now on."""
        if rule.is_marked:
            with self.path.open("r+b", buffering=0) as file:
                file.seek(rule.mark)
                file.write(OVERTAKEN.encode())
        else:
            self._insert(rule.mark, OVERTAKEN.encode())

    def _append(self, data: bytes) -> int:
        with self.path.open("r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size != self._size:
                raise OSError(errno.EIO, "somebody else has changed it meanwhile")
            file.seek(size - 1)
            gap = b"" if file.read(1) == b"\n" else b"\n"
            if file.write(gap + data) != len(gap) + len(data):
                file.truncate(size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size = size + len(gap) + len(data)
        return size + len(gap)

    def _insert(self, offset: int | None, data: bytes) -> int:
        """Write the file anew with data at an offset (None: at its end)."""
        old = self.path.read_bytes() if self._size else _HEAD.encode()
        at = len(old) if offset is None else offset
        beside = self._beside()
        try:
            with beside.open("wb") as file:
                file.write(old[:at])
                file.write(data)
                file.write(old[at:])
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
        self._size = len(old) + len(data)
        self._offsets = [o + len(data) if o >= at else o for o in self._offsets]
        for digest, rule in self._newest.items():
            if rule.mark >= at:
                self._newest[digest] = replace(rule, mark=rule.mark + len(data))
        return at

    def _beside(self) -> Path:
        return self.path.with_name(f".{self.path.name}.part")


def _line_end(text: str) -> str:
    return "" if not text or text.endswith("\n") else "\n"


_NUMBERED = re.compile("#([0-9]{1,15}) ")
_RECORDED = re.compile(
    rb'^ +recorded: ["\']?([0-9a-f]{32})["\']? *\r?\n(?P<next>[^\r\n]*\r?\n?)', re.MULTILINE
)


def _newest_rules(data: bytes) -> dict[str, _Newest]:
    """Find the recorded rules of a script that answer for ever, by the digest of their request."""
    found = {}
    for match in _RECORDED.finditer(data):
        if not match["next"].lstrip().startswith(b"times:"):
            is_marked = match["next"] == NEWEST.encode()
            found[match[1].decode()] = _Newest(-1, match.start("next"), is_marked)
    return found
