"""The mocks that the proof asks, as commands of their own, and what is before one of them."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .asking import KEY
from .front import front
from .table import Mocks

OPTIONS = ("--models", "strict", "--api-key", KEY)
SLOWLY = ("--ttft", "50ms", "--tokens-per-second", "100")


@contextmanager
def mocks(serving: Any) -> Iterator[Mocks]:
    """Serve the mocks; `serving` is the fixture of that name."""
    with (
        serving(*OPTIONS) as plain,
        serving(*OPTIONS, *SLOWLY) as paced,
        front(plain.url) as before,
    ):
        yield Mocks(plain.url, paced.url, before)


def serving_of_tests() -> Any:
    """Return what the fixture `serving` returns, to who is no test."""
    path = Path(__file__).parents[1] / "conftest.py"
    spec = importlib.util.spec_from_file_location("conftest_of_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module._serving
