"""SARIF, valid by the official schema."""

from dataclasses import replace

import pytest

from wafermock.reports.document_places import UnreadableDocument, places
from wafermock.reports.sarif import fingerprint, render

from . import golden
from .readers import read_sarif
from .sample_runs import clean_run, hostile_run, large_run, rich_run, small_run

DOCUMENT = """\
openapi: 3.1.0
paths:
  /v1/chat/completions:
    post:
      responses: {}
components:
  schemas:
    ChatCompletionDelta:
      properties:
        role: {type: string}
    a/b~c%d:
      enum:
        - one
        - two
"""


def test_golden() -> None:
    golden.check("small.sarif", render(small_run()))


@pytest.mark.parametrize("make", [small_run, rich_run, clean_run, hostile_run, large_run])
def test_it_is_valid(make: object) -> None:
    assert callable(make)
    run = make()
    read = read_sarif(render(run))
    assert len(read["results"]) == len(run.findings)
    assert len(read["tool"]["driver"]["rules"]) == len(run.rules)
    for result in read["results"]:
        assert read["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_levels_and_states() -> None:
    results = {one["properties"]["id"]: one for one in read_sarif(render(rich_run()))["results"]}
    assert results["F-001"]["level"] == "error"
    assert results["F-009"]["level"] == "warning"
    assert results["F-008"]["level"] == "note"
    assert results["F-001"]["baselineState"] == "new"
    assert results["F-004"]["baselineState"] == "unchanged"
    (accepted,) = results["F-004"]["suppressions"]
    assert accepted["justification"].startswith("The gateway in front")
    assert results["F-001"]["occurrenceCount"] == 12


def test_without_a_baseline_nothing_is_new() -> None:
    (result,) = read_sarif(render(small_run()))["results"]
    assert "baselineState" not in result
    assert "suppressions" not in result


def test_fingerprints_are_of_rule_location_and_kind() -> None:
    (found,) = small_run().findings
    assert fingerprint(found) == fingerprint(replace(found, id="F-9", actual="x", count=7))
    assert len({fingerprint(f) for f in (found, replace(found, kind="x"))}) == 2


def test_requests_and_answers() -> None:
    (result,) = read_sarif(render(small_run()))["results"]
    assert result["webRequest"]["method"] == "POST"
    assert result["webResponse"]["statusCode"] == 200
    assert result["webResponse"]["headers"]["X-Request-Id"] == "req-0002"
    silent = read_sarif(render(rich_run()))["results"]
    (none,) = [one for one in silent if one["properties"]["id"] == "F-008"]
    assert none["webResponse"] == {"noResponseReceived": True}


def test_rules_link_to_their_standards() -> None:
    rules = read_sarif(render(rich_run()))["tool"]["driver"]["rules"]
    links = {rule["properties"]["source"]: rule.get("helpUri") for rule in rules}
    assert links["RFC 9110, section 10.2.3"] == (
        "https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3"
    )
    assert links["OpenAPI 3.1, Responses Object"] is None


def test_results_have_lines_of_the_document() -> None:
    read = read_sarif(render(small_run(), places(DOCUMENT, "api/my contract.yaml")))
    (result,) = read["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "api/my%20contract.yaml", "index": 0},
        "region": {"startLine": 10},
    }
    (logical,) = location["logicalLocations"]
    assert logical["fullyQualifiedName"] == small_run().findings[0].location


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("#/paths/~1v1~1chat~1completions/post", 4),
        ("#/paths/~1v1~1chat~1completions/post/responses/200", 5),  # the nearest there is
        ("#/components/schemas/a~1b~0c%25d/enum/1", 14),
        ("#/components/schemas/a~1b~0c%25d/enum/7", 12),
        ("#/components/schemas/ChatCompletionDelta and its like", 8),
        ("#/nowhere", 0),
        ("RFC 9110, section 8.4", 0),
        ("", 0),
    ],
)
def test_places(pointer: str, line: int) -> None:
    assert places(DOCUMENT, "x.yaml").line(pointer) == line


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [1\nb: 2\n", "x.yaml:2: this is no YAML"), ("\x00", "x.yaml: this is no YAML")],
)
def test_documents_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(UnreadableDocument, match=message):
        places(text, "x.yaml")


def test_an_empty_document_has_no_places() -> None:
    assert places("", "x.yaml").line("#/paths") == 0
