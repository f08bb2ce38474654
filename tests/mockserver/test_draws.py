"""Draws: the same in every process and Python version, so the values are pinned here."""

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.draws import Draws, canonical, digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)

PINNED = (
    "aee077847abb1a8cd827b719f99d56dc c98c1c6fab48ea3d0b8404ff24380a98 "
    "0.671115790602636 67 1.0650740563460805 a ae4060b1a 06a46979-7139-4140-81b2-d9c899c459b6"
)
PROGRAM = """
from wafermock.mockserver.draws import Draws, digest
draws = Draws("pinned", 1)
print(digest({"a": 1, "b": [1.0, None]}).hex(), digest(b"x", 3, "\\u00e9").hex(),
      draws.fraction(), draws.below(100), draws.between(1, 2), draws.pick("abcdef"),
      draws.hexadecimal(9), draws.uuid4())
"""


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_pinned_in_every_process(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == PINNED


def _shuffled(value: Any) -> Any:
    """The same JSON, written otherwise: keys backwards, whole numbers as floats."""
    if isinstance(value, dict):
        return {key: _shuffled(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [_shuffled(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return float(value)
    return value


@given(JSON)
def test_a_digest_stands_for_the_meaning(value: Any) -> None:
    assert digest(_shuffled(value)) == digest(value)


@given(JSON, JSON)
def test_other_values_have_other_digests(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) == (canonical(one) == canonical(other))


def test_parts_do_not_run_into_each_other() -> None:
    assert len({digest("ab"), digest("a", "b"), digest(["a", "b"]), digest("b", "a")}) == 4
    assert digest(True) != digest(1)
    assert digest("1") != digest(1)
    assert digest(None) != digest("null")


@given(st.integers(), st.integers(1, 10**6), st.integers(1, 64))
def test_draws_keep_their_bounds(seed: int, limit: int, digits: int) -> None:
    draws = Draws(seed)
    assert 0 <= draws.fraction() < 1
    assert 0 <= draws.below(limit) < limit
    assert -limit <= draws.between(-limit, limit) <= limit
    assert 0 <= int(draws.hexadecimal(digits), 16) < 16**digits
    assert len(draws.hexadecimal(digits)) == digits
    assert draws.pick(range(limit)) in range(limit)


@given(st.text())
def test_uuids_are_of_version_4(seed: str) -> None:
    import uuid

    drawn = uuid.UUID(Draws(seed).uuid4())
    assert (drawn.version, drawn.variant) == (4, uuid.RFC_4122)
