"""The collector is put back to what it was, whatever comes of the work."""

import gc

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


@pytest.mark.parametrize("option", ["--limits=rpm", "--script=/nowhere", "--spec=/nowhere"])
def test_a_start_that_fails_leaves_it_on(option: str) -> None:
    assert CliRunner().invoke(main, ["serve", "--port", "0", option]).exit_code == 2
    assert gc.isenabled()
