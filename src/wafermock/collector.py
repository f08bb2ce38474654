"""The collector of garbage, kept from work that makes none."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Do not look for garbage meanwhile. To look, again and again, through all that is imported is
    a tenth of what an import takes, and none of it is garbage: what was made is old at once."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Frozen and thawed, the young belong to the oldest, where only a full collection looks.
        # (Not where somebody else has frozen objects: those would be thawed as well.)
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()
