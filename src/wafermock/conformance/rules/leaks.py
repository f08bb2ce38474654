"""What an error gives away: how the server is built, or the client's key."""

import re
from collections.abc import Iterable, Iterator

from ..error_bodies import error_texts, shortened
from ..exchange import Exchange
from ..once import once
from ..rule import Bench, Breach, Found, RuleBook

BOOK = RuleBook("ERRORS")

_TRACE = re.compile(
    r"""Traceback\ \(most\ recent\ call\ last\)
    | File\ "[^"\n]{1,300}",\ line\ \d+
    | \bat\ (?:async\ |new\ )?[\w.$<>/]{1,200}\ ?(?:\[as\ \w+\]\ )?\([^()\s]{1,200}:\d+(?::\d+)?\)
    | \bgoroutine\ \d+\ \[
    | \bthread\ '[^'\n]{1,100}'\ panicked\ at
    | \bstack\ backtrace:
    | ^[ \t]{0,40}at\ [\w.`<>]{1,200}\([^)\n]{0,200}\)\ in\ """,
    re.VERBOSE | re.MULTILINE,
)
_PATH = re.compile(
    r"""(?<![\w/:.-])/(?:usr|home|srv|var|opt|etc|root|app|tmp|mnt|workspace|Users|private|proc)
        /[\w.@+-][\w.@+/-]{0,200}
    | (?<!\w)[A-Za-z]:\\[\w.][^\s"'<>|]{0,200}
    | \b(?:site-packages|node_modules)[/\\]
    | (?<![\w/.-])[\w./-]{1,200}\.(?:py|pyx|js|mjs|ts|go|rs|java|kt|rb|php|cc|cpp|cs):\d+
    | \bfile:///""",
    re.VERBOSE,
)


@once
def _sent_text(exchange: Exchange) -> str:
    """What the client itself said: to say it back gives nothing away."""
    sent = exchange.sent
    return f"{sent.target}\n{sent.body[:1_000_000].decode('utf-8', 'replace')}\n{exchange.asked!r}"


def _given_away(exchange: Exchange, pattern: re.Pattern[str]) -> Iterator[str]:
    for text in error_texts(exchange):
        for match in pattern.finditer(text):
            if match[0].strip() not in _sent_text(exchange):
                yield shortened(match[0], 120)
                return


def _tells_errors(exchange: Exchange) -> bool:
    return bool(error_texts(exchange))


@BOOK.rule(
    "ERR-NO-TRACE",
    "MUST",
    "No error tells a stack trace.",
    source="OWASP ASVS 5.0, 16.5.1; CWE-209",
    guards="Logs of clients, and pages that show the error, tell how the server is built.",
    applies=_tells_errors,
    needs="an answer that is an error",
)
def _no_trace(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for found in _given_away(exchange, _TRACE):
        yield Breach("no stack trace", f"it tells {found!r}", "body")


@BOOK.rule(
    "ERR-NO-PATH",
    "MUST",
    "No error tells a path of the server.",
    source="OWASP ASVS 5.0, 16.5.1; CWE-209",
    guards="Logs of clients, and pages that show the error, tell how the server is built.",
    applies=_tells_errors,
    needs="an answer that is an error",
)
def _no_path(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for found in _given_away(exchange, _PATH):
        yield Breach("no path of the server", f"it tells {found!r}", "body")


@BOOK.rule(
    "ERR-NO-SECRET",
    "MUST",
    "No error says the key back.",
    source="OWASP ASVS 5.0, 16.5.1; CWE-209",
    guards="The key stands in every log that the error goes to.",
    applies=lambda exchange: len(_key(exchange)) >= _LONG_ENOUGH and bool(error_texts(exchange)),
    needs="an error in answer to a request with a key of 8 characters or more",
)
def _no_secret(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    key = _key(exchange)
    if any(key in text for text in error_texts(exchange)):
        yield Breach("the key is not told", "the whole key stands in the error", "body")


# A shorter key may be any word.
_LONG_ENOUGH = 8


def _key(exchange: Exchange) -> str:
    return (exchange.sent.header("authorization") or "").partition(" ")[2].strip()
