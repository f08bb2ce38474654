"""The control interface: every operation of its document, and everything that can be asked wrong.

Every answer that a test gets here is held against the document, see `told`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openapi_spec_validator import validate

from wafermock.mockserver.control import bench as parts
from wafermock.mockserver.control import control as control_module
from wafermock.mockserver.control.bench import RuleShown
from wafermock.mockserver.control.control import Control
from wafermock.mockserver.control.entry import Miss, Why
from wafermock.mockserver.control.interface import ControlInterface, _Operations
from wafermock.mockserver.control.paths import PREFIX, is_control
from wafermock.mockserver.control.routes import Problem, Routes
from wafermock.mockserver.control.scripts import MOST_YAML, LoadedScripts
from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.service import Service
from wafermock.mockserver.wire.defects import DEFECTS
from wafermock.mockserver.wire.deliveries import DELIVERIES
from wafermock.mockserver.wire.failures import failure_catalogue
from wafermock.spec import DocumentError, load_contract

ROUTES = Routes()


def told(request: Request, answer: Answer) -> None:
    """Hold an answer against the document."""
    path = request.path.removeprefix(PREFIX)
    if path == "":
        return
    assert answer.headers["cache-control"] == "no-store"
    content_type = answer.headers["content-type"]
    if answer.status >= 400:
        schema = ROUTES.answer_schema("state", answer.status, content_type)
    else:
        key, _ = ROUTES.find(request.method, path)
        operation = ROUTES.document["paths"][key[0]][key[1]]["operationId"]
        assert str(answer.status) in ROUTES.document["paths"][key[0]][key[1]]["responses"]
        schema = ROUTES.answer_schema(operation, answer.status, content_type)
    assert schema is not None
    json_like = content_type.startswith("application/json")
    value = json.loads(answer.body) if json_like else answer.body.decode()
    assert [v.message for v in schema.violations(value)] == []


@pytest.fixture(autouse=True)
def _all_answers_obey_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ControlInterface.answer

    def answer(self: ControlInterface, request: Request, remote: str | None) -> Answer:
        given = plain(self, request, remote)
        told(request, given)
        return given

    monkeypatch.setattr(ControlInterface, "answer", answer)


def message(answer: Answer) -> str:
    return str(json.loads(answer.body)["error"]["message"])


# ---------------------------------------------------------------- the document


def test_the_document_is_valid_and_says_all_that_is_answered() -> None:
    validate(ROUTES.document)
    ids = ROUTES.ids
    assert len(ids) == len(set(ids))
    methods = {name for name in vars(_Operations) if not name.startswith("_")}
    assert set(ids) == methods


def test_every_operation_is_answered_as_the_document_says(
    make_bench: Callable[..., Any], say: Callable[..., Any]
) -> None:
    bench = make_bench(scripts=Scripts())
    asked = []

    def ask(method: str, path: str, body: Any = None) -> None:
        assert bench.ask(method, path, body).status in (200, 201), (method, path)
        key, _ = ROUTES.find(method, path)
        asked.append(ROUTES.document["paths"][key[0]][key[1]]["operationId"])

    ask("POST", "/held", {"times": 2})
    for _ in range(2):
        bench.call(say("Why?", stream=True))
    for path in ("emit", "hold", "release", "drop"):
        ask("POST", f"/held/1/{path}")
    for path in ("", "/curl", "/rule"):
        ask("GET", f"/journal/1{path}")
    ask("POST", "/armed", {"kind": "error", "name": "payment_required"})
    ask("DELETE", "/armed/1")
    ask("DELETE", "/armed")
    ask("DELETE", "/held")
    ask("POST", "/script", {"rules": []})
    ask("PUT", "/script", {"rules": []})
    ask("PUT", "/clock", {"time": 1})
    ask("POST", "/clock/advance", {"seconds": 1})
    ask("PUT", "/limits", {"limits": ["rpm=5"]})
    ask("PUT", "/queue", {"seconds": 1})
    for path in ("", "openapi.json", "metrics", "state", "catalogues", "journal", "coverage",
                 "script", "armed", "clock", "limits", "queue", "held"):  # fmt: skip
        ask("GET", f"/{path}")
    ask("DELETE", "/journal")
    ask("POST", "/reset")
    assert set(asked) == set(ROUTES.ids)


def test_the_document_is_served(bench: Any) -> None:
    assert bench.get("/openapi.json") == ROUTES.document


# ---------------------------------------------------------------- calls


def test_calls_come_with_all_that_lists_need(bench: Any, say: Callable[..., Any]) -> None:
    bench.call(say("Hello!"), scope="a").end(0.25)
    bench.call(say("Why?", stream=True), why=Why(nearest=(Miss("r", ("no",)),)))
    found = bench.get("/journal")
    first, second = found["calls"]
    assert first["asked"] == "Hello!"
    assert first["answered"] == "Hello! How can I assist you today?"
    assert (first["operation"], first["scope"], first["duration"]) == (
        "createChatCompletion", "a", 0.25,
    )  # fmt: skip
    assert (second["ending"], second["stream"], second["missed"]) == (None, True, True)
    assert found["journal"]["last"] == 2


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", [1, 2, 3]),
        ("status=4xx", [3]),
        ("model=gpt*", [1, 2]),
        ("scope=", [2, 3]),
        ("scope=a%20b", [1]),
        ("stream=true", [2]),
        ("stream=false", [1, 3]),
        ("missed=true", []),
        ("text=hello", [1]),
        ("after=1&limit=1", [2]),
        ("since=0&limit=2", [1, 2]),
        ("limit=0", []),
        ("path=/v1/chat/*&operation=createChatCompletion", [1, 2]),
    ],
)
def test_filters(bench: Any, say: Callable[..., Any], query: str, numbers: list[int]) -> None:
    bench.call(say("Hello!"), scope="a b")
    bench.call(say("Why?", stream=True))
    bench.call({"model": "m", "prompt": "Third"}, path="/nowhere")
    found = bench.get("/journal", query=query)["calls"]
    assert [call["number"] for call in found] == numbers


def test_one_call_whole_with_its_secrets_masked(bench: Any, say: Callable[..., Any]) -> None:
    key = "csk-zyxwvutsrqponmlk9876"
    near = (Miss("slow", ("the model is 'm'", "no stream")),)
    body = say(f"My key is {key}", stream=True)
    bench.call(body, headers={"cookie": "a=b"}, query=f"api_key={key}", why=Why(nearest=near))
    answer = bench.ask("GET", "/journal/1")
    assert key.encode() not in answer.body
    assert b"csk-0123" not in answer.body
    call = json.loads(answer.body)
    assert call["request"]["headers"]["authorization"] == "Bearer ***"
    assert call["request"]["headers"]["cookie"] == "***"
    assert call["query"] == "api_key=***"
    assert call["nearest"] == [{"rule": "slow", "differences": list(near[0].differences)}]
    parts = call["answer"]["parts"]
    assert parts[-1] == {"at": None, "text": "data: [DONE]\n\n", "base64": None}
    assert call["answer"]["said"][0]["finish_reason"] == "stop"
    assert call["answer"]["usage"]["total_tokens"] == call["tokens"]
    listed = bench.ask("GET", "/journal").body + bench.ask("GET", "/journal/1/rule").body
    listed += bench.ask("GET", "/journal/1/curl").body
    assert key.encode() not in listed


def test_bytes_that_are_no_text(bench: Any) -> None:
    answer = Answer(200, {}, (b"\xff\x00",), offsets=(0.5,))
    bench.call(b"\x81\xa1m\xc1", headers={"content-type": "application/vnd.msgpack"}, answer=answer)
    call = bench.get("/journal/1")
    assert call["request"]["body"] == {"text": None, "base64": "gaFtwQ==", "size": 4, "data": None}
    assert call["answer"]["parts"] == [{"at": 0.5, "text": None, "base64": "/wA="}]


def test_a_call_that_is_not_there(bench: Any) -> None:
    for path in ("/journal/1", "/journal/1/curl", "/journal/1/rule"):
        answer = bench.ask("GET", path)
        assert (answer.status, message(answer)) == (404, "the journal has no call 1; it is empty")
    bench.call()
    assert message(bench.ask("GET", "/journal/2")).endswith("it keeps 1 to 1")


def test_coverage(bench: Any) -> None:
    bench.call(scope="a")
    found = bench.get("/coverage")
    points = {point["id"]: point for point in found["points"]}
    assert points["finish:stop"] == {
        "id": "finish:stop", "group": "finish", "what": "finish_reason stop", "calls": 1,
        "example": 1, "sentence": "1 call saw finish_reason stop",
    }  # fmt: skip
    assert points["answer:stream"]["sentence"] == "no call saw a stream"
    assert found["seen"] == sum(point["calls"] > 0 for point in found["points"])
    assert bench.get("/coverage", query="scope=b")["seen"] == 0


def test_forgetting(bench: Any) -> None:
    bench.call(scope="a")
    bench.call()
    assert bench.do("DELETE", "/journal", query="scope=a") == {"forgotten": 1}
    assert bench.do("DELETE", "/journal") == {"forgotten": 1}
    assert bench.get("/journal")["calls"] == []


# ---------------------------------------------------------------- levers


def test_the_clock(bench: Any) -> None:
    begin = bench.get("/clock")
    assert begin["kind"] == "frozen"
    assert bench.do("POST", "/clock/advance", {"seconds": 1.5})["time"] == begin["time"] + 1.5
    assert bench.do("PUT", "/clock", {"time": 5}) == {"kind": "frozen", "time": 5.0}
    too_far = bench.ask("POST", "/clock/advance", {"seconds": 253402300799})
    assert (too_far.status, "9999" in message(too_far)) == (422, True)


def test_limits_hold_from_then_on(bench: Any, say: Callable[..., Any]) -> None:
    assert bench.get("/limits") == {"limits": []}
    told = bench.do("PUT", "/limits", {"limits": ["rpm=1,tpm=30k", "m:rpd=none"]})
    assert told == {"limits": ["rpm=1,tpm=30000", "m:rpd=none"]}
    assert bench.do("PUT", "/limits", told) == told  # what it says, it understands
    statuses = [bench.call(say("Hi")).entry.answer.status for _ in range(2)]
    assert statuses == [200, 429]
    bench.do("PUT", "/limits", {"limits": []})
    assert bench.call(say("Hi")).entry.answer.status == 200
    wrong = bench.ask("PUT", "/limits", {"limits": ["rmp=1"]})
    assert (wrong.status, "did you mean rpm?" in message(wrong)) == (422, True)
    assert json.loads(wrong.body)["error"]["at"] == ["/limits"]


def test_the_queue(bench: Any) -> None:
    assert bench.get("/queue") == {"seconds": None}
    assert bench.do("PUT", "/queue", {"seconds": 0.3}) == {"seconds": 0.3}
    assert bench.service.queue.seconds == 0.3
    assert bench.do("PUT", "/queue", {"seconds": None}) == {"seconds": None}


class Shelf:
    """A catalogue of failures, as another part of the mock has it."""

    def __iter__(self) -> Iterator[str]:
        return iter(["stall"])

    def __getitem__(self, name: str) -> Any:
        return parts._Error("Nothing comes.", "time out")

    def parse(self, text: str) -> Any:
        if not text.startswith("stall"):
            raise ValueError(f"there is no failure {text!r}")
        return ("stall", text)


def test_arming(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(catalogues={"failure": Shelf()})
    given = {"name": "stall:after=3", "times": 2, "after": 1, "model": "gpt*", "scope": "a"}
    (armed,) = bench.do("POST", "/armed", given)["armed"]
    more = {"number": 1, "kind": "failure", "left": 2, "operation": None}
    assert armed == {**{k: v for k, v in given.items() if k != "times"}, **more}
    assert bench.control.armed.listed[0][1].chosen == ("stall", "stall:after=3")
    bench.do("POST", "/armed", {"kind": "error", "name": "payment_required", "times": None})
    assert [a["left"] for a in bench.get("/armed")["armed"]] == [2, None]
    assert [a["number"] for a in bench.do("DELETE", "/armed/1")["armed"]] == [2]
    assert bench.ask("DELETE", "/armed/1").status == 404
    assert bench.do("DELETE", "/armed") == {"armed": []}


@pytest.mark.parametrize(
    ("body", "at", "says"),
    [
        ({"name": "nonsense"}, "/name", "no failure 'nonsense'"),
        ({"kind": "error", "name": "payment_requird"}, "/name", "did you mean payment_required?"),
        ({"kind": "delivery", "name": "x"}, "/kind", "no catalogue of deliverys"),
        ({"kind": "x", "name": "x"}, "/kind", "/kind"),
        ({"name": "stall", "times": 0}, "/times", "/times"),
        ({"name": "stall", "tmies": 1}, "/tmies", "tmies"),
        ({"name": "x" * 1001}, "/name", "1000"),
        ({}, "/name", "name"),
    ],
)
def test_arming_what_is_not_there(
    make_bench: Callable[..., Any], body: dict[str, Any], at: str, says: str
) -> None:
    bench = make_bench(catalogues={"failure": Shelf()})
    answer = bench.ask("POST", "/armed", body)
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["at"]) == (422, [at])
    assert says in error["message"]
    assert bench.control.armed.listed == []


def test_catalogues(make_bench: Callable[..., Any]) -> None:
    found = make_bench(catalogues={"failure": Shelf()}).get("/catalogues")
    assert found["failure"] == [{"name": "stall", "says": "Nothing comes.", "advice": "time out"}]
    assert "payment_required" in [entry["name"] for entry in found["error"]]


def test_the_catalogues_of_the_mock_can_be_armed(make_bench: Callable[..., Any]) -> None:
    failures = failure_catalogue(load_contract().errors)
    known = {"failure": failures, "delivery": DELIVERIES, "defect": DEFECTS}
    bench = make_bench(catalogues=known)
    found = bench.get("/catalogues")
    for kind, catalogue in known.items():
        assert [entry["name"] for entry in found[kind]] == list(catalogue)
        name = next(iter(catalogue))
        bench.do("POST", "/armed", {"kind": kind, "name": f"{name}:rate=0.5"})
    assert [a.chosen.rate for _, a, _ in bench.control.armed.listed] == [0.5, 0.5, 0.5]
    wrong = bench.ask("POST", "/armed", {"name": "stal"})
    assert (wrong.status, "did you mean 'stall'" in message(wrong)) == (422, True)


def test_held_streams(bench: Any, say: Callable[..., Any]) -> None:
    (order,) = bench.do("POST", "/held", {"at": 2, "times": 2, "scope": "a"})["orders"]
    assert (order["at"], order["left"], order["scope"]) == (2, 2, "a")
    stream = bench.call(say("Why?", stream=True), scope="a")
    assert stream.held is not None
    assert stream.held.parts == len(stream.entry.answer.parts)
    assert bench.call(say("Why?"), scope="a").held is None  # not a stream
    assert bench.call(say("Why?", stream=True)).held is None  # another scope
    shown = bench.do("POST", "/held/1/emit")
    assert (shown["number"], shown["allowed"]) == (1, 3)
    assert bench.do("POST", "/held/1/emit", {"parts": 2})["allowed"] == 5
    assert bench.do("POST", "/held/1/hold")["allowed"] == 0
    assert bench.do("POST", "/held/1/release")["allowed"] == shown["parts"]
    assert bench.do("POST", "/held/1/drop")["state"] == "dropped"
    stream.end(1.0, "dropped")
    answer = bench.ask("POST", "/held/1/emit")
    assert (answer.status, message(answer)) == (404, "no stream of call 1 is under control")
    assert bench.do("DELETE", "/held") == {"streams": [], "orders": []}
    assert bench.do("POST", "/held")["orders"][0]["left"] == 1
    assert len(bench.get("/held")["orders"]) == 1


class Scripts:
    """The script of a mock, as another part of it has it."""

    def __init__(self) -> None:
        self.known = [RuleShown("first", "a.yaml:2", 0)]
        self.resets: list[str | None] = []

    def rules(self) -> list[RuleShown]:
        return self.known

    def load(self, text: str, name: str, *, instead: bool) -> None:
        if "broken" in text:
            raise DocumentError("there is no 'broken'", file=name, line=3, pointer=("rules", 0))
        self.known = [RuleShown(text, f"{name}:1", 0), *([] if instead else self.known)]

    def reset(self, scope: str | None) -> None:
        self.resets.append(scope)


YAML = {"content-type": "application/yaml; charset=utf-8"}


def test_scripts(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(scripts=Scripts())
    assert [r["name"] for r in bench.get("/script")["rules"]] == ["first"]
    added = bench.do("POST", "/script", b"rules: []", headers=YAML)["rules"]
    assert [r["name"] for r in added] == ["rules: []", "first"]
    assert len(bench.do("PUT", "/script", {"rules": []})["rules"]) == 1
    broken = bench.ask("PUT", "/script", b"broken", headers=YAML)
    assert (broken.status, message(broken)) == (422, "script:3: #/rules/0: there is no 'broken'")
    assert len(bench.get("/script")["rules"]) == 1


def test_a_mock_without_scripts(bench: Any) -> None:
    assert bench.get("/script") == {"rules": []}
    assert message(bench.ask("PUT", "/script", {})) == "this server reads no scripts"


def test_a_reset_brings_everything_back(make_bench: Callable[..., Any]) -> None:
    scripts = Scripts()
    bench = make_bench(scripts=scripts)
    begin = bench.get("/state")
    bench.call(scope="a")
    bench.do("PUT", "/limits", {"limits": ["rpm=1"]})
    bench.do("PUT", "/queue", {"seconds": 1})
    bench.do("POST", "/clock/advance", {"seconds": 9})
    bench.do("POST", "/armed", {"kind": "error", "name": "payment_required"})
    bench.do("POST", "/held", {})
    assert bench.get("/state")["armed"] == 1
    assert bench.do("POST", "/reset") == {"forgotten": 1}
    after = bench.get("/state")
    changed = {key for key in begin if begin[key] != after[key]}
    assert changed == {"journal", "in_flight"}  # numbers go on; the call is still being answered
    assert after["journal"]["kept"] == 0
    assert scripts.resets == [None]


def test_a_reset_of_a_scope_leaves_the_rest(make_bench: Callable[..., Any]) -> None:
    scripts = Scripts()
    bench = make_bench(scripts=scripts)
    bench.call(scope="a")
    bench.call(scope="b")
    bench.do("PUT", "/queue", {"seconds": 1})
    assert bench.do("POST", "/reset", {"scope": "a"}) == {"forgotten": 1}
    assert [c["scope"] for c in bench.get("/journal")["calls"]] == ["b"]
    assert bench.get("/queue") == {"seconds": 1.0}
    assert scripts.resets == ["a"]


def test_state(bench: Any) -> None:
    bench.call()
    state = bench.get("/state")
    assert (state["profile"], state["in_flight"]) == ("documented", 1)
    assert state["journal"]["kept"] == 1


# ---------------------------------------------------------------- asked wrong


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("GET", "/nowhere", 404, "/__wafermock__/openapi.json lists"),
        ("GET", "/journal/", 404, "there is no"),
        ("GET", "//journal", 404, "there is no"),
        ("GET", "/journal/1/x", 404, "there is no"),
        ("POST", "/journal", 405, "by GET, DELETE"),
        ("OPTIONS", "/state", 405, "by GET"),
        ("GET", "/journal/x", 422, "number"),
        ("GET", "/journal/9999999999999999", 422, "number"),
    ],
)
def test_paths_and_methods(bench: Any, method: str, path: str, status: int, says: str) -> None:
    answer = bench.ask(method, path)
    assert answer.status == status
    assert says in message(answer)
    assert ("allow" in answer.headers) == (status == 405)


@pytest.fixture
def loading(bench: Any) -> Any:
    """The bench, with a script that can be loaded."""
    scripts = LoadedScripts(bench.service.mock)
    return replace(bench, control=Control(bench.service, scripts=scripts))


def test_a_long_script_in_yaml_is_told_its_bound(loading: Any) -> None:
    """YAML takes ten times as long to read as JSON, which has the bound of every body."""
    yaml = "rules: [{name: a, reply: {text: " + "x" * MOST_YAML + "}}]"
    answer = loading.ask("POST", "/script", yaml.encode(), headers=YAML)
    assert answer.status == 413
    assert f"at most {MOST_YAML} characters" in message(answer)
    assert "write it as JSON" in message(answer)
    flow = "{" + yaml  # neither JSON nor, behind its bound, to be read as YAML
    assert loading.ask("PUT", "/script", flow.encode(), headers=YAML).status == 413
    rules = [{"name": "a", "reply": {"text": "x" * MOST_YAML}}]
    listed = loading.do("POST", "/script", json.dumps({"rules": rules}).encode(),
                      headers=YAML)  # fmt: skip
    assert [rule["name"] for rule in listed["rules"]] == ["a"]


def test_a_script_of_many_rules_knows_the_line_of_each(loading: Any) -> None:
    rules = [{"name": f"r{n}", "reply": {"text": "x"}} for n in range(3000)]
    text = json.dumps({"rules": rules}, indent=1)
    listed = loading.do("POST", "/script", text.encode(), headers=YAML)
    lines = text.splitlines()
    for rule in listed["rules"]:
        file, _, line = rule["place"].rpartition(":")
        assert file == "script-1.yaml"
        assert lines[int(line) - 1 : int(line) + 1] == ["  {", f'   "name": "{rule["name"]}",']


def test_a_body_over_the_bound_is_told_as_that(bench: Any) -> None:
    bound = bench.service.mock.settings.max_body
    raw = b"\0" * (bound + 1)  # what stands for a body that was not read
    for path, kind in (("/armed", "application/json"), ("/script", "application/yaml")):
        answer = bench.ask("POST", path, raw, headers={"content-type": kind})
        assert answer.status == 413
        assert f"longer than {bound} bytes" in message(answer)


@pytest.mark.parametrize(
    "query",
    ["status=4", "status=abc", "limit=-1", "limit=x", "after=1.5", "since=", "stream=yes", "x=1"],
)
def test_parameters(bench: Any, query: str) -> None:
    answer = bench.ask("GET", "/journal", query=query)
    assert answer.status == 422
    assert query.split("=")[0] in message(answer)


@pytest.mark.parametrize(
    ("body", "content_type", "status", "says"),
    [
        (b"", "application/json", 422, "missing"),
        (b"{", "application/json", 400, "not JSON"),
        (b"\xff", "application/json", 400, "UTF-8"),
        (b"[" * 100_000, "application/json", 400, ""),
        (b"NaN", "application/json", 422, ""),
        (b"[]", "application/json", 422, "object"),
        (b'{"seconds": "1"}', "application/json", 422, "/seconds"),
        (b'{"seconds": -1}', "application/json", 422, "/seconds"),
        (b'{"seconds": 1, "x": 1}', "application/json", 422, "/x"),
        (b'{"seconds": 1}', "text/plain", 415, "application/json"),
        (b'{"seconds": 1}', "", 415, "application/json"),
        (b"seconds=1", "application/x-www-form-urlencoded", 415, "application/json"),
    ],
)
def test_bodies(bench: Any, body: bytes, content_type: str, status: int, says: str) -> None:
    headers = {"content-type": content_type}
    answer = bench.ask("POST", "/clock/advance", body, headers=headers)
    assert answer.status == status
    assert says in message(answer)


@given(
    st.sampled_from(sorted(ROUTES.document["paths"])),
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"]),
    st.text(max_size=20),
    st.binary(max_size=40) | st.sampled_from([b"{}", b'{"scope": "a"}', b'{"seconds": 1e400}']),
    st.sampled_from(["application/json", "application/yaml", "text/plain", "\x00"]),
)
def test_nothing_that_is_asked_makes_it_raise(
    make_mock: Any, path: str, method: str, query: str, body: bytes, content_type: str
) -> None:
    control = _one_for_all(make_mock)
    headers = {"host": "localhost", "content-type": content_type}
    request = Request(method, PREFIX + path.replace("{number}", "1"), query, headers, body)
    assert control.interface.answer(request, "127.0.0.1").status in (
        200, 201, 400, 404, 405, 415, 422,
    )  # fmt: skip


_CONTROLS: list[control_module.Control] = []


def _one_for_all(make_mock: Any) -> control_module.Control:
    if not _CONTROLS:
        _CONTROLS.append(control_module.Control(Service(make_mock())))
    return _CONTROLS[0]


def test_strangers_get_nothing(bench: Any) -> None:
    bench.call()
    for headers, remote in (
        ({}, "10.0.0.9"),
        ({"host": "evil.example"}, "127.0.0.1"),
        ({"origin": "http://evil.example"}, "127.0.0.1"),
    ):
        for method, path in (("GET", "/journal"), ("POST", "/reset"), ("GET", "/metrics")):
            answer = bench.ask(method, path, headers=headers, remote=remote)
            assert answer.status == 403
    assert len(bench.control.journal) == 1


def test_the_page(bench: Any) -> None:
    answer = bench.ask("GET", "/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert policy.count("'sha256-") == 2
    moved = bench.ask("GET", "")
    assert (moved.status, moved.headers["location"]) == (308, "/__wafermock__/")


def test_what_is_control() -> None:
    assert is_control("/__wafermock__")
    assert is_control("/__wafermock__/state")
    assert not is_control("/__wafermock__x")
    assert not is_control("/v1/models")


def test_the_problem_of_a_document_that_lacks_an_answer() -> None:
    with pytest.raises(KeyError):
        ROUTES.answer_schema("state", 200, "text/plain")
    with pytest.raises(Problem):
        ROUTES.find("GET", "/x")


def test_the_files_are_part_of_the_package() -> None:
    home = Path(control_module.__file__).parent
    assert (home / "page.html").is_file()
    assert (home / "openapi.yaml").is_file()
