"""Places: what exchanges are called by does not depend on when they are sent."""

from dataclasses import replace

import pytest

from wafermock.conformance.exchange import Purpose, Sent
from wafermock.conformance.placed import Placed
from wafermock.conformance.planned import Planned, PlannedProbe
from wafermock.conformance.runner import Item

PLANNED = Planned(Purpose("test", "plain", "#/paths"), Sent("GET", "/v1/x"), tokens=3)
PROBE = PlannedProbe("twice", {"whole": PLANNED, "gzip": PLANNED}, together=True, needs=("gzip",))


def places(item: Item) -> list[str]:
    requests = [item] if isinstance(item, Planned) else item.requests.values()
    return [request.place for request in requests]


def test_each_request_knows_its_place() -> None:
    placed = Placed([PLANNED, PROBE, PLANNED], before=41)
    assert len(placed) == 3
    assert [places(item) for item in placed] == [["42"], ["43:whole", "43:gzip"], ["44"]]
    assert placed[-1] == placed[2]
    assert placed[1:] == [placed[1], placed[2]]
    with pytest.raises(IndexError):
        placed[3]
    assert places(Placed([PLANNED], 6, "c")[0]) == ["c7"]


def test_nothing_else_of_it_changes() -> None:
    placed = Placed([PLANNED, PROBE])
    first, second = placed[0], placed[1]
    assert isinstance(first, Planned)
    assert isinstance(second, PlannedProbe)
    assert replace(first, place="") == PLANNED
    bare = {role: replace(request, place="") for role, request in second.requests.items()}
    assert replace(second, requests=bare) == PROBE
    # A request that two share is each one's own: who keeps books of requests knows them apart.
    assert len({id(request) for request in second.requests.values()}) == 2


def test_an_item_is_made_when_it_is_taken() -> None:
    taken: list[int] = []

    class Making(list[Item]):
        def __getitem__(self, number: object) -> Item:  # type: ignore[override]
            assert isinstance(number, int)
            taken.append(number)
            return PLANNED

    placed = Placed(Making([PLANNED] * 3))
    assert places(placed[1]) == ["2"]
    assert taken == [1]
