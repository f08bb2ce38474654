"""Node, and the official SDK for it, installed once into a folder that is not tracked."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "1.91.0"
PACKAGE = "@cerebras/cerebras_cloud_sdk"

CACHE = Path(__file__).parents[2] / ".venv" / f"node-sdk-{VERSION}"

# Bounds for a registry or a script that hangs, in seconds.
INSTALLING = 120
RUNNING = 60


class Unavailable(Exception):
    """Why there is no Node SDK here."""


def installed() -> Path:
    """Return the folder `node_modules` with the SDK in it. Raises Unavailable."""
    modules = CACHE / "node_modules"
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            raise Unavailable(f"no {command} on the PATH")
    if modules.exists():
        return modules
    CACHE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
        (Path(folder) / "package.json").write_text(json.dumps({"private": True}))
        quiet = ["--loglevel=error", "--no-audit", "--no-fund", "--no-package-lock"]
        once = ["--fetch-retries=0", f"--fetch-timeout={INSTALLING * 500}"]
        try:
            subprocess.run(
                ["npm", "install", *quiet, *once, f"{PACKAGE}@{VERSION}"],
                cwd=folder,
                check=True,
                capture_output=True,
                timeout=INSTALLING,
            )
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"npm took longer than {INSTALLING} s") from error
        except subprocess.CalledProcessError as error:
            told = error.stderr.decode(errors="replace").strip().splitlines()
            raise Unavailable(f"npm install failed: {told[0] if told else '?'}") from error
        shutil.copytree(folder, CACHE, symlinks=True, dirs_exist_ok=True)
    return modules
