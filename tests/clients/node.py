"""Node, and the official SDKs for it, each installed once into a folder that is not tracked."""

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

VENV = Path(__file__).parents[2] / ".venv"


@dataclass(frozen=True)
class Package:
    """A package of npm, the folder that it is kept in, and the least Node that it runs on."""

    name: str
    version: str
    folder: str
    node: int


CEREBRAS = Package("@cerebras/cerebras_cloud_sdk", "1.91.0", "node-sdk-1.91.0", 18)
OPENAI = Package("openai", "7.59.0", "node-openai-7.59.0", 20)

# Bounds for a registry or a script that hangs, in seconds.
INSTALLING = 120
RUNNING = 60


class Unavailable(Exception):
    """Why there is no Node SDK here."""


def installed(package: Package = CEREBRAS) -> Path:
    """Return the folder `node_modules` with an SDK in it. Raises Unavailable."""
    cache = VENV / package.folder
    modules = cache / "node_modules"
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            raise Unavailable(f"no {command} on the PATH")
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    if int(told.strip().removeprefix("v").partition(".")[0] or 0) < package.node:
        raise Unavailable(f"{package.name} needs Node {package.node}, this is {told.strip()}")
    if modules.exists():
        return modules
    VENV.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=VENV) as folder:
        (Path(folder) / "package.json").write_text(json.dumps({"private": True}))
        quiet = ["--loglevel=error", "--no-audit", "--no-fund", "--no-package-lock"]
        once = ["--fetch-retries=0", f"--fetch-timeout={INSTALLING * 500}"]
        try:
            subprocess.run(
                ["npm", "install", *quiet, *once, f"{package.name}@{package.version}"],
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
        shutil.copytree(folder, cache, symlinks=True, dirs_exist_ok=True)
    return modules
