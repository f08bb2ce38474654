"""How a run begins: somebody is there, a model is named, and not everything is refused."""

from wafermock.reports.visible import line
from wafermock.spec import Contract

from .client import Client
from .error_bodies import error_of, shortened
from .exchange import Exchange, Sent
from .planned import Subject, plan
from .secrets import Masking
from .wire import Silence, Unreachable

# How long is waited for the answers that a run cannot begin without, in seconds, and how often the
# list of models is asked for where the connection breaks.
BEGINNING = 20.0
TRIES = 3


class CannotCheck(Exception):
    """The run cannot begin; the message says what to do."""


async def reach(client: Client, subject: Subject) -> None:
    """Make sure that somebody is there. Raises CannotCheck."""
    headers = subject.headers
    if subject.api_key is not None:
        headers += (("Authorization", f"Bearer {subject.api_key}"),)
    try:
        await client.send(Sent("GET", "/v1/models", headers), BEGINNING)
    except Unreachable as unreachable:
        url = client.endpoint.url
        raise CannotCheck(f"{url} cannot be reached: {unreachable.reason}") from None
    except Silence:
        return  # somebody is there, and answers badly: that is for the rules


async def first_model(client: Client, contract: Contract, subject: Subject) -> str:
    """Ask the endpoint which models it has; take the first that the contract knows, else the first.

    Raises CannotCheck where there is none to be had.
    """
    url, exchange = client.endpoint.url, await _list_of_models(client, contract, subject)
    if exchange is None:
        came = "the contract has no list of models"
    elif exchange.received is None:
        came = Masking.of(subject).text(exchange.error)
    else:
        status = exchange.received.status
        if names := _names(exchange):
            return next((name for name in names if name in contract.models), names[0])
        came = f"GET /v1/models was answered with {status}"
        if status in (401, 403):
            raise CannotCheck(
                f"{url} refuses to list its models ({came}): is the key right (--api-key-env)?"
            )
        if status == 200:
            came += ", and no list of models"
    raise CannotCheck(f"{url} names no models ({came}): say which one to ask, as "
                      "--model gpt-oss-120b")  # fmt: skip


async def _list_of_models(client: Client, contract: Contract, subject: Subject) -> Exchange | None:
    """Ask for the list of models, again where the connection breaks; None: there is no such
    operation."""
    wanted = next((o for o in contract.operations if o.answer == "model.list"), None)
    if wanted is None:
        return None
    planned = plan(wanted, None, subject, campaign="models", kind="list of models")
    exchange = Exchange("0", planned.purpose, planned.sent, wanted)
    for _ in range(TRIES):
        try:
            return exchange.answered(await client.send(planned.sent, BEGINNING))
        except Silence as silence:
            exchange = exchange.answered(None, silence.reason)
    return exchange


def _names(exchange: Exchange) -> list[str]:
    """Return the ids that a list of models has, whatever else it is."""
    data = exchange.answer.data if exchange.accepted else None
    listed = data.get("data") if isinstance(data, dict) else None
    return [
        one["id"]
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and isinstance(one.get("id"), str)
    ]


def refusal(exchange: Exchange) -> str:
    """Say how a request was refused that somebody else may have taken: with another key, another
    model, at another path. Empty: it was not, or not so."""
    received = exchange.received
    if received is None or received.status not in (401, 403, 404):
        return ""
    message = error_of(exchange).message
    return line(shortened(f"{received.status}: {message}" if message else str(received.status)))
