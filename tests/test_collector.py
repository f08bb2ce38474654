"""The collector is put back to what it was, whatever comes of the work."""

import gc
import subprocess
import sys

import pytest
from click.testing import CliRunner

from wafermock.cli import main
from wafermock.collector import nothing_collected


def test_it_rests_meanwhile() -> None:
    with nothing_collected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with nothing_collected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


MADE = """
import gc
from wafermock.collector import nothing_collected
gc.disable()  # so that no collection makes it older
with nothing_collected():
    made = [[]]
assert all(thing is not made for thing in gc.get_objects(generation=0))
assert gc.get_freeze_count() == 0
"""
FROZEN = """
import gc
from wafermock.collector import nothing_collected
gc.freeze()
frozen = gc.get_freeze_count()
with nothing_collected():
    pass
assert gc.get_freeze_count() == frozen > 0
"""


@pytest.mark.parametrize("code", [MADE, FROZEN], ids=["made", "frozen"])
def test_what_was_made_is_old_at_once_and_what_is_frozen_stays_so(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)  # the tests' own process is frozen


@pytest.mark.parametrize("option", ["--limits=rpm", "--script=/nowhere", "--spec=/nowhere"])
def test_a_start_that_fails_leaves_it_on(option: str) -> None:
    assert CliRunner().invoke(main, ["serve", "--port", "0", option]).exit_code == 2
    assert gc.isenabled()
