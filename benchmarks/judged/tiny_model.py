"""Writes a language model of 2 layers with random weights, as GGUF: PATH.

Its vocabulary has every byte and some hundred words, so that it reads any text and writes words. It
says nothing sensible, but all of an engine is at work: tokens, sampling, grammars, streams.
"""

import sys

import gguf  # type: ignore[import-not-found]
import numpy as np  # type: ignore[import-not-found]

WIDTH, HIDDEN, LAYERS, HEADS, CONTEXT = 64, 128, 2, 4, 8192
STEADY = 2.0
CONSONANTS, VOWELS = "bdklmnprstvwxyz", "aeiou"
SYLLABLES = [one + VOWELS[at % 5] for at, one in enumerate(CONSONANTS)]
SIGNS = " \n\"'{}[]():,.!?-_/0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MARKS = ("<|im_start|>", "<|im_end|>")
CALLS = ("<tool_call>", "</tool_call>")
# What is said the more: else texts, and calls of tools, would seldom begin and never end.
LIKELY = {"<tool_call>": 9.0, '"': 9.0, "}": 6.0, "<|im_end|>": 7.0}
# Conversations as many models of today read them, tools and their calls as well.
CHAT = """\
{%- if tools %}<|im_start|>system
# Tools
You may call functions. They are declared inside <tools></tools>:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
Answer with a call inside <tool_call></tool_call>:
<tool_call>{"name": <function-name>, "arguments": <args-json-object>}</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{% if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] -%}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
{#- #}</tool_call>
{%- endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def vocabulary() -> list[tuple[str, float, gguf.TokenType]]:
    """Return the tokens with their scores and kinds; a longer token has the better score."""
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    words = ["▁" + first + second for first in SYLLABLES for second in SYLLABLES]
    texts = [*dict.fromkeys(sign.replace(" ", "▁") for sign in SIGNS if sign != "\n"), *words]
    return [
        ("<unk>", 0.0, gguf.TokenType.UNKNOWN),
        ("<s>", 0.0, control),
        ("</s>", 0.0, control),
        *((f"<0x{byte:02X}>", 0.0, gguf.TokenType.BYTE) for byte in range(256)),
        *((text, float(len(text)), normal) for text in texts),
        *((mark, 0.0, gguf.TokenType.USER_DEFINED) for mark in CALLS),
        *((mark, 0.0, control) for mark in MARKS),
    ]


def write(path: str) -> None:
    """Write the model; the same file every time."""
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT)
    for name, tensor in _tensors(tokens):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(tokens: list[tuple[str, float, gguf.TokenType]]) -> list[tuple[str, np.ndarray]]:
    drawn = np.random.default_rng(7)

    def matrix(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        weights = drawn.standard_normal((rows, columns)) * scale / np.sqrt(columns)
        return weights.astype(np.float32)

    # A byte alone is seldom text: bytes get no say, so that words are said.
    output = matrix(len(tokens), WIDTH, scale=3.0)
    for number, (_, _, kind) in enumerate(tokens):
        if kind in (gguf.TokenType.BYTE, gguf.TokenType.UNKNOWN):
            output[number] = 0
    # The first number of every state is about the same: weights of it are what a token has anyway.
    embedded = matrix(len(tokens), WIDTH)
    embedded[:, 0] = STEADY
    output[:, 0] = [LIKELY.get(text, 0.0) * 2 / np.sqrt(WIDTH) for text, _, _ in tokens]
    ones = np.ones(WIDTH, dtype=np.float32)
    named = [("token_embd.weight", embedded), ("output.weight", output)]
    named.append(("output_norm.weight", ones))
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        named += [(block + part + ".weight", ones) for part in ("attn_norm", "ffn_norm")]
        for part in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
            weights = matrix(HIDDEN if part.startswith("ffn") else WIDTH, WIDTH)
            weights[:, 0] = 0  # what is steady moves nothing
            named.append((f"{block}{part}.weight", weights))
        for part in ("attn_output", "ffn_down"):
            weights = matrix(WIDTH, HIDDEN if part.startswith("ffn") else WIDTH)
            weights[0] = 0  # and nothing moves it
            named.append((f"{block}{part}.weight", weights))
    return named


if __name__ == "__main__":
    write(sys.argv[1])
