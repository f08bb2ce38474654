"""Texts to make requests of: plain ones, and ones that are hard on encoders."""

_SAID = """
hello please tell me a story about the weather in Boston and how old is this river write one short
line of code that adds two numbers what is the capital city of France name three colours list some
animals give an example explain why water is wet count to five translate good morning who wrote it
when did they meet summarise this text compare tea with coffee
"""
WORDS = tuple(_SAID.split())

# Texts that servers have cut in the middle, escaped twice, or lost: each is whole and valid.
ODD_TEXTS = (
    "Grüße aus Köln, ça va?",
    "東京の天気は？",
    "Привет, как дела?",
    "مرحبا بالعالم",
    "👩‍👩‍👧‍👦 and 🇫🇷 and 𝄞",
    'Say "hi" \\ and/or </tag> & done',
    "First line\nsecond line\r\n\tindented",
    "data: [DONE]\n\ndata: {}",
    "e\u0301 is not é\u200b\u2028\u2029",
    "\ufeffbyte order mark",
    "<think>no</think>",
)
