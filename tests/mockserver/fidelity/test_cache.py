"""cached_tokens: a pure figure by default, and what was really seen with a prompt cache."""

from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver import chat, text_completion
from wafermock.mockserver.call import Call
from wafermock.mockserver.prompt_cache import PromptCache

from .asking import CHAT, COMPLETIONS, JSON, asks, contract, examples, says, whole
from .test_images import png, shows, uri

LONG = "word" + " word" * 299


def cached(answer: JSON) -> int:
    tokens: int = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    return tokens


def user(text: str) -> JSON:
    return {"role": "user", "content": text}


def assistant(text: str) -> JSON:
    return {"role": "assistant", "content": text}


def test_what_came_before_the_last_answer_counts_as_cached() -> None:
    assert cached(whole(CHAT, says(LONG))) == 0
    talk = says("", messages=[user(LONG), assistant("Yes."), user("Why?")])
    first = whole(CHAT, says(LONG))["usage"]["prompt_tokens"]
    assert cached(whole(CHAT, talk)) == first // 128 * 128 == 256
    talk["messages"] += [assistant(LONG), user("And?")]
    assert cached(whole(CHAT, talk)) == 256
    assert cached(whole(CHAT, talk)) == 256, "by itself it remembers nothing"
    assert cached(whole(COMPLETIONS, asks(LONG))) == 0


def ask(body: JSON, cache: PromptCache) -> tuple[int, int]:
    """Compose an answer with a cache; return the cached and all tokens of the prompt."""
    path = CHAT if "messages" in body else COMPLETIONS
    route = contract().route("POST", path)
    assert route is not None
    call = Call(route.operation, body, {}, 0, "")
    from wafermock.mockserver.canned import Canned

    composer = chat.compose if path == CHAT else text_completion.compose
    models = contract().models
    usage = composer(call, models, Canned(route.operation), None, cache).usage
    return usage.cached_tokens, usage.prompt_tokens


def test_a_prompt_is_known_the_second_time() -> None:
    cache = PromptCache()
    assert ask(says(LONG), cache) == (0, 304)
    assert ask(says(LONG), cache) == (256, 304)
    assert ask(says(LONG + " and more"), cache) == (256, 306)
    assert ask(says("other " + LONG), cache) == (0, 305)
    assert ask(says(LONG, messages=[user(LONG), assistant("Yes."), user("Why?")]), cache)[0] == 256


def test_a_completion_is_known_the_second_time() -> None:
    cache = PromptCache()
    assert ask(asks(LONG), cache) == (0, 300)
    assert ask(asks([LONG, LONG]), cache) == (512, 600)
    assert ask(asks(["x " + LONG, LONG]), cache)[0] == 256


def test_models_and_keys_do_not_share() -> None:
    cache = PromptCache()
    ask(says(LONG), cache)
    assert ask(says(LONG, model="zai-glm-4.7"), cache)[0] == 0
    assert ask(says(LONG, prompt_cache_key="a"), cache)[0] == 0
    assert ask(says(LONG, prompt_cache_key="a"), cache)[0] == 256
    assert ask(says(LONG, prompt_cache_key="b"), cache)[0] == 0
    assert ask(says(LONG), cache)[0] == 256


def test_images_are_a_part_of_the_prefix() -> None:
    cache = PromptCache()
    first = shows(uri(png(512, 512)))
    _, tokens = ask(first, cache)
    assert ask(first, cache) == (tokens // 128 * 128, tokens)
    assert ask(shows(uri(png(512, 513))), cache)[0] == 0


def test_the_memory_is_bounded_and_forgets_the_oldest() -> None:
    cache = PromptCache(most_blocks=4)
    tokens = [str(n) for n in range(4 * 128)]
    assert cache.read(tokens, "m", None, 128) == 0
    assert cache.read(tokens, "m", None, 128) == 512
    cache.read(["x"] * 128, "m", None, 128)
    assert cache.read(tokens[:256], "m", None, 128) == 256, "the ends go first"
    assert cache.read(tokens, "m", None, 128) == 384
    for start in range(50):
        cache.read([str(n) for n in range(start, start + 1280)], "m", None, 128)
    assert len(cache._seen) <= 4


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=6).map("".join), min_size=1, max_size=8))
@examples
def test_known_is_the_longest_common_prefix(words: list[str]) -> None:
    cache = PromptCache()
    seen: list[list[str]] = []
    for word in words:
        tokens = [letter for letter in word for _ in range(128)]
        common = [_common(tokens, before) for before in seen]
        assert cache.read(tokens, "m", "k", 128) == max(common, default=0)
        seen.append(tokens)


def _common(one: list[str], other: list[str]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length // 128 * 128
