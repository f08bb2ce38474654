"""Templates: what they can say, and that nothing they say harms or hangs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver.script.budget import TemplateError
from wafermock.mockserver.script.template import LONGEST_OUTCOME, LONGEST_TEMPLATE, Template
from wafermock.spec import DocumentError

from . import asking
from .asking import subject, user

VALUES: dict[str, Any] = {
    "model": "llama",
    "messages": [{"role": "user", "text": "Hi"}, {"role": "tool", "text": '{"a": [1, 2.5]}'}],
    "body": {"n": 3, "list": [3, 1, 3], "items": "mine", "none": None, "text": " a-b "},
    "big": "a" * 1_000_000,
}


def render(source: str, **more: Any) -> str:
    values = {**VALUES, **more}
    return Template(source, values).render(values, lambda count: ["word"] * count)


def failure(source: str, **more: Any) -> TemplateError:
    with pytest.raises(TemplateError) as caught:
        render(source, **more)
    return caught.value


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("plain", "plain"),
        ("{{ model }}", "llama"),
        ("{{ model | upper }} {{ model | title }} {{ 'A' | lower }}", "LLAMA Llama a"),
        ("{{ body.n + 1 }} {{ body['n'] // 2 }} {{ -body.n }} {{ 7 % 4 }}", "4 1 -3 3"),
        ("{{ body.items }}", "mine"),  # a key, never a method
        ("{{ body.none }} {{ body.n is even }} {{ body }}", None),
        ("{{ body.list | sort | join(',') }}", "1,3,3"),
        ("{{ body.list | unique | tojson }}", "[3, 1]"),
        ("{{ body.list | sum }} {{ body.list | length }} {{ body.list | last }}", "7 3 3"),
        ("{{ body.list[1] }}{{ body.list[-1] }}{{ body.list[:2] }}", "13[3, 1]"),
        ("{{ model[1:3] }}{{ model[::-1] }}", "laamall"),
        ("{{ body.list | reverse | first }}", "3"),
        ("{{ body.missing | default('none') }}", "none"),
        ("{{ body.none | default('x', true) }}", "x"),
        ("{{ body.missing is defined }}", "false"),
        ("{{ 'a' ~ 1 ~ [2] }}", "a1[2]"),
        ("{{ 'x' if body.n > 2 else 'y' }}{{ 'z' if body.n < 2 }}", "x"),
        ("{{ 1 < 2 < 3 and not 'q' in model }}", "true"),
        ("{% for m in messages %}{{ loop.index }}{{ m.role }}{% if not loop.last %},{% endif %}"
         "{% endfor %}", "1user,2tool"),
        ("{% for k, v in body | items if v is number %}{{ k }}={{ v }};{% endfor %}", "n=3;"),
        ("{% for x in [] %}{% else %}empty{% endfor %}", "empty"),
        ("{% for i in range(3) %}{{ i }}{% endfor %}", "012"),
        ("{% set x = body.n * 2 %}{{ x }}", "6"),
        ("{{ (messages[1].text | fromjson).a[1] }}", "2.5"),
        ("{{ '12' | int + 1 }} {{ 'x' | int(7) }} {{ '1.5' | float }} {{ 2.567 | round(1) }}",
         "13 7 1.5 2.6"),
        ("{{ body.text | trim | split('-') | join('+') }}", "a+b"),
        ("{{ 'banana' | replace('a', 'o') }} {{ 'abcdef' | truncate(3) }}", "bonono abc…"),
        ("{{ words() }}|{{ words(2) }}|{{ words(0) }}", "word|word word|"),
        ("{# a comment #}{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("<b>{{ '<' }}</b>", "<b><</b>"),
        ("a\n", "a"),
        ("{{ '\\ud83d' }}", "\ud83d"),
    ],
)  # fmt: skip
def test_what_templates_say(source: str, outcome: str | None) -> None:
    if outcome is None:
        assert render(source).startswith('null false {"n": 3')
    else:
        assert render(source) == outcome


# Whatever leads from data to the interpreter, files, or the environment.
ESCAPES = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ model | attr('__class__') }}",
    "{{ messages.__init__ }}",
    "{{ body.items() }}",
    "{{ body.keys }}",
    "{{ body.__class__ }}",
    "{{ model.upper() }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ '%s' % model }}",
    "{{ words.__globals__ }}",
    "{{ words['__globals__'] }}",
    "{{ range.__wrapped__ }}",
    "{{ words }}",
    "{{ range }}",
    "{{ self }}",
    "{{ self.__init__.__globals__ }}",
    "{{ loop }}",
    "{% for x in [1] %}{{ loop }}{% endfor %}",
    "{% for x in [1] %}{{ loop.__class__ }}{% endfor %}",
    "{% for x in [1] %}{{ loop._iterator }}{% endfor %}",
    "{% for x in [1] %}{{ loop.cycle('a') }}{% endfor %}",
    "{{ cycler }}",
    "{{ lipsum }}",
    "{{ namespace() }}",
    "{{ joiner.__init__.__globals__.os }}",
    "{{ config }}",
    "{{ caller() }}",
    "{{ super() }}",
    "{{ dict(a=1) }}",
    "{{ messages | map(attribute='__class__') }}",
    "{{ messages | selectattr('role') }}",
    "{{ [words] | join }}",
    "{{ [words] | tojson }}",
    "{{ {'a': words}.a(1).__class__ }}",
    "{% include '/etc/passwd' %}",
    "{% include messages %}",
    "{% import 'os' as os %}",
    "{% from 'os' import environ %}",
    "{% extends model %}",
    "{% block a %}{% endblock %}",
    "{% macro m() %}{% endmacro %}",
    "{% call words() %}{% endcall %}",
    "{% filter upper %}a{% endfilter %}",
    "{% set x %}a{% endset %}",
    "{% set body.n = 1 %}",
    "{% set ns = namespace(a=1) %}",
    "{% with x = 1 %}{{ x }}{% endwith %}",
    "{% autoescape true %}{% endautoescape %}",
    "{% do 1 %}",
    "{% debug %}",
    "{{ words(*[1]) }}",
    "{{ words(**{'count': 1}) }}",
    "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_nothing_but_data_is_reached(source: str) -> None:
    error = failure(source)
    assert error.message
    assert "<" not in error.message or "object at" not in error.message
    assert "Traceback" not in error.message


# Whatever takes long, or much memory, in a few characters.
BOMBS = [
    "{% for i in range(1000000000) %}x{% endfor %}",
    "{% for i in range(10 ** 9) %}x{% endfor %}",
    "{% for i in range(0 - 1000000000, 0) %}x{% endfor %}",
    "{% for i in range(5000) %}{% for j in range(9) %}{% endfor %}{% endfor %}",
    "{% for a in big %}{% endfor %}",
    "{{ 'a' * 1000000000 }}",
    "{{ [1] * 1000000000 }}",
    "{{ 9 ** 9 ** 9 }}",
    "{% set n = 10 %}" + "{% set n = n * n %}" * 40 + "{{ n }}",
    "{{ '%1000000000d' % 1 }}",
    "{% set a = 'aaaaaaaa' %}" + "{% set a = a ~ a %}" * 60 + "{{ a | length }}",
    "{% set a = 'aaaaaaaa' %}" + "{% set a = a + a %}" * 60 + "{{ a | length }}",
    "{% set a = [1] %}" + "{% set a = a + a %}" * 60 + "{{ a | length }}",
    "{% set a = [1] %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}",
    "{% set a = [1] %}" + "{% set a = [a, a] %}" * 60 + "{{ a | tojson | length }}",
    "{% set a, b = [1], [1] %}" + "{% set a, b = [a, a], [b, b] %}" * 60 + "{{ a == b }}",
    "{% set a = 'aaaaaaaa' %}" + "{% set a = [a, a] | join %}" * 60 + "{{ a | length }}",
    "{{ big | replace('a', big) }}",
    "{{ big | replace('', big) }}",
    "{% for i in range(9999) %}{{ big }}{% endfor %}",
    "{% for i in range(9999) %}{% if 'b' in big %}{% endif %}{% endfor %}",
    "{% for i in range(9999) %}{% if big | upper == '' %}{% endif %}{% endfor %}",
    "{% for i in range(9999) %}{% set x = big[1:] %}{% endfor %}",
    "{% for i in range(9999) %}{% set x = [big] | tojson %}{% endfor %}",
    "{{ words(1000000000) }}",
    "{% for i in range(9999) %}{{ words(9999) }}{% endfor %}",
    "{{ 1 | round(1000000000) | string | length > 100 and 1/0 or 1/0 }}",
    "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "{{ " + "-" * 5_000 + "1 }}",
    "{{ " + "not " * 5_000 + "1 }}",
    "{{ " + "[" * 5_000 + "]" * 5_000 + " }}",
    "{{ 1" + " + 1" * 5_000 + " }}",
    "{% for a in [1] %}" * 50 + "{% endfor %}" * 50,
    "{% if 1 %}" * 3_000 + "{% endif %}" * 3_000,
    "{{ " + "9" * 5_000 + " }}",
    "{{ big ~ big ~ big }}",
    "x" * (LONGEST_TEMPLATE + 1),
]


@pytest.mark.parametrize("source", BOMBS, ids=lambda source: source[:50])
def test_nothing_takes_long(source: str) -> None:
    assert len(failure(source).message) <= 1_000


def test_a_long_outcome_is_cut_off_not_finished() -> None:
    assert f"more than {LONGEST_OUTCOME} characters" in failure("{{ big }}").message


@pytest.mark.parametrize(
    ("source", "line", "sentence"),
    [
        ("a\nb {{ nope }}", 2, "there is no name 'nope'"),
        ("a\n{{ modle }}", 2, "did you mean 'model'"),
        ("\n\n{{ model | uper }}", 3, "there is no filter 'uper'; did you mean 'upper'"),
        ("{{ model is definde }}", 1, "did you mean 'defined'"),
        ("{{ wordz(3) }}", 1, "did you mean 'words'"),
        ("\n{{ body.n / 0 }}", 2, "division by zero"),
        ("\n{{ body.missing }}", 2, "there is no 'missing' in the mapping; `is defined` asks"),
        ("{{ 'x' if body.missing else 'y' }}", 1, "there is no 'missing' in the mapping"),
        ("{{ body.missing.more[0] }}", 1, "there is no 'missing' in the mapping"),
        ("{{ messages[7].text }}", 1, "there is no item 7 in a list of "),
        ("{{ body | sort }}{{ [1, 'a'] | sort }}", 1, "only numbers, or only texts, can be sorted"),
        ("{{ [1, true] | sum }}", 1, "a sum is of numbers, not true or false"),
        ("{{ body.n | upper }}", 1, "a text is wanted, not a number"),
        ("{{ model + 1 }}", 1, "+ takes numbers, not a text"),
        ("{% for x in 3 %}{% endfor %}", 1, "a loop goes over a list, not over a number"),
        ("{{ words('a') }}", 1, "a whole number is wanted, not a text"),
        ("{{ '{' | fromjson }}", 1, "not JSON"),
        ("{{ body.list | sort(reverse=true) }}", 1, "unexpected keyword argument"),
        ("{% if %}", 1, "Expected an expression"),
        ("a\n{% for x in y %}", 2, "endfor"),
        ("{{ 'a", 1, "unexpected char"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(source: str, line: int, sentence: str) -> None:
    error = failure(source)
    assert (error.line, bool(re.search(re.escape(sentence), error.message))) == (line, True), (
        error.message
    )


def test_a_template_does_not_change_what_it_sees() -> None:
    values = {"body": {"list": [3, 1, 2]}}
    Template("{{ body.list | sort }}{{ body.list | reverse }}", values).render(values, list)
    assert values == {"body": {"list": [3, 1, 2]}}


# ---------------------------------------------------------------- arguments of calls


def test_arguments_of_a_call_are_made_of_the_request(tmp_path: Path) -> None:
    text = """
