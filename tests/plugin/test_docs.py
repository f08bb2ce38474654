"""`docs/plugin.md` is true: its code runs, and its table has every criterion."""

import inspect
import json
import re
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from wafermock import Space
from wafermock.mockserver.embedded.asking import CRITERIA, public_names
from wafermock.mockserver.embedded.calls import Call
from wafermock.mockserver.embedded.request import CalledTool, ClientRequest, Message, Tool

PAGE = Path(__file__).parents[2] / "docs" / "plugin.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def sent(url: str, text: str, **more: Any) -> Any:
    body = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": text}], **more}
    headers = {"authorization": "Bearer test", "content-type": "application/json"}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), headers
    )
    return urllib.request.urlopen(request, timeout=20)


def ask(url: str, text: str) -> str:
    with sent(url, text) as response:
        words: str = json.load(response)["choices"][0]["message"]["content"]
    return words


def stream(url: str, text: str) -> Iterator[str]:
    response = sent(url, text, stream=True)

    def words() -> Iterator[str]:
        with response:
            for line in response:
                if line.startswith(b"data: {"):
                    yield json.loads(line[6:])["choices"][0]["delta"].get("content") or ""

    return (piece for piece in words() if piece)


def block(name: str) -> Callable[..., None]:
    """Return the test of a code block, by its name."""
    code = next(block for block in BLOCKS if f"def {name}(" in block)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    found: Callable[..., None] = names[name]
    return found


def test_answers(mock: Space) -> None:
    block("test_answers")(mock)
    said = {letter: ask(mock.url, letter) for letter in "abefijk"}
    assert said == {
        "a": "A text.",
        "b": "A text behind a thought.",
        "e": "Exactly these chunks.",
        "f": '{"city": "Oslo"}',
        "i": "I",
        "j": "first",
        "k": "twice",
    }
    assert ask(mock.url, "j") == "second, and ever after"
    assert [ask(mock.url, "k") for _ in range(2)] == ["twice", "whatever else is asked"]
    mock.verify()


def test_calls(mock: Space) -> None:
    block("test_calls")(mock, ask)


def test_held_streams(mock: Space) -> None:
    block("test_words_come_one_by_one")(mock, stream)


def test_without_pytest(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [block for block in BLOCKS if block.startswith("from wafermock import MockServer")]
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.startswith("http://127.0.0.1:")


def test_the_first_example_is_the_one_that_the_downstream_project_runs() -> None:
    example = PAGE.parent.parent / "examples" / "downstream" / "tests" / "test_agent.py"
    (block,) = [block for block in BLOCKS if "test_agent_looks_up_the_weather" in block]
    shared = [line for line in block.splitlines() if line.startswith("    wafermock.")]
    assert len(shared) == 3
    for line in shared:
        assert line in example.read_text(encoding="utf-8")


def test_every_criterion_is_in_the_table() -> None:
    assert sorted(rows("criterion")) == sorted(CRITERIA)


def test_everything_that_a_request_and_a_call_have_is_in_the_tables() -> None:
    request, call = rows("of a request"), rows("of a call, too")
    assert sorted(request) == public_names(ClientRequest)
    own = sorted({*public_names(Call), "number"} - {*request})  # number is set by its space
    assert sorted(call) == own


def test_every_attribute_of_a_call_is_there(mock: Space) -> None:
    mock.on(last_user="hi").replies("Hello.")
    ask(mock.url, "hi")
    types = {"str": str, "int": int, "bool": bool, "bytes": bytes, "float": float, "tuple": tuple}
    types["mapping"] = Mapping  # type: ignore[type-abstract]
    for name, kind in {**rows("of a request"), **rows("of a call, too")}.items():
        value = getattr(mock.calls[0], name)
        known = types.get(kind.partition(" ")[0].strip("`"))
        if known is not None and name != "failure":  # nothing failed
            assert isinstance(value, known), (name, value)


@pytest.mark.parametrize("part", [Message, Tool, CalledTool])
def test_every_field_of_a_part_is_in_the_table(part: type[Any]) -> None:
    told = rows("part")[part.__name__]
    assert re.findall(r"`(\w+)`", told) == list(inspect.signature(part).parameters)


def rows(head: str) -> dict[str, str]:
    """Return the second cells of the table with that head, by the names in the first ones."""
    _, _, below = TEXT.partition(f"\n| {head} |")
    table = below.partition("\n\n")[0].splitlines()[2:]
    cells = [re.split(r" \| ", row.strip("| ")) for row in table]
    return {name: cell[1] for cell in cells for name in re.findall(r"`(\w+)`", cell[0])}


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        if not target.startswith("https://"):
            assert (PAGE.parent / target).exists(), target
