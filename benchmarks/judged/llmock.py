"""llmock, a mock of many providers in Python that can break its answers on demand."""

from .server import HOST, Place, Server


def _prepare(place: Place) -> tuple[str, ...]:
    port = ("--host", HOST, "--port", str(place.port))
    return (place.program("llmock"), "serve", *port, "--log-level", "warning")


LLMOCK = Server(
    name="llmock",
    what="mock of many providers, Python",
    client="pip",
    packages=("llmock==0.2.2",),
    port=4133,
    prepare=_prepare,
    flags=("--any-key", "--any-model"),
    setup="As it comes, with no fault switched on.",
)
