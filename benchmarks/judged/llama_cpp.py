"""llama.cpp's own HTTP server, a real inference engine, with a tiny model made on the spot.

The server is the C++ one; the package `xllamacpp` carries it, and has a few lines of Python that
start it.
"""

from pathlib import Path

from .server import KEY, Place, Server

HERE = Path(__file__).parent


def _prepare(place: Place) -> tuple[str, ...]:
    # Both scripts run in the server's environment, and import nothing of this folder.
    start, maker = str(HERE / "llama_cpp_start.py"), str(HERE / "tiny_model.py")
    model = str(place.scratch / "tiny.gguf")
    return (place.program("python"), start, maker, model, str(place.port), KEY)


LLAMA_CPP = Server(
    name="llama.cpp",
    what="inference engine, C++",
    client="pip",
    packages=("xllamacpp==2026.10.11549", "gguf==0.19.0"),
    port=4136,
    prepare=_prepare,
    flags=("--any-model",),
    setup="A model of 2 layers and 567 tokens with random weights; one key is known.",
)
