"""What the built-in overlays do about a finding."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ..document import DocumentError
from ..overlay import Action, Overlay, apply_overlay, find
from ..pointer import Pointer, copy_json
from .subject import Rule, Subject

NOTHING = "nothing; add an overlay action"


class Step(Struct, frozen=True):
    """An action carried out: the places it found, and the document after it."""

    action: Action
    found: tuple[Pointer, ...]
    after: Subject
    left: dict[str, set[Pointer]] = {}

    def leaves(self, rule: Rule, pointer: Pointer) -> bool:
        """Say whether a rule still finds something at a pointer after the action."""
        if rule.id not in self.left:
            self.left[rule.id] = {at for at, _ in rule.check(self.after)}
        return pointer in self.left[rule.id]


def steps(subject: Subject, overlays: Sequence[Overlay]) -> list[Step]:
    """Apply overlays action by action, up to the first that does not fit the document."""
    return list(_steps(copy_json(subject.root), overlays, subject))


def _steps(root: dict[str, Any], overlays: Sequence[Overlay], subject: Subject) -> Iterator[Step]:
    for overlay in overlays:
        if not overlay.applies(root):
            continue
        for action in overlay.actions:
            found = tuple(find(action.target, root, action))
            try:
                apply_overlay(root, Overlay(overlay.document, (action,), ()))
            except DocumentError:
                return
            yield Step(action, found, Subject(copy_json(root), subject.unread, subject.taken))


def remedy(rule: Rule, pointer: Pointer, taken: Sequence[Step]) -> str:
    """Say what becomes of a finding: the first action near it after which it is gone."""
    if rule.remedy:
        return rule.remedy
    for step in taken:
        near = any(_near(step.action, found, pointer) for found in step.found)
        if near and not step.leaves(rule, pointer):
            path = step.action.overlay.path
            name = f"{path.parent.name}/{path.name}"
            return f"{name}, action {step.action.index + 1}: {step.action.description}"
    return NOTHING


def _near(action: Action, found: Pointer, pointer: Pointer) -> bool:
    """Say whether an action that found a node can have to do with a finding at a pointer.

    It can when the node is the finding's, or below it, or above it and removed or updated there.
    """
    if found[: len(pointer)] == pointer:
        return True
    if pointer[: len(found)] != found:
        return False
    return bool(action.body.get("remove")) or _touches(
        action.body.get("update"), pointer[len(found) :]
    )


def _touches(update: Any, way: Pointer) -> bool:
    for token in way:
        if not isinstance(update, dict):
            return True  # something was put in place of what the pointer leads through
        if token not in update:
            return False
        update = update[token]
    return True
