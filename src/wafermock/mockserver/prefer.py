"""The request header `Prefer` (RFC 7240): which example or which error the client wants."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .refusal import Refusal

# RFC 7240, section 2: token [ BWS "=" BWS word ] *( OWS ";" ... ), word = token / quoted-string
_PREFERENCE = re.compile(
    r'\s*([!#$%&\'*+.^_`|~\w-]+)\s*(?:=\s*(?:"((?:\\.|[^"\\])*)"|([^\s,;]*)))?'
)


# A list is split at what stands outside of quotes. A quote that is never closed runs to the end:
# to look again behind it would cost the square of the length.
_PART = re.compile(r'(?:[^,;"]|"(?:\\.|[^"\\])*(?:"|\\?$))+', re.DOTALL)


@dataclass(frozen=True)
class Preferences:
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
    """Read a `Prefer` header (several joined with commas). What is not understood is ignored."""
    if not header:
        return NONE
    found: dict[str, str] = {}
    for part in _PART.findall(header):
        if match := _PREFERENCE.match(part):
            name, quoted, token = match.groups()
            value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or ""
            found.setdefault(name.lower(), value)  # section 2: the first of several counts
    code = found.get("code", "")
    return Preferences(
        example=found.get("example") or None,
        code=int(code) if re.fullmatch(r"[1-5][0-9][0-9]", code) else None,
        dynamic=found.get("dynamic", "").lower() == "true",
    )
