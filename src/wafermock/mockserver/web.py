"""What is wanted of `aiohttp.web`: its server, without applications and routes.

To import all of it takes a start a fifth longer.
"""

from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_server import Server

__all__ = [
    "BaseRequest",
    "RequestHandler",
    "RequestPayloadError",
    "Response",
    "Server",
    "StreamResponse",
]
