"""What the plugin costs those who have it installed and do not use it."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "aiohttp", "aiohttp.web_app", "asyncio", "click", "faker", "hypothesis", "jinja2",
    "jsonschema_rs", "msgspec", "yaml",
}  # fmt: skip

# Of our own: what a test can do without that gets an answer and passes.
LATE = (
    "control.held", "control.masking", "control.reading", "embedded.held", "embedded.pieces",
    "embedded.report", "embedded.scripts", "generic", "instances", "robustness",
    "script.catalogues", "script.reading", "script.schema", "script.whole", "wire",
)  # fmt: skip

REPORT = f"""
import sys

def pytest_unconfigure():
    ours = {{name for name in sys.modules if name.partition(".")[0] == "wafermock"}}
    print("LOADED", sorted(ours | ({HEAVY} & set(sys.modules))))
"""


def loaded_by(folder: Path, test: str) -> str:
    """Run a test with no plugin but this one; return what of ours, or heavy, was imported."""
    (folder / "conftest.py").write_text(REPORT)
    (folder / "test_it.py").write_text(test)
    options = ["-q", "-s", "-p", "wafermock", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_unused_it_imports_nothing_heavy(tmp_path: Path) -> None:
    shown = loaded_by(tmp_path, "def test_it(): pass")
    parts = ["conformance", "guard", "live", "plugin", "robustness"]
    assert f"LOADED {['wafermock', *(f'wafermock.pytest_{part}' for part in parts)]}" in shown


def test_what_is_not_used_is_not_imported(tmp_path: Path) -> None:
    """A test with the fixture needs the server; nothing of Faker, Hypothesis, Jinja or click, no
    applications and routes of aiohttp's, and of our own nothing that it does not ask for."""
    test = """
from urllib.request import Request, urlopen

def test_it(wafermock):
    wafermock.on().replies("x")
    body = b'{"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Hello!"}]}'
    headers = {"Authorization": "Bearer any", "Content-Type": "application/json"}
    assert b'"x"' in urlopen(Request(f"{wafermock.url}/v1/chat/completions", body, headers)).read()
    wafermock.assert_called(times=1, model="gpt-oss-120b")
"""
    shown = loaded_by(tmp_path, test)
    assert "'aiohttp'" in shown
    for name in ("aiohttp.web_app", "click", "faker", "hypothesis", "jinja2"):
        assert f"'{name}'" not in shown
    for name in LATE:
        assert f"'wafermock.mockserver.{name}'" not in shown


def test_the_server_is_imported_past_the_hook_that_rewrites_assertions(tmp_path: Path) -> None:
    """It is in its place again afterwards, for what a test imports later."""
    test = """
import sys

def test_it(pytestconfig, request):
    hook = pytestconfig.pluginmanager.rewrite_hook
    before = list(sys.meta_path)
    assert hook in before
    request.getfixturevalue("wafermock")
    assert sys.meta_path == before
    assert sys.modules["wafermock.pytest_plugin"].__spec__.loader is hook
    assert sys.modules["wafermock.mockserver.server"].__spec__.loader is not hook
"""
    loaded_by(tmp_path, test)


@pytest.mark.parametrize("name", LATE)
def test_what_comes_late_is_there(name: str) -> None:
    assert importlib.util.find_spec(f"wafermock.mockserver.{name}")


def test_public_names_come_when_they_are_asked_for() -> None:
    code = (
        "import sys, wafermock; print(len([n for n in sys.modules if n.startswith('wafermock')]))"
    )
    shown = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)
    assert shown.strip() == "1"


def test_every_public_name_is_there() -> None:
    import wafermock

    assert {name: getattr(wafermock, name) is not None for name in wafermock.__all__} == (
        dict.fromkeys(wafermock.__all__, True)
    )
    assert set(wafermock.__all__) <= set(dir(wafermock))
    with pytest.raises(AttributeError, match="no attribute 'MockSever'"):
        _ = wafermock.MockSever
