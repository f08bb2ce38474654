"""Calls, streams and settings as the control interface shows them: JSON data, secrets masked."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from ..limits import Limits
from .armed import Armed
from .coverage import Covered
from .entry import Entry
from .held import Holds
from .reading import Said

# So much of what was said stands in a list.
_BEGINNING = 400


def call_shown(entry: Entry) -> dict[str, Any]:
    """Show a call as lists have it."""
    why, cost = entry.why, entry.answer.cost
    return {
        "number": entry.number,
        "revision": entry.revision,
        "scope": entry.scope,
        "time": entry.time,
        "method": entry.request.method,
        "path": entry.path,
        "query": entry.query,
        "operation": entry.operation,
        "model": entry.model,
        "stream": entry.stream,
        "status": entry.answer.status,
        "duration": entry.duration,
        "ending": entry.ending,
        "tokens": cost.used if cost else 0,
        "rule": why.rule,
        "missed": entry.missed,
        "failure": why.failure,
        "delivery": why.delivery,
        "defect": why.defect,
        "asked": entry.asked,
        "answered": entry.mask.text(beginning(entry.said)),
    }


def whole_call_shown(entry: Entry) -> dict[str, Any]:
    """Show a call with all that is known of it."""
    answer, said = entry.answer, entry.said
    offsets = answer.offsets
    if offsets is None or len(offsets) != len(answer.parts):
        offsets = None
    return {
        **call_shown(entry),
        "omitted": entry.omitted,
        "nearest": [
            {"rule": m.rule, "differences": list(m.differences)} for m in entry.why.nearest
        ],
        "request": {
            "headers": entry.request_headers,
            "body": _body(entry),
        },
        "answer": {
            "status": answer.status,
            "headers": entry.answer_headers,
            "streamed": answer.streamed,
            "parts": [
                {"at": offsets[i] if offsets else None, **_text_or_base64(entry.mask.bytes(part))}
                for i, part in enumerate(answer.parts)
            ],
            "said": [
                {
                    "content": entry.mask.text(choice.content),
                    "reasoning": entry.mask.text(choice.reasoning),
                    "tool_calls": [
                        {key: entry.mask.text(text) for key, text in call.items()}
                        for call in choice.tool_calls
                    ],
                    "finish_reason": choice.finish_reason,
                }
                for choice in said.choices
            ],
            "usage": dict(said.usage),
        },
    }


def beginning(said: Said) -> str:
    """Return the beginning of an answer in words: its text, its calls, or its error."""
    for choice in said.choices:
        if choice.content:
            return choice.content[:_BEGINNING]
        if choice.tool_calls:
            calls = ", ".join(f"{c['name']}({c['arguments']})" for c in choice.tool_calls)
            return calls[:_BEGINNING]
        if choice.reasoning:
            return choice.reasoning[:_BEGINNING]
    return error_message(said.error)[:_BEGINNING]


def error_message(error: Any) -> str:
    """Return the sentence in an error, whichever of the known shapes it has."""
    if isinstance(error, str):
        return " ".join(error.split())
    if not isinstance(error, Mapping):
        return ""
    inner = error.get("error", error)
    if isinstance(inner, Mapping) and isinstance(inner.get("message"), str):
        return str(inner["message"])
    detail = error.get("detail")
    if isinstance(detail, list):
        found = [
            d["msg"] for d in detail if isinstance(d, Mapping) and isinstance(d.get("msg"), str)
        ]
        return "; ".join(found)
    return detail if isinstance(detail, str) else ""


def _body(entry: Entry) -> dict[str, Any]:
    shown = _text_or_base64(entry.request_body)
    headers = entry.request.headers
    packed = "msgpack" in headers.get("content-type", "") or "content-encoding" in headers
    data = entry.data if packed else None
    if data is not None:
        data = json.loads(entry.mask.text(json.dumps(data, ensure_ascii=False)))
    return {**shown, "size": len(entry.request.body), "data": data}


def _text_or_base64(raw: bytes) -> dict[str, str | None]:
    try:
        return {"text": raw.decode(), "base64": None}
    except UnicodeDecodeError:
        return {"text": None, "base64": base64.b64encode(raw).decode()}


def coverage_shown(covered: list[Covered]) -> dict[str, Any]:
    """Show what a session has seen."""
    points = [
        {
            "id": c.point.id,
            "group": c.point.group,
            "what": c.point.what,
            "calls": c.calls,
            "example": c.example,
            "sentence": c.sentence,
        }
        for c in covered
    ]
    return {"points": points, "seen": sum(c.calls > 0 for c in covered)}


def armed_shown(armed: Armed) -> dict[str, Any]:
    """Show what is armed."""
    return {
        "armed": [
            {
                "number": number,
                "kind": arming.kind,
                "name": arming.name,
                "left": left,
                "after": arming.after,
                "scope": arming.scope,
                "operation": arming.operation,
                "model": arming.model,
            }
            for number, arming, left in armed.listed
        ]
    }


def held_shown(holds: Holds) -> dict[str, Any]:
    """Show held streams, and orders to hold some."""
    orders = []
    for number, order, left in holds.orders:
        shown = {k: v for k, v in asdict(order).items() if k != "times"}
        orders.append({"number": number, **shown, "left": left})
    return {"streams": [asdict(stream) for stream in holds.streams], "orders": orders}


def limits_shown(limits: Limits) -> list[str]:
    """Write limits as `--limits` reads them."""
    texts = [_limits_text(limits.common)] if limits.common else []
    return texts + [f"{model}:{_limits_text(own)}" for model, own in limits.models.items() if own]


def _limits_text(quotas: Mapping[str, int | None]) -> str:
    return ",".join(f"{k}={'none' if v is None else v}" for k, v in quotas.items())
