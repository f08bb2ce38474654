"""SEMANTICS: lists of models, and models, that are not those asked for."""

from collections.abc import Mapping
from typing import Any

from ...draws import Draws
from ..catalogue import Shelf
from ..draft import Draft

Values = Mapping[str, Any]

MODELS = Shelf("SEMANTICS")


@MODELS.entry("A model is listed twice.", "Every model is listed once.", on="the list of models")
def model_twice(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        if value.get("object") == "list" and value.get("data"):
            value["data"].append(value["data"][0])

    return draft.edited(change)


@MODELS.entry(
    "Another model comes than the one asked for.",
    "The model that comes is the one asked for.",
    on="a model",
)
def model_swapped(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        if value.get("object") == "model":
            value["id"] = "another-model"

    return draft.edited(change)
