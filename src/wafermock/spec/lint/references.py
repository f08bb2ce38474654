"""Names and references that lead nowhere."""

from collections.abc import Iterator

from ..references import unresolved
from ..structure import operations
from .subject import Place, Rule, Subject, rule

RULES: dict[str, Rule] = {}


@rule(RULES, "reference-unresolved")
def reference_unresolved(subject: Subject) -> Iterator[Place]:
    """A `$ref`, or a discriminator's mapping, leads nowhere."""
    yield from subject.unread
    told = {at for at, _ in subject.unread}
    for at, target in unresolved(subject.root):
        if at not in told:
            yield at, f"the reference {target} leads nowhere"


@rule(RULES, "security-undefined")
def security_undefined(subject: Subject) -> Iterator[Place]:
    """A security requirement names a scheme that `components/securitySchemes` does not have."""
    schemes = subject.root.get("components", {}).get("securitySchemes", {})
    known = ", ".join(schemes) or "no scheme at all"
    for at, owner in [((), subject.root), *operations(subject.root)]:
        for index, requirement in enumerate(owner.get("security", ())):
            for name in requirement:
                if name not in schemes:
                    sentence = f"the security scheme {name} is not defined; there is {known}"
                    yield (*at, "security", index, name), sentence


@rule(RULES, "schema-invalid")
def schema_invalid(subject: Subject) -> Iterator[Place]:
    """A schema is none by JSON Schema 2020-12, even when `nullable` and its like are read."""
    for at, sentence in subject.invalid:
        yield at, f"not a schema: {sentence}"
