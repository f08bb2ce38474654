"""Every delivery, read by the official clients of both languages: all that is legal is read alike.

Where it is not, `mockserver/wire/readers.py` says so, and docs/deliveries.md with it.
"""

import asyncio
import json
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver.wire import DELIVERIES
from wafermock.mockserver.wire.readers import MISREAD, READ, READERS, how_read

from . import node
from .sdk import awaited, collected

SCRIPT = Path(__file__).with_name("deliveries.mjs")
KEY = "a-key"

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
TEXT = "Zeig mir 漢字, é und 🙂!"
CHAT: dict[str, Any] = {
    "model": "gpt-oss-120b",
    "messages": [{"role": "user", "content": TEXT}],
    "max_completion_tokens": 100,
    "reasoning_effort": "low",
}
CALLING = {**CHAT, "tools": [TOOL], "tool_choice": "required"}
ASKED: dict[str, Any] = {
    "chat": CHAT,
    "two choices": {**CHAT, "n": 2},
    "text": {"model": "gpt-oss-120b", "prompt": TEXT, "echo": True, "max_tokens": 20},
    "tools in fragments": CALLING,
    "tools whole": {**CALLING, "model": "zai-glm-4.7", "reasoning_effort": None},
}

# What a client got of each delivery ("" for none) of each request: the chunks as it gave them,
# and what it raised, if it did.
Readings = dict[str, dict[str, Any]]


async def by_python(package: str, url: str, *, is_async: bool) -> Readings:
    import openai
    from cerebras.cloud import sdk as cerebras

    sdk: Any = openai if package == "openai" else cerebras
    name = "OpenAI" if package == "openai" else "Cerebras"
    base = f"{url}/v1" if package == "openai" else url
    client = getattr(sdk, f"Async{name}" if is_async else name)(
        base_url=base, api_key=KEY, max_retries=0
    )

    async def read(body: Any, delivery: str) -> dict[str, Any]:
        resource = client.completions if "prompt" in body else client.chat.completions
        headers = {"x-wafermock-delivery": delivery} if delivery else {}
        chunks: list[Any] = []
        try:
            found = await collected(resource.create(**body, stream=True, extra_headers=headers))
            chunks += [chunk.model_dump(mode="json", exclude_unset=True) for chunk in found]
        except Exception as error:
            return {"chunks": chunks, "raised": repr(error)}
        return {"chunks": chunks, "raised": None}

    try:
        return {
            delivery: {name: await read(body, delivery) for name, body in ASKED.items()}
            for delivery in ("", *DELIVERIES)
        }
    finally:
        await awaited(client.close())


def by_node(package: node.Package, url: str, folder: Path) -> Readings:
    """Run one process for all deliveries."""
    try:
        modules = node.installed(package)
    except node.Unavailable as error:
        pytest.skip(str(error))
    (folder / "node_modules").symlink_to(modules)
    script = folder / SCRIPT.name
    script.write_text(SCRIPT.read_text("utf-8"), "utf-8")
    run = subprocess.run(
        ["node", script.name, package.name, url],
        cwd=folder,
        input=json.dumps({"asked": ASKED, "deliveries": list(DELIVERIES)}).encode(),
        capture_output=True,
        timeout=node.RUNNING,
        check=False,
    )
    assert (run.returncode, run.stderr.decode()) == (0, "")
    found: Readings = json.loads(run.stdout)
    return found


# Python has two clients of each package, which read streams by code of their own.
PROGRAMS = [*READERS, *(f"{name} async" for name in READERS if name.endswith("-python"))]


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def reader(program: str) -> str:
    return program.removesuffix(" async")


@pytest.fixture(scope="module")
def readings(
    program: str, reader: str, server: str, tmp_path_factory: pytest.TempPathFactory
) -> Readings:
    if reader.endswith("-python"):
        is_async = program.endswith(" async")
        return asyncio.run(by_python(READERS[reader].package, server, is_async=is_async))
    package, url = (
        (node.OPENAI, f"{server}/v1") if reader == "openai-node" else (node.CEREBRAS, server)
    )
    return by_node(package, url, tmp_path_factory.mktemp(reader))


