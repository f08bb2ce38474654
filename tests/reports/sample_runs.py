"""Runs that the tests of the reports are made from. Everything is a function of nothing.

- `small_run`: one of each, a screen long: golden files.
- `rich_run`: every state, 8 groups, 103 rules, findings of every kind, hostile bodies among them.
- `clean_run`: nothing found.
- `large_run`: 2,000 findings.
- `hostile_run`: every text and every body of it attacks the reader.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from wafermock.reports.run import (
    Budget,
    Capability,
    Cell,
    Cost,
    Endpoint,
    Exercised,
    Finding,
    Part,
    Rule,
    Run,
    Spread,
    State,
    Tool,
    Traffic,
    Verdict,
)

RULES = tuple(
    Rule(*fields)
    for fields in json.loads(
        Path(__file__).with_name("sample_rules.json").read_text(encoding="utf-8")
    )
)
BY_ID = {rule.id: rule for rule in RULES}
CHAT = "/v1/chat/completions"
SCHEMAS = "#/components/schemas"
BEGAN = 1_796_000_000.25

SENT_HEADERS = (
    ("host", "api.example.test"),
    ("authorization", "Bearer ***"),
    ("content-type", "application/json"),
    ("user-agent", "wafermock/0.1"),
)
ANSWERED_HEADERS = (
    ("Date", "Mon, 30 Nov 2026 01:00:00 GMT"),
    ("Content-Type", "application/json"),
    ("X-Request-Id", "req-0001"),
)

# What a server may send to whoever reads the report.
SCRIPT = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
BREAKOUTS = (
    "</script></style></textarea></title><!-- --!> <!-- <script> ]]> <![CDATA[ "
    "{{ 7*7 }} {% raw %} ${7*7} <% %> &lt;b&gt; &#x3c; javascript:alert(1) '\"`\\"
)
BIDI = "safe \u202eevil\u202c \u2066isolated\u2069 \u200fmark\u200e zero\u200bwidth \ufeffBOM"
LINES = "one\u2028two\u2029three\x85four\x0bfive\x0csix\rseven\r\neight\x00nine\x1b[31mred\x7f"
MARKDOWN = (
    "| a | `b` ``` ~~~~ **c** <!-- [x](javascript:1) @octocat #1 https://evil.example ![i](x)"
)
WORKFLOW = "\n::error file=x::pwned\r\n%0A%25 ::set-output name=a::b"
HALF = "half \ud800 pair \udfff"
HOSTILE_TEXTS = (SCRIPT, BREAKOUTS, BIDI, LINES, MARKDOWN, WORKFLOW, "𝕬\U0010ffff", "a" * 5000)
HOSTILE_BODIES = (
    *(text.encode() for text in HOSTILE_TEXTS),
    HALF.encode("utf-8", "surrogatepass"),
    b"\xff\xfe\xc0\xaf invalid \xe2\x82 UTF-8 \x80",
    bytes(range(256)),
    b"data: " + SCRIPT.encode() + b"\n\ndata: [DONE]\n\n",
    b"",
)


def traffic(
    id: str,
    body: object = None,
    *,
    answer: bytes = b"{}",
    status: int | None = 200,
    kind: str = "example",
    headers: tuple[tuple[str, str], ...] = ANSWERED_HEADERS,
    times: tuple[float, ...] = (0.012,),
    **others: object,
) -> Traffic:
    """An exchange; its answer came in as many equal parts as there are times (in seconds)."""
    asked = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Hi"}]}
    size = max(1, -(-len(answer) // len(times)))
    parts = tuple(
        Part(at, answer[place * size : (place + 1) * size])
        for place, at in enumerate(times)
        if answer[place * size : (place + 1) * size]
    )
    made = Traffic(
        id=id,
        campaign="boundaries",
        kind=kind,
        method="POST",
        target=CHAT,
        request_headers=SENT_HEADERS,
        request_body=json.dumps(asked if body is None else body).encode(),
        status=status,
        reason="OK" if status == 200 else "",
        headers=headers,
        parts=parts,
    )
    return replace(made, **others)  # type: ignore[arg-type]


def stream(*events: object, done: bool = True, line_end: str = "\n") -> bytes:
    """The body of an event stream."""
    datas = [event if isinstance(event, str) else json.dumps(event) for event in events]
    if done:
        datas.append("[DONE]")
    return "".join(f"data: {data}{line_end}{line_end}" for data in datas).encode()


def chunk(
    delta: dict[str, object], finish: str | None = None, **others: object
) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-5f1e",
        "object": "chat.completion.chunk",
        "created": 1796000000,
        "model": "gpt-oss-120b",
        "choices": [choice],
        **others,
    }


def curl(exchange: Traffic) -> str:
    return (
        f"curl --silent --show-error -X {exchange.method} "
        f"https://api.example.test{exchange.target} \\\n"
        '  -H "Authorization: Bearer $CEREBRAS_API_KEY" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  --data-binary '{exchange.request_body[:2000].decode('utf-8', 'replace')}'"
    )


def python(exchange: Traffic) -> str:
    return (
        "import os\n\nimport httpx\n\nanswer = httpx.request(\n"
        f"    {exchange.method!r},\n    'https://api.example.test{exchange.target}',\n"
        "    headers={'Authorization': f\"Bearer {os.environ['CEREBRAS_API_KEY']}\"},\n"
        f"    content={exchange.request_body[:2000]!r},\n)\n"
        "print(answer.status_code)\nprint(answer.text)"
    )


def finding(
    id: str,
    rule: str,
    state: State,
    *exchanges: Traffic,
    location: str = "",
    kind: str = "example",
    where: str = "body",
    expected: str = "",
    actual: str = "",
    count: int = 1,
    known: str = "",
) -> Finding:
    return Finding(
        id=id,
        rule=rule,
        state=state,
        location=location or BY_ID[rule].source,
        kind=kind,
        where=where,
        expected=expected,
        actual=actual,
        traffic=exchanges,
        count=count,
        curl=curl(exchanges[0]) if exchanges else "",
        python=python(exchanges[0]) if exchanges else "",
        known=known,
    )


def _findings() -> Iterator[Finding]:
    role_late = stream(
        chunk({"content": "Fast"}),
        chunk({"role": "assistant", "content": " inference"}),
        chunk({"content": " matters."}, "stop"),
        chunk({}, None, choices=[], usage={"prompt_tokens": 9, "completion_tokens": 3}),
    )
    events = (("Content-Type", "text/event-stream"), ("X-Request-Id", "req-0002"))
    streamed = {
        "model": "gpt-oss-120b",
        "stream": True,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    yield finding(
        "F-001",
        "SEQ-ROLE-FIRST",
        "FAIL",
        traffic(
            "E-0002", streamed, answer=role_late, headers=events, times=(0.081, 0.093, 0.094, 0.180)
        ),
        kind="streamed",
        where="chunk 0, /choices/0/delta",
        expected='{"role": "assistant", "content": "Fast"}',
        actual='{"content": "Fast"}',
        count=12,
    )  # fmt: skip
    yield finding(
        "F-002",
        "ERR-REFUSED-CONSTRAINT",
        "FAIL",
        traffic(
            "E-0044",
            {"model": "gpt-oss-120b", "temperature": 1.6, "messages": []},
            answer=b'{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}',
            kind="boundary: above maximum",
        ),
        location=f"{SCHEMAS}/ChatCompletionRequest/properties/temperature/maximum",
        kind="boundary: above maximum",
        where="status",
        expected="a status of 400 or 422: temperature is 1.6, and the maximum is 1.5",
        actual="the status 200 and a completion",
        count=3,
    )
    yield finding(
        "F-003",
        "SCHEMA-TYPE",
        "FAIL",
        traffic(
            "E-0051",
            answer=b'{"id":"chatcmpl-2","created":"1796000000","choices":[],"usage":{"prompt_tokens":"9"}}',
        ),
        location=f"{SCHEMAS}/ChatCompletionResponse/properties/created/type",
        where="/created",
        expected="integer",
        actual='string: "1796000000"',
        count=41,
    )
    yield finding(
        "F-004",
        "STREAM-DONE",
        "WARN",
        traffic(
            "E-0060",
            streamed,
            answer=stream(chunk({"role": "assistant", "content": "Hi"}, "stop"), done=False),
            headers=events,
            ended="complete",
        ),
        kind="streamed",
        where="the end of the stream",
        expected="data: [DONE]",
        actual="nothing",
        known="The gateway in front drops the last event; fixed in its next release.",
        count=7,
    )
    # A probe: two exchanges that should have meant the same.
    yield finding(
        "F-005",
        "ENC-GZIP",
        "FAIL",
        traffic(
            "E-0101", kind="probe: plain", answer=b'{"choices":[{"message":{"content":"Hi"}}]}'
        ),
        traffic(
            "E-0102",
            kind="probe: gzip",
            status=400,
            answer=b'{"message":"Invalid JSON","type":"invalid_request_error","code":null}',
            request_body=bytes.fromhex("1f8b0800000000000003ab564acecf2d284a2d2e4e4d0100"),
        ),
        kind="probe: gzip",
        where="status",
        expected="the same answer as to the plain body: 200",
        actual="400",
    )
    yield finding(
        "F-006",
        "STREAM-UTF8",
        "FAIL",
        traffic(
            "E-0110",
            streamed,
            answer=b'data: {"choices":[{"delta":{"content":"caf\xe9 \xff\xfe"}}]}\n\n',
            headers=events,
            ended="cut",
            error="the connection was reset after 57 bytes",
        ),
        kind="streamed",
        where="byte 43",
        expected="UTF-8",
        actual="the byte e9, which begins no character",
    )
    yield finding(
        "F-007",
        "ERR-SHAPE",
        "FAIL",
        traffic(
            "E-0120",
            status=500,
            reason="Internal Server Error",
            kind="wrong type",
            headers=(("Content-Type", "text/html"), ("X-Note", SCRIPT)),
            answer=(SCRIPT + BREAKOUTS + BIDI + LINES).encode() + b"\xff\xfe",
        ),
        location=f"{SCHEMAS}/ErrorResponse",
        kind="wrong type",
        where="body",
        expected='{"message": "...", "type": "...", "param": "...", "code": "..."}',
        actual=SCRIPT + BREAKOUTS + BIDI,
        count=2,
    )
    yield finding(
        "F-008",
        "ERR-REFUSED-SIZE",
        "INFO",
        traffic(
            "E-0130",
            status=None,
            times=(0.0,),
            answer=b"",
            headers=(),
            ended="timeout",
            error="no answer within 60 s",
            request_body=b'{"messages":[{"role":"user","content":"' + b"x" * 9_000 + b'"}]}',
        ),
        kind="size: 64 MiB",
        where="the connection",
        expected="413",
        actual="no answer within 60 s",
    )
    yield finding(
        "F-009",
        "META-REPEAT",
        "WARN",
        *(
            traffic(f"E-014{number}", answer=b'{"choices":[{"message":{"content":"%s"}}]}' % text)
            for number, text in enumerate((b"Fast inference", b"Quick inference"))
        ),
        kind="probe: repeat",
        where="/choices/0/message/content",
        expected="Fast inference",
        actual="Quick inference",
    )
    yield finding(
        "F-010",
        "HDR-LIMIT-NUMBER",
        "FAIL",
        traffic("E-0150", headers=(*ANSWERED_HEADERS, ("x-ratelimit-limit-requests-day", "many"))),
        where="header x-ratelimit-limit-requests-day",
        expected="a number",
        actual="many",
        count=230,
    )


_WHY = {
    "NOT RUN": "No answer had log probabilities; a request with `logprobs: true` would have.",
    "UNSUPPORTED": "400: This model does not support `tools`.",
}


def _verdicts(findings: tuple[Finding, ...]) -> Iterator[Verdict]:
    for number, rule in enumerate(RULES):
        mine = [item for item in findings if item.rule == rule.id]
        evidence = (f"E-{number:04d}", f"E-{number + 200:04d}")
        if mine:
            worst = min((item.state for item in mine), key=("FAIL", "WARN", "INFO").index)
            broken = sum(item.count for item in mine)
            ids = tuple(item.id for item in mine)
            yield Verdict(rule.id, worst, max(0, 310 - broken), broken, evidence, ids)
        elif number % 13 == 6:
            yield Verdict(rule.id, "NOT RUN", why=_WHY["NOT RUN"])
        elif number % 29 == 8:
            yield Verdict(rule.id, "UNSUPPORTED", 0, 0, evidence, (), _WHY["UNSUPPORTED"])
        else:
            yield Verdict(rule.id, "PASS", 20 + number * 7 % 290, 0, evidence)


_PROPERTIES = (
    "frequency_penalty", "logprobs", "max_completion_tokens", "messages", "model", "n",
    "presence_penalty", "response_format", "seed", "stop", "stream", "temperature", "tool_choice",
    "tools", "top_logprobs", "top_p", "user",
)  # fmt: skip
_KINDS = (
    "boundary: maximum", "boundary: above maximum", "boundary: minimum", "boundary: below minimum",
    "wrong type", "null", "absent", "example",
)  # fmt: skip


def _cells() -> Iterator[Cell]:
    states: tuple[State, ...] = ("PASS", "PASS", "PASS", "FAIL", "PASS", "UNSUPPORTED", "PASS")
    for row, name in enumerate(_PROPERTIES):
        location = f"{SCHEMAS}/ChatCompletionRequest/properties/{name}"
        for column, kind in enumerate(_KINDS):
            if (row + column) % 4 == 3:
                continue
            refused = kind not in ("example", "boundary: maximum", "boundary: minimum")
            rule = "ERR-REFUSED-CONSTRAINT" if refused else "SCHEMA-TYPE"
            yield Cell(location, kind, rule, states[(row * 3 + column) % 7], 1 + (row + column) % 3)
    yield Cell(f"{SCHEMAS}/ChatCompletionRequest/properties/n", "null", "SCHEMA-NULL", "WARN", 2)
    yield Cell(f"{SCHEMAS}/ChatCompletionRequest/properties/n", "null", "SCHEMA-TYPE", "INFO", 1)
    yield Cell("#/paths/~1v1~1models/get", "example", "SCHEMA-REQUIRED", "NOT RUN", 0)


def spread(count: int, bounds: tuple[float, ...], weights: tuple[int, ...]) -> Spread:
    """A spread with that histogram; quantiles are the bounds of the buckets that hold them."""
    shares = [count * weight // sum(weights) for weight in weights]
    shares[0] += count - sum(shares)
    histogram = tuple(zip(bounds, shares, strict=True))

    def quantile(part: float) -> float:
        seen = 0
        for bound, share in histogram:
            seen += share
            if seen >= part * count:
                return bound
        return bounds[-1]

    return Spread(count, quantile(0.5), quantile(0.95), quantile(0.99), histogram)


_BOUNDS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.21, 0.34, 0.55, 0.89)
TIMINGS = {
    "first_byte": spread(1204, _BOUNDS, (2, 14, 40, 31, 18, 9, 5, 3, 2, 1)),
    "between_chunks": spread(
        48210, tuple(bound / 10 for bound in _BOUNDS), (30, 44, 21, 9, 4, 2, 1, 1, 0, 1)
    ),
    "tokens_per_second": spread(
        611, (200.0, 400.0, 800.0, 1200.0, 1600.0, 2000.0, 2400.0), (1, 2, 5, 14, 33, 20, 6)
    ),
}  # fmt: skip
CAPABILITIES = (
    Capability("chat completions", "PASS", "200"),
    Capability("completions", "PASS", "200"),
    Capability("streaming", "PASS", "text/event-stream"),
    Capability("tools", "UNSUPPORTED", "400: This model does not support `tools`."),
    Capability("structured outputs", "PASS", "valid by the schema"),
    Capability("log probabilities", "FAIL", "500 Internal Server Error"),
    Capability("gzip request bodies", "FAIL", "400: Invalid JSON"),
    Capability("MessagePack", "PASS", "the same answer"),
    Capability("HTTP/2", "UNSUPPORTED", "no h2 in ALPN"),
)


def _coverage() -> Iterator[Exercised]:
    chat = "#/paths/~1v1~1chat~1completions/post"
    yield Exercised("operation", chat, "POST /v1/chat/completions", 1120)
    yield Exercised("operation", "#/paths/~1v1~1completions/post", "POST /v1/completions", 84)
    for number, name in enumerate(_PROPERTIES):
        location = f"{SCHEMAS}/ChatCompletionRequest/properties/{name}"
        yield Exercised("property", location, name, number * 37 % 101 if number % 6 else 0)
        yield Exercised("constraint", f"{location}/type", f"{name}: type", number * 5)
    for value in ("stop", "length", "tool_calls", "content_filter"):
        location = f"{SCHEMAS}/FinishReason/enum"
        yield Exercised("enum value", location, f"finish_reason {value}", len(value) % 7)
    for status in (400, 401, 404, 408, 413, 422, 429, 500, 503):
        count = 0 if status in (408, 503) else status % 40
        yield Exercised("error response", f"{chat}/responses/{status}", str(status), count)
    for name, count in (("one choice", 210), ("several choices", 14), ("tool calls", 0)):
        yield Exercised("stream shape", f"{SCHEMAS}/ChatCompletionChunk", name, count)


TOOL = Tool(
    "0.1.0",
    "Cerebras Inference API 1.0.0 3f0c6c2a9d5f4b5e8e1f0a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d",
    "documented",
    "3.12.1",
    {"aiohttp": "3.14.5", "hypothesis": "6.170.17", "schemathesis": "4.32.5"},
)
ENDPOINT = Endpoint("https://api.example.test", "gpt-oss-120b", "example-gateway/2.4")


def rich_run() -> Run:
    """Every state, every kind of finding, 8 groups, 103 rules."""
    findings = tuple(_findings())
    return Run(
        tool=TOOL,
        endpoint=ENDPOINT,
        began=BEGAN,
        seed=7,
        budget=Budget("thorough", 2000, 500_000, 900.0, 20.0, 8),
        cost=Cost(1204, 188_402, 3, 412.7),
        rules=RULES,
        verdicts=tuple(_verdicts(findings)),
        findings=findings,
        cells=tuple(_cells()),
        capabilities=CAPABILITIES,
        timings=TIMINGS,
        coverage=tuple(_coverage()),
        notes=("The server was told to wait 3 times; the run slowed to 12 requests a second.",),
        settings={"position": {"boundaries": 610, "examples": 48}},
    )


def clean_run() -> Run:
    """Nothing found: every rule was kept."""
    run = rich_run()
    kept = tuple(Verdict(rule.id, "PASS", 40, 0, ("E-0001",)) for rule in RULES)
    cells = tuple(replace(cell, state="PASS") for cell in run.cells if cell.count)
    able = tuple(Capability(item.name, "PASS", "200") for item in CAPABILITIES)
    return replace(run, verdicts=kept, findings=(), cells=cells, capabilities=able, notes=())


def small_run() -> Run:
    """Two rules, one finding, one of everything else: what golden files are made from."""
    run = rich_run()
    found = run.findings[0]
    rules = (BY_ID["SEQ-ROLE-FIRST"], BY_ID["ENC-GZIP"])
    return replace(
        run,
        rules=rules,
        verdicts=(
            Verdict("SEQ-ROLE-FIRST", "FAIL", 198, 12, ("E-0002",), (found.id,)),
            Verdict("ENC-GZIP", "PASS", 4, 0, ("E-0101",)),
        ),
        findings=(found,),
        cells=run.cells[1:4],
        capabilities=run.capabilities[:1],
        timings={"first_byte": TIMINGS["first_byte"]},
        coverage=run.coverage[:3],
    )


def large_run(count: int = 2000) -> Run:
    """As many findings as that, with answers of a few kilobytes each."""
    run = rich_run()
    templates = run.findings
    findings = []
    for number in range(count):
        rule = RULES[number % len(RULES)]
        state: State = {"MUST": "FAIL", "SHOULD": "WARN", "MAY": "INFO"}[rule.level]  # type: ignore[assignment]
        like = templates[number % 6]
        long = b" ".join(b'{"n":%d,"of":%d}' % (line, number) for line in range(120))
        exchange = traffic(f"E-{number:05d}", answer=like.traffic[0].body + long, times=(0.1, 0.2))
        location = f"{SCHEMAS}/ChatCompletionRequest/properties/p{number % 97}"
        findings.append(
            replace(
                like,
                id=f"F-{number:04d}",
                rule=rule.id,
                state=state,
                location=location,
                kind=f"kind {number % 23}",
                traffic=(exchange,),
                known="",
                curl=curl(exchange),
                python=python(exchange),
            )
        )
    found = tuple(findings)
    return replace(run, findings=found, verdicts=tuple(_verdicts(found)))


def hostile_run(bodies: tuple[bytes, ...] = HOSTILE_BODIES) -> Run:
    """Every text that a server, a contract or a user has a say in is an attack."""
    run = rich_run()
    texts = HOSTILE_TEXTS
    text = SCRIPT + BREAKOUTS + BIDI + LINES + MARKDOWN + WORKFLOW
    rule = Rule("EVIL-1", text, "MUST", text, text, text)
    findings = tuple(
        Finding(
            id=f"F-{number}",
            rule="EVIL-1",
            state="FAIL",
            location=texts[number % len(texts)],
            kind=texts[(number + 1) % len(texts)],
            where=texts[(number + 2) % len(texts)],
            expected=texts[(number + 3) % len(texts)],
            actual=text + texts[number % len(texts)],
            traffic=(
                Traffic(
                    id=f"E-{number}",
                    campaign=text,
                    kind=text,
                    method=text,
                    target=text,
                    request_headers=((text, text),),
                    request_body=body,
                    status=200,
                    reason=text,
                    headers=((text, text),),
                    parts=(Part(0.1, body),),
                    error=text,
                    omitted=3,
                ),
            ),
            curl=text,
            python=text,
        )
        for number, body in enumerate(bodies)
    )
    return replace(
        run,
        tool=replace(TOOL, contract=text, profile=text),
        endpoint=Endpoint(text, text, text),
        rules=(*run.rules, rule),
        verdicts=(
            *run.verdicts,
            Verdict(
                "EVIL-1", "FAIL", 0, len(findings), (text,), tuple(f.id for f in findings), text
            ),
        ),
        findings=(*run.findings, *findings),
        cells=(*run.cells, Cell(text, text, text, "FAIL", 1)),
        capabilities=(*run.capabilities, Capability(text, "FAIL", text)),
        timings={**run.timings, text: TIMINGS["tokens_per_second"]},
        coverage=(*run.coverage, Exercised(text, text, text, 0)),
        notes=(text,),
        settings={text: text},
    )
