"""What an extra of the package brings, and the line to type where it is missing."""

from importlib.util import find_spec

from .contract_options import fail

# Packages that judging and reporting import beside those of the core.
CONFORMANCE = ("h2", "hypothesis", "rich", "schemathesis")


def needs(*packages: str) -> None:
    """End with one line where packages of the extra `conformance` are not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        fail(
            f"this command needs {' and '.join(missing)}: pip install 'wafermock[conformance]' "
            "(in a checkout: .venv/bin/pip install --editable '.[conformance]')"
        )
