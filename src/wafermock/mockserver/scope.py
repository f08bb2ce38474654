"""Scopes: a prefix of the path, so that parallel tests share a server and not its state."""

import re
from urllib.parse import unquote

_SCOPED = re.compile(r"/t/([^/]+)(?=/)")


def split_scope(path: str) -> tuple[str, str]:
    """Split `/t/NAME/v1/...` into the scope NAME and the path behind it; '' without a scope."""
    match = _SCOPED.match(path)
    return (unquote(match[1]), path[match.end() :]) if match else ("", path)
