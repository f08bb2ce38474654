"""What is wrong with a script is told with file, line, pointer, and what was meant."""

from pathlib import Path

import jsonschema_rs
import pytest

from wafermock.mockserver.script import Script, problems
from wafermock.mockserver.script.schema import script_schema
from wafermock.spec import DocumentError

from . import asking


def wrong(tmp_path: Path, text: str, name: str = "script.yaml") -> list[str]:
    """Return the lines that say what is wrong with a script, without its folder."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    _, found = problems([file], asking.contract())
    return [str(error).removeprefix(f"{tmp_path}/") for error in found]


def rule(inside: str) -> str:
    return f"rules:\n  - {inside}\n"


def reply(inside: str) -> str:
    return f"rules:\n  - reply: {inside}\n"


AT = "script.yaml:2: #/rules/0"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "script.yaml:1: #: a mapping is wanted here"),
        ("- a", "script.yaml:1: #: a mapping is wanted here"),
        ("{}", "script.yaml:1: #/rules: 'rules' is missing"),
        ("rules: {}", "script.yaml:1: #/rules: a list is wanted here, not a mapping"),
        (
            "rules: []\nrulez: 1",
            "script.yaml:2: #/rulez: there is no key 'rulez'; did you mean 'rules'",
        ),
        ("rules:\n  - a: [", "script.yaml:3: not YAML"),
        ("rules: []\nrules: []", "script.yaml:2: not YAML: the key 'rules' stands twice"),
        (rule("{nmae: x}"), f"{AT}/nmae: there is no key 'nmae'; did you mean 'name'"),
        (rule("{text: x}"), f"{AT}/text: 'text' does not stand here but under `reply`"),
        (rule("{last: x}"), f"{AT}/last: 'last' does not stand here but under `match`"),
        (
            reply("{text: x, times: 2}"),
            f"{AT}/reply/times: 'times' does not stand here but of a rule",
        ),
        (rule("{times: many}"), f"{AT}/times: a whole number is wanted here, not a text"),
        (rule("{times: 0}"), f"{AT}/times: a number of at least 1 is wanted, not 0"),
        (rule("{times: 1.5}"), f"{AT}/times: a whole number is wanted here, not a number"),
        (rule("{then: repat}"), f"{AT}/then: there is no choice 'repat'; did you mean 'repeat'"),
        (rule("{name: ' '}"), f"{AT}/name: something must stand here"),
        (rule("{scenario: {state: x}}"), f"{AT}/scenario/name: 'name' is missing"),
        (rule("{sequence: []}"), f"{AT}/sequence: something must stand here"),
        (rule("{reply: {}}"), f"{AT}/reply: something must stand here (there are: body, canned,"),
        (rule("{name: x}"), f"{AT}: a rule needs a `reply`, or a `sequence` of them"),
        (
            rule("{reply: {text: x}, sequence: [{text: x}]}"),
            f"{AT}: `reply` and `sequence` exclude",
        ),
        (
            rule("{reply: {text: x}, then: cycle}"),
            f"{AT}/then: `then` says what follows a `sequence`",
        ),
        (rule("{match: {last: 3}, reply: {text: x}}"), f"{AT}/match/last: a text or a mapping"),
        (
            rule("{match: {last: {rgex: a}}}"),
            f"{AT}/match/last/rgex: there is no key 'rgex'; did you",
        ),
        (
            rule("{match: {last: {role: usr}}}"),
            f"{AT}/match/last/role: there is no choice 'usr'; did",
        ),
        (
            rule("{match: {any: [{rol: a}]}}"),
            f"{AT}/match/any/0/rol: there is no key 'rol'; did you",
        ),
        (
            rule("{match: {header: {x: 1}}}"),
            f"{AT}/match/header/x: true or false or a text or a map",
        ),
        (rule("{match: {turn: 0}}"), f"{AT}/match/turn: a number of at least 1"),
        (
            rule("{match: {turn: {at_lest: 1}}}"),
            f"{AT}/match/turn/at_lest: there is no key 'at_lest'",
        ),
        (
            rule("{match: {operation: createChatCompletions}, reply: {text: x}}"),
            f"{AT}/match/operation: there is no operation 'createChatCompletions'; did you mean",
        ),
        (
            rule("{match: {last: {regex: '(?=a)'}}, reply: {text: x}}"),
            f"{AT}/match/last: look-ahead cannot be matched in linear time",
        ),
        (
            rule("{match: {header: {x: {regex: '('}}}, reply: {text: x}}"),
            f"{AT}/match/header/x: not a regular expression",
        ),
        (rule("{match: {jmespath: 'a['}, reply: {text: x}}"), f"{AT}/match/jmespath: not JMESPath"),
        (rule("{match: {jmespath: ''}, reply: {text: x}}"), f"{AT}/match/jmespath: not JMESPath"),
        (
            rule("{match: {jmespath: 'a[?lenght(@) > `1`] | [0:1]'}, reply: {text: x}}"),
            f"{AT}/match/jmespath: there is no function 'lenght'; did you mean 'length'?",
        ),
        (
            rule("{match: {jmespath: {'sort_by(a)': 1}}, reply: {text: x}}"),
            f"{AT}/match/jmespath/sort_by(a): sort_by() takes 2 arguments, not 1",
        ),
        (
            rule("{match: {jmespath: 'not_null()'}, reply: {text: x}}"),
            f"{AT}/match/jmespath: not_null() takes at least 1 arguments, not 0",
        ),
        (
            rule("{match: {jmespath: [a, 'b(']}, reply: {text: x}}"),
            f"{AT}/match/jmespath/1: not JMESP",
        ),
        (
            rule("{match: {schema: {type: strng}}, reply: {text: x}}"),
            f'{AT}/match/schema: not a JSON Schema (2020-12): "strng"',
        ),
        (
            rule("{match: {schema: {$ref: 'http://x.test/y'}}, reply: {text: x}}"),
            f"{AT}/match/schema: not a JSON Schema",
        ),
        (
            reply("{text: a, json: true}"),
            f"{AT}/reply/json: `text` and `json` cannot both be answered",
        ),
        (
            reply("{text: a, body: b}"),
            f"{AT}/reply/text: `body` and `text` cannot both be answered",
        ),
        (reply("{canned: true, error: x}"), f"{AT}/reply/error: `canned` and `error` cannot both"),
        (reply("{canned: false}"), f"{AT}/reply/canned: this can only be true"),
        (reply("{text: a, status: 201}"), f"{AT}/reply/status: `status` goes with `body`, `file`"),
        (reply("{body: a, status: 99}"), f"{AT}/reply/status: a number of at least 200 is wanted"),
        (reply("{body: a, pace: {ttft: 1s}}"), f"{AT}/reply/pace: `pace` is for words"),
        (
            reply("{text: a, pace: {ttft: 1sek}}"),
            f"{AT}/reply/pace: ttft: '1sek': there is no unit",
        ),
        (
            reply("{text: a, pace: {tokens_per_second: -1}}"),
            f"{AT}/reply/pace: tokens_per_second: '-1'",
        ),
        (reply("{text: a, pace: {jitter: 10%}}"), f"{AT}/reply/pace: jitter varies a pace"),
        (
            reply("{error: request_quota}"),
            f"{AT}/reply/error: there is no error 'request_quota'; did",
        ),
        (
            reply("{error: {name: context_length_exceeded, values: {lenght: 1}}}"),
            f"{AT}/reply/error: context_length_exceeded: there is no placeholder 'lenght'",
        ),
        (
            reply("{error: {name: queue_exceeded, headers: {'x y': z}}}"),
            f"{AT}/reply/error/headers/x y: 'x y' is no name of a header",
        ),
        (reply("{file: nope.json}"), f"{AT}/reply/file: "),
        (
            reply("{body: a, headers: {Content-Length: '1'}}"),
            f"{AT}/reply/headers/Content-Length: ",
        ),
        (
            reply('{body: a, headers: {x: "a\\nb"}}'),
            f"{AT}/reply/headers/x: a header's value is one",
        ),
        (reply("{body: a, headers: {'a b': c}}"), f"{AT}/reply/headers/a b: 'a b' is no name of a"),
        (reply("{parts: [{text: a, base64: YQ==}]}"), f"{AT}/reply/parts/0: a part has either"),
        (reply("{parts: [{base64: '?'}]}"), f"{AT}/reply/parts/0/base64: not Base64"),
        (reply("{parts: [{text: a, at: 1}, {text: b, at: 0}]}"), f"{AT}/reply/parts/1/at: it goes"),
        (
            reply("{template: '{{ modle }}'}"),
            f"{AT}/reply/template: line 1 of the template: there is no",
        ),
        (reply("{json: {type: integer, minimum: 2, maximum: 1}}"), f"{AT}/reply/json/minimum: "),
        (
            reply("{tool_calls: [{arguments: {}}]}"),
            f"{AT}/reply/tool_calls/0/name: 'name' is missing",
        ),
        (
            reply("{text: a, delivery: bytwise}"),
            f"{AT}/reply/delivery: there is no delivery 'bytwise'",
        ),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, line: str) -> None:
    found = wrong(tmp_path, text)
    assert found, "nothing was found"
    assert found[0].startswith(line)
    assert "\n" not in found[0]


def test_everything_that_is_wrong_is_told_in_order(tmp_path: Path) -> None:
    text = "rules:\n  - {nmae: a}\n  - reply: {txt: b}\n    times: x\n"
    assert [line.split(":")[1] for line in wrong(tmp_path, text)] == ["2", "3", "4"]


def test_json_is_read_too(tmp_path: Path) -> None:
    text = '{\n\t"rules": [\n\t\t{"reply": {"txt": "x"}}\n\t]\n}'
    assert wrong(tmp_path, text, "script.json")[0].startswith(
        "script.json:3: #/rules/0/reply/txt: there is no key 'txt'; did you mean 'text'"
    )


def test_two_rules_of_one_name_are_refused(tmp_path: Path) -> None:
    text = "rules:\n  - {name: a, reply: {text: x}}\n  - {name: a, reply: {text: y}}\n"
    (line,) = wrong(tmp_path, text)
    assert line.startswith("script.yaml:3: the rule 'a' stands at ")


def test_loading_raises_the_first_of_them(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="there is no key 'nmae'"):
        asking.script(tmp_path, "rules: [{nmae: x}]")
    with pytest.raises(DocumentError, match="No such file"):
        Script.load(tmp_path / "missing.yaml", asking.contract())


def test_names_of_catalogues_are_checked_and_chosen(tmp_path: Path) -> None:
    text = reply("{text: a, delivery: [crlf, {name: comments}], failure: 'stall:after=2'}")
    rule = asking.script(tmp_path, text).rules[0]
    extras = rule.steps[0].reply.extras
    assert [str(chosen) for chosen in extras.delivery] == ["crlf", "comments"]
    assert [str(chosen) for chosen in extras.failure] == ["stall:after=2"]
    assert wrong(tmp_path, reply("{text: a, failure: {name: stall, aftr: 1}}"))[0].startswith(
        f"{AT}/reply/failure: failure stall: there is no 'aftr'"
    )


def test_the_published_schema_is_a_schema_in_which_everything_is_described() -> None:
    schema = script_schema()
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    silent = [
        f"{name}.{key}"
        for name, definition in [("", schema), *schema["$defs"].items()]
        for key, node in definition.get("properties", {}).items()
        if "description" not in node and key not in ("rules",) and "$ref" not in node
    ]
    assert silent == []
