"""What is known of a request by its head alone: what acts before the body is read.

A client that sends `Expect: 100-continue` waits for leave to send the body, and a bound on bodies
holds before they are read. Header and options are known by then; of a script only such rules as
ask nothing of the body, and of what is armed, only what is armed for any model.
"""

from typing import TYPE_CHECKING

from .acting import NOTHING, Acting, Choices, Early, armed_acting, is_early
from .call import Call
from .exchange import Request
from .record.replay import is_recorded
from .script import Subject
from .wire import Chosen, happening

if TYPE_CHECKING:
    from .control.armed import Arming
    from .mock import Mock

# The conditions of a rule that are decided by a head.
_OF_HEADS = ("operation", "scope", "api_key", "header")


def settle(
    mock: "Mock",
    head: Request,
    scope: str,
    chosen: tuple[Choices, Choices],
    arming: "Arming | None",
    identity: bytes,
    position: int,
) -> Early:
    """Say what acts before the body of a request is read.

    `chosen` is what the request's header and the server's options choose, `arming` what was used
    up for it, `identity` and `position` decide on rates.
    """
    by_header, by_option = (choices.acting(identity, position) for choices in chosen)
    first = (armed_acting(arming) if arming else NOTHING).before(by_header)
    scripted = Acting(defects=_scripted(mock, head, scope, identity)) if mock.script else NOTHING
    acting = first.before(scripted).before(by_option)
    return Early(tuple(filter(is_early, acting.defects)), arming)


def _scripted(mock: "Mock", head: Request, scope: str, identity: bytes) -> tuple[Chosen, ...]:
    """Return the defects of the rule that will answer, where that is known already."""
    state, route = mock.script, mock.contract.route(head.method, head.path)
    if state is None or route is None:
        return ()
    call = Call(route.operation, {}, route.path_values, mock.settings.seed, "")
    subject = Subject(head, call, scope)
    # What was recorded is looked for first.
    for rule in sorted(state.script.rules, key=lambda rule: not is_recorded(rule)):
        conditions = rule.match.conditions
        of_head = [c for c in conditions if c.field.partition(".")[0] in _OF_HEADS]
        if any(condition.difference(subject) for condition in of_head):
            continue
        hit = state.hits(rule, scope) + 1
        step = rule.step(hit)
        if step is None:
            continue  # it has no answer left
        if len(of_head) < len(conditions) or rule.after or rule.scenario:
            return ()  # the body decides, or what was counted
        return happening(rule.steps[step].reply.extras.defect, identity, hit)
    return ()
