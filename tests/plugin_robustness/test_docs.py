"""docs/robustness.md: its examples run, and its tables and names are those of the code."""

import ast
import re
from pathlib import Path

import httpx

from wafermock import MockServer, conforming
from wafermock.mockserver.robustness import watch
from wafermock.mockserver.robustness.verdict import NAMES

from .conftest import Run

DOCS = (Path(__file__).parents[2] / "docs" / "robustness.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)

MY_CLIENT = """
import httpx

class my_client:
    def __init__(self, url, timeout=5):
        self.url, self.timeout = url, timeout

    def ask(self, said):
        body = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": said}]}
        key = {"authorization": "Bearer test"}
        made = httpx.Client(trust_env=False, verify=False, timeout=self.timeout, headers=key)
        with made as client:
            for left in (1, 0):
                try:
                    answer = client.post(f"{self.url}/v1/chat/completions", json=body)
                except httpx.TransportError:
                    if left:
                        continue
                    raise
                if answer.status_code < 500 or not left:
                    return answer.raise_for_status().json()["choices"][0]["message"]["content"]
"""


def test_the_examples_of_tests_run(run: Run) -> None:
    tests = [block for block in BLOCKS if block.startswith("def test_")]
    assert len(tests) == 2
    chosen = "every_stream or bad_gateway or wrong_api_key"
    result = run(MY_CLIENT + "\n\n".join(tests), "-k", chosen)
    assert result.parseoutcomes()["passed"] > 30
    assert "failed" not in result.parseoutcomes()


def test_the_other_examples_run() -> None:
    watched, conforms = (block for block in BLOCKS if not block.startswith("def test_"))
    space: dict[str, object] = {}
    exec(MY_CLIENT, space)
    with MockServer() as mock:
        exec(watched, {**space, "mock": mock})
        body = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "hi"}]}
        statements = ast.parse(conforms).body
        calls = [i for i, each in enumerate(statements) if isinstance(each, ast.Expr)]
        answers: list[httpx.Response] = []

        def checked(response: httpx.Response) -> None:
            answers.append(response)
            conforming.assert_conforms(response)

        names = {"httpx": httpx, "url": mock.url, "body": body, "assert_conforms": checked}
        for statement in statements[1 : calls[0] + 1]:  # the first call, and what it wants
            exec(ast.unparse(statement), names)
        assert [answer.status_code for answer in answers] == [200]


def test_every_fault_stands_in_the_table() -> None:
    assert tuple(re.findall(r"^\| `(\w+)` \|", DOCS, re.MULTILINE)) == NAMES
    assert callable(watch)
