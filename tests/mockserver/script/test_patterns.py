"""Regular expressions and globs that cannot be slow."""

import pytest

from wafermock.mockserver.script.conditions import Globs, Text
from wafermock.mockserver.script.criteria import Obeys
from wafermock.mockserver.script.patterns import LONGEST_PATTERN, Pattern

from . import asking

# Each takes a backtracking engine longer than the universe is old.
CATASTROPHES = [
    r"^(a+)+$",
    r"^(a|aa)+$",
    r"^(a|a?)+$",
    r"(.*a){25}$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(a*)*b",
    r"^(?:a?){200}a{200}$",
]


@pytest.mark.parametrize("source", CATASTROPHES)
@pytest.mark.parametrize("fold", [False, True])
def test_what_hangs_others_is_answered_at_once(source: str, fold: bool) -> None:
    assert Pattern(source, fold=fold).found_in("a" * 20_000 + "!") is False


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("(?=a)", "look-ahead cannot be matched in linear time"),
        ("a(?!b)", "look-ahead cannot be matched in linear time"),
        ("(?<=a)b", "look-behind cannot be matched in linear time"),
        (r"(a|b)\1", "a back reference cannot be matched in linear time"),
        (r"x(?:y(?:z|(?!b)))*", "look-ahead cannot be matched in linear time"),
        ("(a", "not a regular expression: a group is not closed"),
        ("a)", "not a regular expression: unbalanced ) at 1"),
        ("*a", "not a regular expression"),
        ("((a{999}){999}){999}", "repeats too much"),
        ("a" * (LONGEST_PATTERN + 1), "longer than"),
        ("(" * 1500, "not a regular expression"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(source: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(").replace(")", r"\)")):
        Pattern(source)


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        (r"\bcat\b", "a cat sat", True),
        (r"\bcat\b", "concatenate", False),
        (r"^\d{3}$", "123", True),
        ("世.", "Hello 世界", True),
        ("b$", "a\nb", True),
        ("a$", "a\nb", False),
        ("", "", True),
        ("\U0001f44b", "\ud83d", False),  # half a surrogate pair: JSON can hold it, UTF-8 cannot
        ("x", "\ud83dx", True),
    ],
)
def test_where_an_expression_is_found(source: str, text: str, found: bool) -> None:
    assert Pattern(source).found_in(text) is found


def test_globs_with_many_stars_are_fast() -> None:
    assert not Globs(("*a" * 40 + "b",)).fits("a" * 5_000)
    assert Globs(("*a*b*",)).fits("xxaxxbxx")


def test_a_condition_reads_itself_aloud() -> None:
    assert str(Text.read({"contains": ["a", "b"], "regex": "c", "fold": True})) == (
        "contains 'a' and contains 'b' and matches 'c' (case folded)"
    )
    assert str(Text.read({"fold": True})) == "any text"


def test_patterns_of_a_schema_are_linear_too() -> None:
    schema = {"properties": {"model": {"pattern": "^(a+)+$"}}}
    asked = asking.subject({"model": "a" * 20_000 + "!"})
    difference = Obeys(schema).difference(asked)
    assert difference is not None
    assert difference.actual.startswith("#/model: ")
    with pytest.raises(ValueError, match="not a JSON Schema"):
        Obeys({"pattern": "(?=a)"})
