"""FRAMING: the bytes of an answer, as HTTP and as an event stream, before the JSON is read."""

from . import stream_body, stream_end
from .framed import BOOK

__all__ = ["BOOK", "stream_body", "stream_end"]
