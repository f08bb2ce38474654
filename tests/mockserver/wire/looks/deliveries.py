"""Deliveries: the same answer, put on the wire otherwise."""

from typing import Any

from .case import Case, Look


def lines_end(seen: Any, end: bytes) -> bool:
    body: bytes = seen.body
    rest = body.replace(end, b"")
    return end in body and b"\r" not in rest and b"\n" not in rest


def cut_inside(seen: Any, plain: Any) -> bool:
    """Say whether every character of several bytes is torn, and nothing else."""
    tears = sum(byte >= 0xC0 for byte in plain.body)
    return bool(tears > 0 and len(seen.chunks) == tears + 1 and seen.body == plain.body)


# What a delivery looks like beside the usual one.
LOOKS: dict[str, tuple[str, Look]] = {
    "bytewise": ("chat stream", lambda seen, plain:
        seen.body == plain.body and {len(chunk) for chunk in seen.chunks} == {1}),
    "random_pieces:most=9": ("chat stream", lambda seen, plain:
        seen.body == plain.body and max(map(len, seen.chunks)) <= 9
        and len(set(map(len, seen.chunks))) > 5),
    "inside_characters": ("text stream", cut_inside),
    "inside_data": ("chat stream", lambda seen, plain:
        seen.body == plain.body and len(seen.chunks) == plain.body.count(b"data:") + 1
        and all(chunk.startswith(b"ta:") for chunk in seen.chunks[1:])),
    "one_write_an_event": ("chat stream", lambda seen, plain:
        seen.body == plain.body and len(seen.chunks) == plain.body.count(b"data:")),
    "crlf": ("chat stream", lambda seen, plain: lines_end(seen, b"\r\n")),
    "between_cr_and_lf": ("chat stream", lambda seen, plain:
        lines_end(seen, b"\r\n") and all(chunk[0:1] == b"\n" for chunk in seen.chunks[1:])
        and not any(b"\r\n" in chunk for chunk in seen.chunks)),
    "cr": ("chat stream", lambda seen, plain: lines_end(seen, b"\r")),
    "no_space": ("chat stream", lambda seen, plain:
        seen.body.startswith(b"data:{") and b"data:[DONE]" in seen.body
        and b"data: " not in seen.body),
    "bom": ("chat stream", lambda seen, plain: seen.body == b"\xef\xbb\xbf" + plain.body),
    "comments": ("chat stream", lambda seen, plain:
        seen.body.count(b"\n: a comment\n") == plain.body.count(b"data:") - 1
        and seen.values == plain.values),
    "keep_alives": ("chat stream", lambda seen, plain:
        seen.body.count(b": keep-alive\n\n") == plain.body.count(b"data:")
        and seen.values == plain.values),
    "several_data_lines": ("chat stream", lambda seen, plain:
        seen.body.count(b"\ndata:  ") > 10 and seen.values == plain.values),
    "event_message": ("chat stream", lambda seen, plain:
        all(event["event"] == "message" for event in seen.events)),
    "ids": ("chat stream", lambda seen, plain:
        [event["id"] for event in seen.events] == [str(n) for n in range(len(plain.events))]),
    "retry:milliseconds=5": ("chat stream", lambda seen, plain:
        {event["retry"] for event in seen.events} == {"5"}),
    "unknown_field": ("chat stream", lambda seen, plain:
        {event["x-trace"] for event in seen.events} == {"7"}),
    "usage_apart": ("chat stream", lambda seen, plain:
        seen.completions[-1]["choices"] == [] and "usage" not in seen.completions[-2]
        and seen.usage == plain.usage and "time_info" in seen.completions[-1]),
    "finish_with_content": ("chat stream", lambda seen, plain:
        bool(seen.completions[-1]["choices"][0]["delta"].get("content")
             or seen.completions[-1]["choices"][0]["delta"].get("reasoning"))
        and seen.completions[-1]["choices"][0]["finish_reason"] is not None
        and seen.usage == plain.usage),
    "role_repeated": ("chat stream", lambda seen, plain:
        {choice["delta"]["role"] for choice in seen.choices} == {"assistant"}),
    "no_done": ("chat stream", lambda seen, plain: seen.values == plain.values[:-1]),
    "tool_calls_whole": ("tools stream", lambda seen, plain:
        len(seen.calls) == len(plain.arguments) < len(plain.calls)
        and seen.arguments == plain.arguments),
    "tool_calls_fragmented:size=1": ("tools whole stream", lambda seen, plain:
        len(seen.calls) == len(plain.arguments) + sum(map(len, plain.arguments))
        and seen.arguments == plain.arguments and seen.calls[0]["function"]["arguments"] == ""),
    "escaped": ("text stream", lambda seen, plain:
        seen.body.isascii() and seen.values == plain.values),
    "http_1_0": ("chat stream", lambda seen, plain:
        seen.version == b"HTTP/1.0" and seen.body == plain.body
        and not {"transfer-encoding", "content-length"} & set(seen.headers)),
    "close_delimited": ("chat", lambda seen, plain:
        seen.version == b"HTTP/1.1" and seen.body == plain.body
        and not {"transfer-encoding", "content-length"} & set(seen.headers)),
    "known_length": ("chat stream", lambda seen, plain:
        seen.headers["content-length"] == str(len(plain.body)) and seen.body == plain.body),
    "loud_headers": ("chat", lambda seen, plain:
        ("CONTENT-TYPE", "application/json") in seen.fields),
}  # fmt: skip

DELIVERIES = [
    *(Case("delivery", text, asked, look) for text, (asked, look) in LOOKS.items()),
    Case("delivery", "lf", "chat stream", lambda seen, plain: lines_end(seen, b"\n"), usual=True),
    Case("delivery", "one_write", "slow stream", lambda seen, plain:
        seen.body == plain.body and len({when for when, _ in plain.pieces}) > 10
        and {when for when, _ in seen.pieces} == {plain.pieces[-1][0]}),
]  # fmt: skip