rules:
- reply:
    tool_calls:
    - {name: find, template: '{"words": {{ last_user | tojson }}, "try": {{ hit }}}'}
    - {name: wait, arguments: {seconds: 1}}
"""
    state = asking.state(tmp_path, text)
    for hit in (1, 2):
        reply = asking.found(state.find(subject(user('"Ada"')))).outcome.reply
        assert reply is not None
        find, wait = reply.tool_calls
        assert json.loads(find.arguments) == {"words": '"Ada"', "try": hit}
        assert json.loads(wait.arguments) == {"seconds": 1}


def test_a_template_of_arguments_that_fails_names_the_rule(tmp_path: Path) -> None:
    text = "rules: [{name: r, reply: {tool_calls: [{name: f, template: '{{ 1 / body.n }}'}]}}]"
    refusal = asking.found(
        asking.state(tmp_path, text).find(subject(user("x", n=0)))
    ).outcome.refusal
    assert refusal is not None
    assert "division by zero" in asking.error_of(refusal)[1]["message"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("{name: f, template: '{{ nothing.of.it }'}", "#/rules/0/reply/tool_calls/0/template"),
        ("{name: f, template: a, arguments: b}", "cannot both be sent"),
    ],
)
def test_a_wrong_template_of_arguments_is_told(tmp_path: Path, call: str, says: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(says)):
        asking.state(tmp_path, f"rules: [{{reply: {{tool_calls: [{call}]}}}}]")
