"""Generated requests with many parameters at once, all of which the API takes."""

from typing import Any

from hypothesis import strategies as st

from wafermock.mockserver.prose import word_list
from wafermock.mockserver.tokens import token_id

from .asking import JSON, contract

MODELS = [*contract().models, "some-other-model"]

WORDS = st.sampled_from(word_list())
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
# Words of the mock's own list, short pieces of them and signs: what stops a text here and there.
STOPS = st.one_of(st.sampled_from(["e", "the", ". ", "ing ", "a", " s", ", ", "zq", ""]), WORDS)
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather in a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 7},
            },
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}
SCHEMA = {
    "type": "object",
    "properties": {
        "zone": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}},
    },
    "required": ["zone", "age", "tags"],
    "additionalProperties": False,
}


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[JSON]:
    """Any of some fields; a field may also be null, which says nothing."""
    return st.fixed_dictionaries({}, optional={k: v | st.none() for k, v in fields.items()})


LOGIT_BIAS = st.dictionaries(
    st.sampled_from(word_list()).map(lambda word: str(token_id(f" {word}"))),
    st.sampled_from([-100, -5, 0.5, 7]),
    max_size=5,
)
SHARED = optional(
    stop=STOPS | st.lists(STOPS, max_size=4),
    n=st.integers(1, 4),
    seed=st.integers(),
    temperature=st.sampled_from([0, 0.2, 1, 2]),
    top_p=st.floats(0, 1),
    frequency_penalty=st.floats(-2, 2),
    presence_penalty=st.floats(-2, 2),
    logit_bias=LOGIT_BIAS,
    user=st.text(max_size=5),
    prompt_cache_key=st.text(max_size=5),
    stream_options=st.fixed_dictionaries({"include_usage": st.booleans()}),
)
LENGTHS = st.integers(-1, 120)


@st.composite
def chats(draw: st.DrawFn, *, tools: bool = True, structured: bool = True) -> JSON:
    """Draw a chat completion request."""
    name = draw(st.sampled_from(MODELS))
    model = contract().models[name]
    body: JSON = {"model": name, "messages": draw(talks()), **draw(SHARED)}
    body.update(draw(optional(service_tier=st.sampled_from(["auto", "default", "flex"]))))
    length = st.sampled_from(["max_tokens", "max_completion_tokens"])
    body.update(draw(st.dictionaries(length, LENGTHS, max_size=1)))
    body.update(draw(optional(min_completion_tokens=st.integers(0, 150))))
    if model["reasoning"]:
        body.update(
            draw(
                optional(
                    reasoning_effort=st.sampled_from(model["reasoning"]["efforts"]),
                    reasoning_format=st.sampled_from(model["reasoning"]["formats"]),
                )
            )
        )
    if model["clear_thinking"]:
        body.update(draw(optional(clear_thinking=st.booleans())))
    kinds = ["text", *["tools"] * tools, *["json_schema"] * structured, "prediction"]
    kind = draw(st.sampled_from(kinds))
    if kind == "tools":
        body["tools"] = [TOOL]
        choices = [
            "none",
            "auto",
            "required",
            {"type": "function", "function": {"name": "get_weather"}},
        ]
        body.update(draw(optional(tool_choice=st.sampled_from(choices))))
        body.update(draw(optional(parallel_tool_calls=st.booleans())))
    elif kind == "json_schema":
        wanted = {"name": "s", "schema": SCHEMA, "strict": draw(st.booleans())}
        body["response_format"] = {"type": kind, "json_schema": wanted}
    elif kind == "prediction":
        body["prediction"] = {"type": "content", "content": draw(SENTENCES)}
        body.pop("n", None)
    if kind != "prediction" and draw(st.booleans()):
        body["logprobs"] = True
        body.update(draw(optional(top_logprobs=st.integers(0, 20))))
    return body


def talks() -> st.SearchStrategy[list[JSON]]:
    """Conversations that end with the user's turn, some long enough to be cached."""
    first = st.builds(
        lambda text, times: (text + " ") * times, SENTENCES, st.sampled_from([1, 1, 80])
    )
    turn = st.fixed_dictionaries({"role": st.just("user"), "content": first})
    parts = SENTENCES.map(lambda text: [{"type": "text", "text": text}])
    answer = st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": SENTENCES},
        optional={"reasoning": SENTENCES | st.none()},
    )
    last = st.fixed_dictionaries({"role": st.just("user"), "content": SENTENCES | parts})
    system = st.just({"role": "system", "content": "Be brief."})
    return st.one_of(
        last.map(lambda m: [m]),
        st.tuples(system, last).map(list),
        st.tuples(turn, answer, last).map(list),
    )


TOKENS = st.sampled_from(word_list()).map(lambda word: token_id(f" {word}")) | st.integers(0, 2**60)
PROMPTS = st.one_of(
    SENTENCES | st.text(max_size=20),
    st.lists(SENTENCES, max_size=3),
    st.lists(TOKENS, max_size=8),
    st.lists(st.lists(TOKENS, max_size=5), max_size=3),
)


@st.composite
def completions(draw: st.DrawFn) -> JSON:
    """Draw a completion request."""
    body: JSON = {"model": draw(st.sampled_from(MODELS)), "prompt": draw(PROMPTS), **draw(SHARED)}
    body.update(
        draw(
            optional(
                max_tokens=LENGTHS,
                min_tokens=st.integers(0, 150),
                echo=st.booleans(),
                return_raw_tokens=st.booleans(),
                logprobs=st.integers(0, 20),
                best_of=st.just(1) if body.get("n") in (None, 1) else st.nothing(),
            )
        )
    )
    return body
