"""The page, and the headers that keep it to itself."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


@cache
def page() -> tuple[bytes, dict[str, str]]:
    """Return the page and its headers.

    The policy allows the one script and the one style that stand in the page, by their hashes, and
    requests to this server: nothing that a call carries can run, load or send anything, even if it
    were written into the page as markup, which `require-trusted-types-for` forbids the script.
    """
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in _INLINE.findall(text):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    policy = [
        "default-src 'none'",
        f"script-src {' '.join(hashes['script'])}",
        f"style-src {' '.join(hashes['style'])}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    headers = {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "; ".join(policy),
        "x-frame-options": "DENY",
    }
    return text.encode(), headers
