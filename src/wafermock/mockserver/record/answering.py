"""Answering in place of the upstream: what a script has an answer for need not be asked for."""

from msgspec.structs import replace

from wafermock.spec import Contract

from ..acting import Acting
from ..draws import Draws
from ..exchange import Request
from ..mock import Mock, Settings
from ..scope import split_scope
from ..script import Script, ScriptState
from ..wire import Plan, plan


class ScriptAnswers:
    """Answers what a script answers, by whichever rule, with the pace and the failures it says.

    A mock answers, so that words become what they become in `wafermock serve`. What the contract
    refuses, and what it would answer without a rule, is left to the upstream.
    """

    def __init__(self, script: Script, contract: Contract) -> None:
        # Strict about the script: for what no rule matches nothing is made up.
        settings = Settings(validate="off", strict_script=True)
        self._mock = Mock(contract, settings, ScriptState(script))

    def plan(self, asked: Request, version: tuple[int, int], *, keep_alive: bool) -> Plan | None:
        """Plan the answer to a request of an HTTP version; None: no rule answers it."""
        scope, path = split_scope(asked.path)
        answer = self._mock.answer(replace(asked, path=path), scope=scope)
        if answer.rule is None:
            return None
        acting = answer.acting or Acting()
        return plan(
            answer,
            http_version=version,
            method=asked.method,
            keep_alive=keep_alive,
            delivery=acting.delivery,
            failure=acting.failure,
            defects=acting.defects,
            draws=Draws("replay", asked.method, asked.path, asked.body, answer.rule),
        )
