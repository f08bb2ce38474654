"""The four official Python clients behind one face, so that one test serves them all."""

import inspect
from dataclasses import dataclass, field
from typing import Any

from .recording import Encoding, Exchange, transport

KEY = "a-key"

CEREBRAS = ("cerebras", "cerebras-async")
OPENAI = ("openai", "openai-async")

# What the API sends beyond what the types of openai know.
UNKNOWN_TO_OPENAI = {"time_info", "reasoning", "reasoning_logprobs", "image_tokens"}


@dataclass
class Client:
    """A client of an SDK, and every exchange it had with the server.

    It raises when an answer does not fit the SDK's types.
    """

    kind: str
    sdk: Any
    api: Any
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def last(self) -> Exchange:
        return self.exchanges[-1]

    async def chat(self, **body: Any) -> Any:
        return await awaited(self.api.chat.completions.create(**body))

    async def chat_chunks(self, **body: Any) -> list[Any]:
        return await collected(self.api.chat.completions.create(stream=True, **body))

    async def text(self, **body: Any) -> Any:
        return await awaited(self.api.completions.create(**body))

    async def text_chunks(self, **body: Any) -> list[Any]:
        return await collected(self._lenient.completions.create(stream=True, **body))

    @property
    def _lenient(self) -> Any:
        """For chunks of text: openai's types want a `finish_reason` in each, no API sends that."""
        if self.kind in CEREBRAS:
            return self.api
        return self.api.copy(_extra_kwargs={"_strict_response_validation": False})

    def check_faithful(self, answer: Any, sent: Any) -> None:
        """Everything sent is in the answer, and in a typed field of it."""
        assert answer.model_dump(mode="json", by_alias=True, exclude_unset=True) == sent
        known = UNKNOWN_TO_OPENAI if self.kind in OPENAI else set()
        assert extras(answer) <= known


def connect(kind: str, url: str, encoding: Encoding | None = None, **options: Any) -> Client:
    """Make a client of a server at the base URL `url`; `options` are the SDK's own."""
    import httpx
    import httpx2
    import openai
    from cerebras.cloud import sdk as cerebras

    sdk: Any = cerebras if kind in CEREBRAS else openai
    http = httpx if kind in CEREBRAS else httpx2
    is_async = kind.endswith("-async")
    exchanges: list[Exchange] = []
    wire = transport(http, exchanges, is_async=is_async, encoding=encoding)
    client = sdk.DefaultAsyncHttpxClient if is_async else sdk.DefaultHttpxClient
    names = {
        "cerebras": "Cerebras",
        "cerebras-async": "AsyncCerebras",
        "openai": "OpenAI",
        "openai-async": "AsyncOpenAI",
    }
    api = getattr(sdk, names[kind])(
        base_url=url if kind in CEREBRAS else f"{url}/v1",
        http_client=client(transport=wire),
        _strict_response_validation=True,
        **{"api_key": KEY, **options},
    )
    return Client(kind, sdk, api, exchanges)


async def awaited(value: Any) -> Any:
    """The result of a call of either a client or an asynchronous client."""
    return await value if inspect.isawaitable(value) else value


async def collected(call: Any) -> list[Any]:
    """All chunks of a stream of either kind of client."""
    stream = await awaited(call)
    if hasattr(stream, "__aiter__"):
        return [chunk async for chunk in stream]
    return list(stream)


def extras(value: Any) -> set[str]:
    """The names of the fields that an SDK's types do not know, at any depth."""
    if isinstance(value, list):
        return set().union(*map(extras, value))
    if not hasattr(value, "model_extra"):
        return set()
    unknown = set(value.model_extra or ())
    known = [getattr(value, name) for name in type(value).model_fields]
    return unknown.union(*map(extras, known))
