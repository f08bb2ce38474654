"""Defects that act on an answer on its way."""

import gzip
import json
from collections.abc import Callable
from typing import Any

from .case import Case, Look


def every(values: list[Any], condition: Callable[[Any], bool]) -> bool:
    return bool(values) and all(map(condition, values))


def finishes(seen: Any) -> list[Any]:
    return [choice for choice in seen.choices if choice.get("finish_reason")]


def entries(seen: Any) -> list[Any]:
    return [e for choice in seen.choices for e in (choice.get("logprobs") or {}).get("content", ())]


def roles(seen: Any) -> list[Any]:
    return [choice["delta"].get("role") for choice in seen.choices]


def usages(seen: Any) -> list[bool]:
    return ["usage" in value for value in seen.completions]


def no_json(text: str | bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def differs(seen: Any, plain: Any) -> bool:
    return bool(seen.body != plain.body)


# What a defect looks like beside the undisturbed answer.
LOOKS: list[tuple[str, str, Look]] = [
    # SCHEMA
    *(
        (answer, f"missing_key:key={key}",
         lambda seen, plain, key=key: key in plain.body.decode() and every(
             [v for v in (seen.values if seen.events else [seen.value]) if isinstance(v, dict)],
             lambda value: key not in value))
        for answer in ("chat", "chat stream", "text")
        for key in ("id", "choices", "created", "model", "system_fingerprint", "object")
    ),
    ("chat", "missing_choice_key", lambda s, p: every(s.choices, lambda c: "index" not in c)),
    ("chat", "missing_choice_key:key=words", lambda s, p:
        every(s.choices, lambda c: "message" not in c)),
    ("chat stream", "missing_choice_key:key=words", lambda s, p:
        every(s.choices, lambda c: "delta" not in c)),
    ("text", "missing_choice_key:key=finish_reason", lambda s, p:
        every(s.choices, lambda c: "finish_reason" not in c)),
    ("chat", "wrong_object", lambda s, p: s.value["object"] == "completion"),
    ("chat stream", "wrong_object:value=chat.completion", lambda s, p:
        every(s.completions, lambda c: c["object"] == "chat.completion")),
    ("chat", "null_value:key=model", lambda s, p: s.value["model"] is None),
    ("text stream", "null_value:key=id", lambda s, p:
        every(s.completions, lambda c: c["id"] is None)),
    ("chat", "wrong_type", lambda s, p: isinstance(s.value["created"], str)),
    ("chat", "unknown_key", lambda s, p: s.value.get("x_extra") is True),
    ("chat stream", "unknown_key:key=y", lambda s, p: every(s.completions, lambda c: "y" in c)),
    ("chat", "unknown_finish_reason", lambda s, p:
        s.choices[0]["finish_reason"] == "finished"),
    ("chat stream", "unknown_finish_reason", lambda s, p:
        finishes(s)[0]["finish_reason"] == "finished"),
    ("chat", "unknown_role", lambda s, p: s.choices[0]["message"]["role"] == "model"),
    ("chat stream", "unknown_role", lambda s, p: roles(s)[0] == "model"),
    ("chat", "no_choices", lambda s, p: s.value["choices"] == []),
    ("chat", "json_content_type", lambda s, p:
        s.headers["content-type"] == "text/plain; charset=utf-8" and s.body == p.body),
    ("chat", "junk_behind_json", lambda s, p: no_json(s.body) and s.body.startswith(p.body)),
    ("chat", "nan", lambda s, p: b'"created":NaN' in s.body),
    ("text stream", "nan", lambda s, p: s.body.count(b'"created":NaN') == len(p.completions)),
    ("chat", "key_twice", lambda s, p: s.body.count(b'"object":') == 2),
    ("chat stream", "key_twice", lambda s, p:
        s.body.count(b'"object":') == 2 * len(p.completions)),
    # FRAMING
    ("chat stream", "stream_content_type", lambda s, p:
        s.headers["content-type"] == "application/json" and s.body == p.body),
    ("chat stream", "stream_charset", lambda s, p:
        s.headers["content-type"].endswith("charset=iso-8859-1")),
    ("chat stream", "invalid_utf8", lambda s, p:
        s.body.decode("utf-8", "replace") != s.body.decode("utf-8", "ignore")),
    ("chat stream", "unicode_line_ends", lambda s, p:
        b"\n" not in s.body and "\u2028".encode() in s.body and s.events == []),
    ("chat stream", "bom_inside", lambda s, p:
        s.body.count(b"\xef\xbb\xbf") == len(p.events) and len(s.events) == 1),
    ("chat stream", "no_last_blank_line", lambda s, p:
        s.body == p.body[:-1] and len(s.events) == len(p.events) - 1),
    ("chat stream", "no_blank_line", lambda s, p:
        len(s.body) == len(p.body) - 1 and len(s.events) == len(p.events) - 1
        and any("\n" in event["data"] for event in s.events)),
    ("chat stream", "junk_between", lambda s, p:
        s.body.count(b"<junk>\n") == len(p.events) and len(s.events) == len(p.events)),
    ("chat stream", "bare_lines", lambda s, p:
        every(s.events[:-1], lambda event: no_json(event["data"]))),
    ("chat stream", "json_lines", lambda s, p:
        len(s.events) == 1 and s.body.startswith(b'{"id"')),
    ("chat stream", "empty_event", lambda s, p: s.values.count("") == 1),
    ("chat stream", "torn_json", lambda s, p:
        len(s.events) == len(p.events) + 1 and s.events[1]["data"] + s.events[2]["data"]
        == p.events[1]["data"]),
    ("chat stream", "two_in_one", lambda s, p:
        s.events[1]["data"] == 2 * p.events[1]["data"]),
    ("chat stream", "done_twice", lambda s, p: s.values == [*p.values, "[DONE]"]),
    ("chat stream", "done_not_last", lambda s, p:
        s.values == [*p.values[:-2], p.values[-1], p.values[-2]]),
    ("chat stream", "done_misspelt", lambda s, p: s.events[-1]["data"] == "[done]"),
    ("chat stream", "done_quoted", lambda s, p: s.events[-1]["data"] == '"[DONE]"'),
    ("chat stream", "junk_after_done", lambda s, p: s.values == [*p.values, {}]),
    ("chat stream", "endless", lambda s, p:
        s.at(599).endswith(b"[DONE]\n\n\r\n") and s.at(601).endswith(b"0\r\n\r\n")),
    ("chat stream", "no_last_chunk", lambda s, p: s.body == p.body and not s.whole),
    ("chat", "content_length", lambda s, p:
        int(s.headers["content-length"]) == len(p.body) + 7 and not s.whole),
    ("chat", "content_length:by=-10", lambda s, p:
        int(s.headers["content-length"]) == len(p.body) - 10 and s.body == p.body),
    ("chat stream", "content_length:by=-1", lambda s, p:
        int(s.headers["content-length"]) == len(p.body) - 1),
    ("chat stream", "buffered", lambda s, p: s.at(0.9) == b"" and s.body == p.body),
    # SEQUENCE
    ("chat stream", "no_role", lambda s, p: set(roles(s)) == {None}),
    ("chat stream", "late_role", lambda s, p: roles(s)[:2] == [None, "assistant"]),
    ("chat stream", "role_changes", lambda s, p: roles(s)[:3] == ["assistant", "user", None]),
    *(
        ("chat stream", f"changing_key:key={key}",
         lambda s, p, key=key: len({c[key] for c in s.completions}) == 2)
        for key in ("id", "created", "model", "system_fingerprint")
    ),
    ("two", "choice_index_gap", lambda s, p: [c["index"] for c in s.choices] == [3, 4]),
    ("two stream", "choice_index_gap", lambda s, p: {c["index"] for c in s.choices} == {3, 4}),
    ("chat stream", "two_finish_reasons", lambda s, p:
        len(finishes(s)) == 2 and sum(usages(s)) == 1),
    ("text stream", "two_finish_reasons", lambda s, p: len(finishes(s)) == 2),
    ("chat stream", "no_finish_reason", lambda s, p: finishes(s) == []),
    ("chat stream", "words_after_finish", lambda s, p:
        bool(finishes(s)) and not s.choices[-1].get("finish_reason")),
    ("text stream", "words_after_finish", lambda s, p:
        not s.choices[-1].get("finish_reason") and bool(s.choices[-1]["text"])),
    ("tools stream", "no_call_id", lambda s, p: every(s.calls, lambda call: "id" not in call)),
    ("tools whole stream", "call_id_changes", lambda s, p:
        len({call["id"] for call in s.calls}) == len(s.calls) > len(p.calls)
        and s.arguments == p.arguments),
    ("tools stream", "call_name_repeated", lambda s, p:
        every(s.calls, lambda call: call["function"]["name"] == "get_weather")
        and len(s.calls) > len(s.arguments)),
    ("tools stream", "call_index_gap", lambda s, p: min(c["index"] for c in s.calls) == 2),
    ("tools stream", "no_call_index", lambda s, p: every(s.calls, lambda c: "index" not in c)),
    ("tools stream", "fragments_swapped", lambda s, p:
        s.arguments != p.arguments and sorted(s.arguments[0]) == sorted(p.arguments[0])),
    ("chat stream", "no_usage", lambda s, p: not any(usages(s))),
    ("chat stream", "early_usage", lambda s, p: usages(s)[0] and sum(usages(s)) == 1),
    ("chat stream", "usage_in_every_chunk", lambda s, p: all(usages(s))),
    ("chat stream", "flat_error_event", lambda s, p:
        s.last.get("type") == "server_error" and "error" not in s.last),
    ("chat stream", "error_event_without_status", lambda s, p: list(s.last) == ["error"]),
    ("chat stream", "goes_on_after_error", lambda s, p:
        len(s.values) == len(p.values) + 1 and s.values[-1] == "[DONE]"
        and any("status_code" in value for value in s.values[:-1])),
    # SEMANTICS
    ("chat", "usage_sum", lambda s, p: s.usage["total_tokens"] == p.usage["total_tokens"] + 1),
    ("text stream", "usage_sum:by=-1", lambda s, p:
        s.usage["total_tokens"] == p.usage["total_tokens"] - 1),
    ("chat", "usage_details", lambda s, p:
        s.usage["completion_tokens_details"]["reasoning_tokens"] > s.usage["completion_tokens"]),
    ("chat", "cached_over_prompt", lambda s, p:
        s.usage["prompt_tokens_details"]["cached_tokens"] > s.usage["prompt_tokens"]
        and s.usage["prompt_tokens_details"]["cached_tokens"] % 128 == 0),
    ("chat", "cached_odd", lambda s, p: s.usage["prompt_tokens_details"]["cached_tokens"] == 1),
    ("chat stream", "usage_zero", lambda s, p: s.usage["completion_tokens"] == 0),
    ("chat", "other_model", lambda s, p: s.value["model"] == "another-model"),
    ("chat", "wrong_finish_reason", lambda s, p:
        s.choices[0]["finish_reason"] != p.choices[0]["finish_reason"]),
    ("tools stream", "wrong_finish_reason", lambda s, p:
        finishes(s)[0]["finish_reason"] == "stop"),
    ("chat", "tier_unasked", lambda s, p: s.value.get("service_tier_used") == "priority"),
    ("tier", "tier_untold", lambda s, p: "service_tier_used" not in s.value),
    ("text logprobs", "text_offsets", lambda s, p:
        s.choices[0]["logprobs"]["text_offset"][0] == 1),
    ("chat stream", "same_id", lambda s, p:
        every(s.completions, lambda c: c["id"].endswith("-4000-8000-000000000000"))),
    ("chat", "created_in_milliseconds", lambda s, p:
        s.value["created"] == 1000 * p.value["created"]),
    ("chat", "times_do_not_add_up", lambda s, p:
        s.value["time_info"]["completion_time"] > s.value["time_info"]["total_time"]),
    ("logprobs", "positive_logprobs", lambda s, p: every(entries(s), lambda e: e["logprob"] > 0)),
    ("logprobs stream", "positive_logprobs", lambda s, p:
        every(entries(s), lambda e: e["logprob"] > 0)),
    ("logprobs", "logprobs_short", lambda s, p: len(entries(s)) == len(entries(p)) - 1),
    ("logprobs", "alternatives_reversed", lambda s, p: every(entries(s), lambda e:
        e["top_logprobs"] != sorted(e["top_logprobs"], key=lambda t: -t["logprob"]))),
    ("logprobs", "logprob_bytes", lambda s, p: every(entries(s), lambda e: e["bytes"] == [63])),
    ("tools", "arguments_not_json", lambda s, p: every(s.arguments, no_json)),
    ("tools stream", "arguments_not_json", lambda s, p: every(s.arguments, no_json)),
    ("tools", "arguments_invalid", lambda s, p:
        every(s.arguments, lambda text: "undeclared" in json.loads(text))),
    ("tools stream", "arguments_invalid", lambda s, p:
        every(s.arguments, lambda text: isinstance(json.loads(text)["city"], dict))),
    ("tools stream", "unknown_tool", lambda s, p:
        {c["function"]["name"] for c in s.calls if "name" in c["function"]} == {"no_such_tool"}),
    ("tools", "parallel_calls", lambda s, p:
        len(s.calls) == 2 and len({call["id"] for call in s.calls}) == 2),
    ("tools stream", "parallel_calls", lambda s, p:
        s.arguments == 2 * p.arguments and [c["index"] for c in s.calls] == [0, 1]),
    ("json", "json_fenced", lambda s, p: s.text == f"```json\n{p.text}\n```"),
    ("json stream", "json_fenced", lambda s, p: s.text == f"```json\n{p.text}\n```"),
    ("json", "json_invalid", lambda s, p: list(json.loads(s.text)) == ["undeclared"]),
    ("json stream", "json_key_order", lambda s, p:
        list(json.loads(s.text)) == ["count", "city"]
        and json.loads(s.text) == json.loads(p.text)),
    # ERRORS
    ("error", "error_status_200", lambda s, p: s.status == 200 and s.body == p.body),
    ("error", "error_status_5xx", lambda s, p: s.status == 500 and s.body == p.body),
    ("error", "error_status_wrong", lambda s, p: s.status == 418),
    ("error", "error_shape", lambda s, p: s.value == {"ok": False, "errors": [1]}),
    ("error", "error_empty", lambda s, p: s.body == b"" and s.status == 400),
    ("error", "error_without_message", lambda s, p: s.value["message"] == ""),
    ("error", "error_key_missing:key=type", lambda s, p: "type" not in s.value),
    ("error", "error_message_null", lambda s, p: s.value["message"] is None),
    ("error", "error_content_type", lambda s, p:
        s.headers["content-type"] == "text/html" and s.body == p.body),
    ("error", "error_html", lambda s, p:
        s.headers["content-type"].startswith("text/html") and s.body.startswith(b"<html>")),
    ("error", "stack_trace", lambda s, p: "Traceback (most" in s.value["message"]),
    ("error", "internal_path", lambda s, p: "/srv/api" in s.value["message"]),
    ("error", "error_as_stream", lambda s, p:
        s.status == 200 and s.headers["content-type"].startswith("text/event-stream")
        and s.values == [p.value, "[DONE]"]),
    # ENCODING
    ("latin", "latin1", lambda s, p:
        s.body.decode("latin-1") == p.body.decode() and s.body != p.body),
    ("chat", "charset", lambda s, p:
        s.headers["content-type"] == "application/json; charset=utf-16" and s.body == p.body),
    ("chat", "lone_surrogate", lambda s, p: rb'"\ud83d' in s.body),
    ("chat stream", "lone_surrogate", lambda s, p:
        s.body.count(rb'"\ud83d') == len(p.completions)),
    ("chat", "gzip_unasked", lambda s, p:
        s.headers["content-encoding"] == "gzip" and gzip.decompress(s.body) == p.body),
    ("chat stream", "gzip_unasked", lambda s, p:
        s.headers["content-encoding"] == "gzip" and gzip.decompress(s.body) == p.body),
    ("chat", "gzip_label", lambda s, p:
        s.headers["content-encoding"] == "gzip" and s.body == p.body),
    ("chat", "gzip_unsaid", lambda s, p:
        "content-encoding" not in s.headers and s.body[:2] == b"\x1f\x8b"),
    # METAMORPHIC
    ("chat stream", "stream_text_differs", lambda s, p:
        bool(p.text) and s.text == p.text[:-1]),
    # HEADERS
    ("chat", "no_request_id", lambda s, p: "x-request-id" not in s.headers),
    ("chat", "same_request_id", lambda s, p: s.headers["x-request-id"].startswith("00000000-")),
    ("chat", "inference_id", lambda s, p: s.headers["inference-id"] != s.value["id"]),
    ("chat", "limit_exceeded", lambda s, p: limit(s, "remaining") > limit(s, "limit")),
    ("chat", "limit_not_a_number", lambda s, p:
        s.headers["x-ratelimit-remaining-requests-day"] == "many"),
    ("chat", "limit_does_not_fall", lambda s, p: limit(s, "remaining") == limit(s, "limit") > 0),
    ("chat", "limit_reset_negative", lambda s, p: limit(s, "reset") < 0),
    ("chat", "limit_untold", lambda s, p:
        limit(s, "remaining") == 50 and "x-ratelimit-limit-requests-day" not in s.headers),
    ("chat", "retry_after", lambda s, p: s.headers["retry-after"] == "soon"),
    ("chat", "cacheable", lambda s, p: s.headers["cache-control"] == "public, max-age=3600"),
    ("chat", "cors", lambda s, p:
        s.headers["access-control-allow-origin"] == "*"
        and s.headers["access-control-allow-credentials"] == "true"),
    ("chat", "content_type_twice", lambda s, p:
        [name for name, _ in s.fields].count("content-type") == 2),
]  # fmt: skip


def limit(seen: Any, name: str) -> float:
    return float(seen.headers[f"x-ratelimit-{name}-tokens-minute"] or 0)


DEFECTS = [Case("defect", text, asked, look) for asked, text, look in LOOKS]
