"""What a server must be able to do before a rule can be judged at all.

A rule that was not judged because the server cannot do that is UNSUPPORTED, and not NOT RUN.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

# Rules by their id (a glob), and the capabilities they want, in the words of probes/capabilities.
WANTED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("STREAM-*", ("streams",)),
    ("SEQ-CALL-*", ("streams", "tools")),
    ("SEQ-*", ("streams",)),
    ("ERR-EVENT-*", ("streams",)),
    ("META-STREAM-CALLS", ("streams", "tools")),
    ("META-STREAM*", ("streams",)),
    ("META-HANG-UP", ("streams",)),
    ("META-N-ONE", ("n",)),
    ("SEM-TOOL-*", ("tools",)),
    ("SEM-FINISH-CALLS", ("tools",)),
    ("SEM-FINISH-THERE", ("completions",)),
    ("SEM-LOGPROBS-LENGTHS", ("completions", "logprobs")),
    ("SEM-LOGPROBS-OFFSETS", ("completions", "logprobs")),
    ("SEM-LOGPROBS-*", ("logprobs",)),
    ("SEM-ECHO", ("completions",)),
    ("SEM-RAW-TOKENS", ("completions", "raw tokens")),
    ("SEM-STRUCTURED-*", ("structured outputs",)),
    ("SEM-JSON-OBJECT", ("structured outputs",)),
    ("SEM-REASONING-*", ("reasoning",)),
    ("SEM-TIER-UNTOLD", ("service tier",)),
    ("SEM-MODEL-LIST", ("models",)),
    ("SEM-MODEL-ID", ("models",)),
    ("ENC-MSGPACK*", ("msgpack",)),
    ("ENC-GZIP", ("gzip",)),
    ("ENC-HTTP2", ("http2",)),
)

# Rules about what a server need not have: none of its answers had it, so it has it not.
OPTIONAL = (
    "BODY-*", "ERR-ALLOW", "ERR-CHALLENGE", "ERR-CODINGS", "ERR-NO-SECRET", "HDR-DATE-FORM",
    "HDR-INFERENCE-ID", "HDR-LIMIT-*", "SCHEMA-NO-BODY", "SEM-REASONING-COUNTED",
    "SEM-REASONING-NONE", "SEM-TIME-*", "SEM-USAGE-CACHED*", "SEM-USAGE-DETAILS*",
    "SEM-USAGE-IMAGES", "SEQ-CHOICE-ANY",
)  # fmt: skip


def unsupported(rule: str, needs: str, unable: Mapping[str, str], *, whole: bool = True) -> str:
    """Say why a rule that was not judged cannot be, empty where it could have been.

    `needs` is what the rule says it needs, `unable` what the server cannot do, each with why. Not
    `whole` is a run that ended early: what it has not seen may still come.
    """
    wanted = next((names for pattern, names in WANTED if fnmatchcase(rule, pattern)), ())
    for name in wanted:
        if name in unable:
            return f"{name}: {unable[name]}"
    if whole and any(fnmatchcase(rule, pattern) for pattern in OPTIONAL):
        return f"nothing that came was {needs}"
    return ""
