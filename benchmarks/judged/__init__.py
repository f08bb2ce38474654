"""Servers that others wrote, installed, started and judged: `python -m benchmarks.judged`."""

from .aimock import AIMOCK
from .litellm_proxy import LITELLM
from .llama_cpp import LLAMA_CPP
from .llmock import LLMOCK
from .mock_llm import MOCK_LLM
from .prism import PRISM

SERVERS = (AIMOCK, MOCK_LLM, LLMOCK, PRISM, LITELLM, LLAMA_CPP)
