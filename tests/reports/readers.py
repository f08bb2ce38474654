"""What was written, read back by parsers that are not ours. Each raises where it is not well."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import html5lib
from jsonschema import Draft4Validator
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from markdown_it.token import Token

# The official schema of SARIF 2.1.0 (revision rtm.5), as Microsoft's @microsoft/jest-sarif carries
# it under the MIT licence.
SARIF = Path(__file__).with_name("sarif-2.1.0-rtm.5.json")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@cache
def _sarif_schema() -> Draft4Validator:
    return Draft4Validator(json.loads(SARIF.read_text(encoding="utf-8")))


def read_sarif(text: str) -> dict[str, Any]:
    """The one run of a SARIF log that is valid by the schema."""
    text.encode("utf-8")
    log = json.loads(text)
    faults = [f"{list(fault.path)}: {fault.message}" for fault in _sarif_schema().iter_errors(log)]
    assert not faults, faults
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def read_junit(text: str) -> JUnitXml:
    return JUnitXml.fromstring(text.encode("utf-8"))


def tokens(text: str) -> list[Token]:
    """All tokens of a Markdown text, the inner ones too."""
    outer = MARKDOWN.parse(text)
    return [token for one in outer for token in (one, *(one.children or ()))]


def read_markdown(text: str) -> list[Token]:
    """The tokens of a Markdown text in which nothing acts: no HTML, link, picture, mention."""
    text.encode("utf-8")
    read = tokens(text)
    for token in read:
        assert token.type not in ("html_block", "html_inline", "link_open", "image"), token
        assert token.type != "code_block", token  # only fences are ours
        if token.type == "text":
            for active in ("@", "#", "://", "www."):
                assert active not in token.content, token
    return read


def headings(read: list[Token]) -> list[str]:
    return [
        read[place + 1].content for place, token in enumerate(read) if token.type == "heading_open"
    ]


def read_html(text: str) -> Any:
    """The tree of an HTML document without a single parse error."""
    text.encode("utf-8")
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    return parser.parse(text)
