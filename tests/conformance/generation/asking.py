"""Contracts, and the mock in strict mode, asked what campaigns plan."""

from functools import cache

from wafermock.conformance.planned import Planned, Subject
from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.mock import Mock, Settings
from wafermock.spec import Contract, load_contract

PROFILES = ("documented", "observed")
# Models that differ in what they can: all, pictures, less reasoning.
MODELS = ("gpt-oss-120b", "gemma-4-31b", "zai-glm-4.7")
SUBJECT = Subject(MODELS[0], "a-key")


@cache
def contract(profile: str = "documented") -> Contract:
    return load_contract(profile)


@cache
def _mock(profile: str) -> Mock:
    return Mock(contract(profile), Settings(models="strict"))


def answered(planned: Planned, profile: str = "documented") -> Answer:
    """Ask the mock. Chunks are not seen here: they are the same body."""
    headers: dict[str, str] = {}
    for name, value in planned.sent.headers:
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    sent = planned.sent
    return _mock(profile).answer(Request(sent.method, sent.target, "", headers, sent.body))


def surprise(planned: Planned, profile: str = "documented") -> str:
    """Say how the mock's answer is not what the plan says; empty when it is."""
    answer = answered(planned, profile)
    purpose = planned.purpose
    right = (200,) if purpose.meant == "valid" else purpose.statuses
    if answer.status in right:
        return ""
    told = answer.body[:200].decode("utf-8", "replace")
    return f"{purpose.kind} at {purpose.location}: {answer.status}, not {right}: {told}"
