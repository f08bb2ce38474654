"""The request header `Prefer` (RFC 7240): which example or which error the client wants.

The preferences are those of Prism, a mock server whose users know them: `code`, `example` and
`dynamic`. RFC 7240 lets a server pass over what it does not know, and so is done with preferences
of other names. One of these three whose value is none is a slip of the pen, and is refused.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from .refusal import Refusal

# RFC 7240, section 2: token [ BWS "=" BWS word ] *( OWS ";" ... ), word = token / quoted-string
_PREFERENCE = re.compile(
    r'\s*([!#$%&\'*+.^_`|~\w-]+)\s*(?:=\s*(?:"((?:\\.|[^"\\])*)"|([^\s,;]*)))?'
)


# A list is split at what stands outside of quotes. A quote that is never closed runs to the end:
# to look again behind it would cost the square of the length.
_PART = re.compile(r'(?:[^,;"]|"(?:\\.|[^"\\])*(?:"|\\?$))+', re.DOTALL)


class Preferences(Struct, frozen=True):
    """What a client asked for. `dynamic` wants an invented answer even where an example fits."""

    example: str | None = None
    code: int | None = None
    dynamic: bool = False

    @property
    def applied(self) -> str:
        """The value of the response header `Preference-Applied`."""
        parts = []
        if self.code is not None:
            parts.append(f"code={self.code}")
        if self.example is not None:
            quoted = self.example.replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'example="{quoted}"')
        if self.dynamic:
            parts.append("dynamic=true")
        return ", ".join(parts)


NONE = Preferences()


def unknown_example(name: str, known: Iterable[str]) -> Refusal:
    """Make the refusal for an example that an operation does not have."""
    return Refusal("unknown_example", example=name, known=", ".join(known) or "none")


def read_preferences(header: str | None) -> Preferences:
    """Read a `Prefer` header (several joined with commas). Other preferences are passed over.

    Raises Refusal for a `code` that is no status of HTTP, a `dynamic` that is neither true nor
    false, and an `example` without a name.
    """
    if not header:
        return NONE
    found: dict[str, str] = {}
    for part in _PART.findall(header):
        if match := _PREFERENCE.match(part):
            name, quoted, token = match.groups()
            value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or ""
            found.setdefault(name.lower(), value)  # section 2: the first of several counts
    return Preferences(
        example=_read(found, "example", "the name of an example", _NAME),
        code=int(_read(found, "code", "a status from 100 to 599", _STATUS) or 0) or None,
        dynamic=(_read(found, "dynamic", "true or false", _BOOLEAN) or "").lower() == "true",
    )


_NAME = re.compile(r".+", re.DOTALL)
_STATUS = re.compile(r"[1-5][0-9][0-9]")
_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)


def _read(found: dict[str, str], name: str, wanted: str, values: re.Pattern[str]) -> str | None:
    value = found.get(name)
    if value is not None and not values.fullmatch(value):
        shown = f"{value[:32]}…" if len(value) > 32 else value
        raise Refusal("malformed_preference", name=name, value=shown, wanted=wanted)
    return value
