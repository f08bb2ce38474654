"""What one operation takes and answers."""

from functools import cached_property
from typing import Any

from msgspec import Struct

from .media_type import essence
from .schema import Schema

SEQUENTIAL = "text/event-stream"

# OpenAPI 3.x, Parameter Object: header parameters of these names shall be ignored.
IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})


class Example(Struct, frozen=True):
    """A named example of a media type."""

    name: str
    value: Any
    summary: str = ""


class MediaType(Struct, frozen=True):
    """One representation of a request or response body.

    `schema` describes the whole body, `item_schema` the JSON in each `data` of an event stream
    (OpenAPI 3.2, `itemSchema`); either may be absent.
    """

    name: str
    schema: Schema | None
    item_schema: Schema | None
    examples: dict[str, Example]


class Header(Struct, frozen=True):
    """A response header that the contract declares."""

    name: str
    schema: Schema | None
    required: bool
    example: Any = None


class Response(Struct, frozen=True):
    """What an operation may answer with one status (`200`, `4XX` or `default`)."""

    status: str
    description: str
    content: dict[str, MediaType]
    headers: dict[str, Header]


class Parameter(Struct, frozen=True):
    """A path, query, header or cookie parameter."""

    name: str
    place: str
    required: bool
    schema: Schema | None
    description: str = ""


class RequestBody(Struct, frozen=True):
    """What a request may carry, by media type (lower case, as the document names them)."""

    required: bool
    content: dict[str, MediaType]

    def schema_of(self, content_type: str | None) -> Schema | None:
        """Return the schema of a body sent with a Content-Type: of its media type, else of the
        first that has one (a document may describe the body once for all its spellings)."""
        name = essence(content_type)
        if name in self.content and self.content[name].schema:
            return self.content[name].schema
        return next((media.schema for media in self.content.values() if media.schema), None)


class Operation(Struct, frozen=True, dict=True):
    """One operation: a method on a path."""

    id: str
    method: str
    path: str
    summary: str
    parameters: tuple[Parameter, ...]
    request_body: RequestBody | None
    responses: dict[str, Response]
    security: tuple[dict[str, Any], ...]
    answer: str | None
    node: dict[str, Any]

    @property
    def name(self) -> str:
        """Method and path, as people write them: `GET /v1/models`."""
        return f"{self.method.upper()} {self.path}"

    def response(self, status: int) -> Response | None:
        """Return the response declared for a status: exact, by range, or the default."""
        for key in (str(status), f"{status // 100}XX", f"{status // 100}xx", "default"):
            if key in self.responses:
                return self.responses[key]
        return None

    @cached_property
    def success(self) -> Response | None:
        """The response of the lowest declared 2xx status, else the default one."""
        good = sorted(s for s in self.responses if s.startswith("2"))
        return self.responses[good[0]] if good else self.responses.get("default")

    @cached_property
    def request_schema(self) -> Schema | None:
        """The schema of the request body, by its first media type that has one."""
        return self.request_body.schema_of(None) if self.request_body else None

    @property
    def streams(self) -> bool:
        """Whether the operation declares an event stream among its answers."""
        return self.success is not None and SEQUENTIAL in self.success.content
