"""Requests that Schemathesis generates from the contract, as plans for the judge.

Schemathesis makes the bodies; they are sent and judged like any others. So a stream is read to its
end (Schemathesis reads 20 events), each broken rule is told for itself, and MessagePack, gzip and
chunks are ours. It reads the completed, normalised document.

    plans = schemathesis_plans(scene, subject)
    smallest = shrunk(plans, judged, seed=0, database=folder)
"""

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wafermock.spec import Contract

from .campaigns.telling import REFUSED
from .exchange import Meant
from .generation.mending import mended
from .generation.scene import Scene
from .planned import Planned, Subject, plan

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

CAMPAIGN = "schemathesis"

# Properties whose value is how much is made, and the most that is asked for.
COSTLY = (
    "n", "best_of", "max_tokens", "max_completion_tokens", "min_tokens", "min_completion_tokens",
)  # fmt: skip
MOST = 4


def schemathesis_plans(
    scene: Scene, subject: Subject, *, invalid: bool = False
) -> "SearchStrategy[Planned]":
    """Return a strategy of requests by Schemathesis, valid ones or such as break the schema.

    The model is the subject's and answers are short, as far as that breaks nothing else. What a
    request is meant to be is judged by the contract. Raises ImportError without Schemathesis.
    """
    from schemathesis import GenerationMode

    operation = _document(scene.contract)[scene.operation.path][scene.operation.method.upper()]
    mode = GenerationMode.NEGATIVE if invalid else GenerationMode.POSITIVE
    cases: SearchStrategy[Any] = operation.as_strategy(generation_mode=mode)
    plans: SearchStrategy[Any] = cases.map(
        lambda case: _planned(scene, subject, case.body, invalid=invalid)
    )
    return plans.filter(lambda planned: planned is not None)


@lru_cache(maxsize=4)
def _document(contract: Contract) -> Any:
    """Read a contract's document, which costs a moment."""
    import schemathesis

    return schemathesis.openapi.from_dict(contract.document)


def _planned(scene: Scene, subject: Subject, body: Any, *, invalid: bool) -> Planned | None:
    """Plan a body; None for one that is not what was asked for."""
    if isinstance(body, bytes):
        return _bytes(scene, subject, body) if invalid else None
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError):
        return None  # no JSON: Schemathesis's mark for no body at all
    body = _likely(scene, body)
    if scene.schema.is_valid(body):
        body = mended(scene, body, scene.required) if isinstance(body, dict) else body
        if invalid or body is None:
            return None
        return _plan(scene, subject, body, "valid", "valid")
    if not invalid:
        return None
    violation = scene.schema.violations(body)[0]
    where = ".".join(map(str, violation.location)) or "the body"
    return _plan(scene, subject, body, "invalid", f"breaks {violation.keyword} at {where}")


def _likely(scene: Scene, body: Any) -> Any:
    """Pin the model, and bound what is written, where the body has a place for it."""
    if not isinstance(body, dict):
        return body
    # What a schema does not bound a server does: a million choices are refused for what they cost.
    costly = {
        name for name in COSTLY if isinstance(body.get(name), int | float) and body[name] > MOST
    }
    body = {name: MOST if name in costly else value for name, value in body.items()}
    pinned = {"model": scene.model} if isinstance(body.get("model"), str) else {}
    bounded = {}
    if scene.limit and scene.limit not in body:
        bounded[scene.limit] = scene.least[scene.limit]
    return {**body, **pinned, **bounded}


def _bytes(scene: Scene, subject: Subject, body: bytes) -> Planned | None:
    try:
        json.loads(body)
    except ValueError:
        return _plan(scene, subject, None, "broken", "no JSON", body)
    return None


def _plan(
    scene: Scene,
    subject: Subject,
    asked: Any,
    meant: Meant,
    kind: str,
    body: bytes | None = None,
) -> Planned:
    valid = meant == "valid"
    if asked is None and body is None:
        body = b"null"
    return plan(
        scene.operation,
        asked,
        subject,
        campaign=CAMPAIGN,
        kind=kind,
        meant=meant,
        statuses=() if valid else REFUSED,
        path_values=scene.path_values,
        body=body,
        tokens=scene.tokens(asked if valid else scene.least),
        needs=scene.needs(asked) if valid else (),
        # A schema says less than a server wants: no messages at all are valid by it, say.
        facts={"fault": "JSON"} if meant == "broken" else {"unlikely": True} if valid else {},
    )
