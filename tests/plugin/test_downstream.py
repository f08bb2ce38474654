"""`examples/downstream`, a project that uses the plugin, in an environment of its own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "examples" / "downstream"
# Set where other versions and other plugins may be fetched.
WANTED = "WAFERMOCK_OTHER_PLUGINS"
# What is installed here and has nothing to do with that project.
QUIET = ("-p", "no:schemathesis", "-p", "no:faker", "-p", "no:cacheprovider")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Make a virtual environment that sees what is installed here, behind its own."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    folder = "Scripts" if os.name == "nt" else "bin"
    python = home / folder / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(subprocess.check_output([python, "-c", code], text=True).strip())
    # By addsitedir, so that what is installed here in editable form is seen too.
    here = sysconfig.get_path("purelib")
    (own / "here.pth").write_text(f"import site; site.addsitedir({here!r})\n", encoding="utf-8")
    return python


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy the project to where nothing of this one is near."""
    ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache")
    return Path(shutil.copytree(PROJECT, tmp_path / "trips", ignore=ignored))


def run(python: Path, project: Path, *options: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PYTHON"))}
    command = [str(python), "-m", "pytest", *QUIET, *options]
    done = subprocess.run(
        command, cwd=project, env=kept, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed(python: Path, *requirements: str) -> None:
    """Install into the environment, where that is wanted: it asks a package index."""
    if not os.environ.get(WANTED):
        pytest.skip(f"{WANTED}=1 lets pip fetch {', '.join(requirements)}")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    command = [*pip, "install", "--quiet", "--no-deps", "--retries", "0", *requirements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_sync_and_async_over_two_workers(python: Path, project: Path) -> None:
    pytest.importorskip("xdist")
    assert "19 passed" in run(python, project, "-n", "2")


@pytest.mark.parametrize(
    "requirements",
    [
        ("pytest-randomly", "pytest-aiohttp"),
        ("pytest==8.0.2", "pytest-asyncio==0.23.8", "pytest-randomly"),
    ],
    ids=["the newest", "pytest 8.0"],
)
def test_in_random_order_with_other_plugins(
    python: Path, project: Path, requirements: tuple[str, ...]
) -> None:
    installed(python, *requirements)
    if "pytest-asyncio==0.23.8" in requirements:  # which does not know this option yet
        settings = project / "pyproject.toml"
        lines = settings.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if "asyncio_default_fixture_loop_scope" not in line]
        settings.write_text("".join(kept), encoding="utf-8")
    shown = run(python, project, "-p", "randomly", "-n", "2")
    assert "19 passed" in shown
    assert "--randomly-seed=" in shown
