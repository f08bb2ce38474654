"""mock-llm, by dwmkerr: an echo server with rules."""

from .server import HOST, Place, Server


def _prepare(place: Place) -> tuple[str, ...]:
    return (place.program("mock-llm"),)


PORT = 4132

MOCK_LLM = Server(
    name="mock-llm",
    what="echo server with rules, Node",
    client="npm",
    packages=("@dwmkerr/mock-llm@0.1.29",),
    port=PORT,
    prepare=_prepare,
    environment={"HOST": HOST, "PORT": str(PORT)},
    flags=("--any-key", "--any-model"),
    setup="As it comes: it echoes the last message.",
)