# ---------------------------------------------------------------------- what was read


def words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def meaning(chunks: list[Any]) -> dict[str, Any]:
    """Join chunks as their readers do: each choice's words, calls and finish, and the report."""
    said: dict[Any, dict[str, Any]] = {}
    report: dict[str, Any] = {}
    for chunk in chunks:
        report |= {name: chunk[name] for name in ("usage", "time_info") if chunk.get(name)}
        for choice in chunk.get("choices") or ():
            own = said.setdefault(choice["index"], {"calls": {}})
            delta = choice.get("delta") or choice
            for name in ("reasoning", "content", "text"):
                own[name] = own.get(name, "") + words(delta.get(name))
            for name, holder in (("role", delta), ("finish_reason", choice)):
                own[name] = holder.get(name) or own.get(name)
            for call in delta.get("tool_calls") or ():
                known = own["calls"].setdefault(call["index"], {"id": "", "name": "", "said": ""})
                known["id"] += call.get("id") or ""
                known["name"] += call["function"].get("name") or ""
                known["said"] += call["function"].get("arguments") or ""
    return {"choices": said, **report}


NOTHING = meaning([])


def outcome(got: Any, plain: Any, *, same_chunks: bool) -> str:
    """Say what became of a stream: `alike`, one of the losses, or something that is new."""
    if got["raised"]:
        return str(got["raised"])
    chunks, meant = got["chunks"], meaning(got["chunks"])
    if chunks == plain["chunks"] or (not same_chunks and meant == meaning(plain["chunks"])):
        return "alike"
    if chunks == plain["chunks"][1:]:
        return "first event lost"
    return "all lost" if meant == NOTHING else f"read otherwise: {meant}"


def test_the_undisturbed_streams(readings: Readings) -> None:
    """They hold what is looked for below, so that to lose it shows."""
    plain = {name: meaning(got["chunks"]) for name, got in readings[""].items()}
    assert all(got["raised"] is None for got in readings[""].values())
    assert all(got["usage"]["completion_tokens"] > 0 for got in plain.values())
    assert plain["chat"]["choices"][0]["role"] == "assistant"
    assert plain["chat"]["choices"][0]["content"]
    assert len(plain["two choices"]["choices"]) == 2
    assert plain["text"]["choices"][0]["text"].startswith(TEXT)
    for name in ("tools in fragments", "tools whole"):
        [call] = plain[name]["choices"][0]["calls"].values()
        assert set(json.loads(call["said"])) == {"city", "unit"}
        assert call["id"]


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_delivery(delivery: str, reader: str, readings: Readings) -> None:
    """It is read as the table says: as the undisturbed stream is, wherever that says nothing."""
    # Deliveries of this group make other chunks of the same words.
    same_chunks = DELIVERIES[delivery].group != "CHUNKS"
    found = {
        name: outcome(got, readings[""][name], same_chunks=same_chunks)
        for name, got in readings[delivery].items()
    }
    assert found == dict.fromkeys(ASKED, MISREAD.get(delivery, {}).get(reader, "alike"))


# ---------------------------------------------------------------------- what is said of it


def test_the_docs_say_who_fails_and_how() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "deliveries.md").read_text("utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for name, entry in DELIVERIES.items():
        assert entry.advice.startswith(how_read(name))
        assert entry.advice in rows[name]
        assert (READ in rows[name]) == (name not in MISREAD)
        for client in MISREAD.get(name, {}):
            assert str(READERS[client]) in rows[name]
    assert set(MISREAD) <= set(DELIVERIES)
    for reader in READERS.values():
        assert f"{reader} {reader.version}" in page


def test_the_versions_that_are_named_are_those_that_read() -> None:
    tested = {
        "cerebras-python": version("cerebras_cloud_sdk"),
        "openai-python": version("openai"),
        "cerebras-node": node.CEREBRAS.version,
        "openai-node": node.OPENAI.version,
    }
    named = {client: reader.version for client, reader in READERS.items()}
    assert {client: full.rpartition(".")[0] for client, full in tested.items()} == named
