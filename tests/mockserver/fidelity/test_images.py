"""Images: data URIs really decoded, their tokens from the pixels, everything else refused."""

import base64
import struct
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.images import image_size

from .asking import CHAT, JSON, content, examples, refusal, says, send, whole

MODEL = "gemma-4-31b"


def png(width: int, height: int) -> bytes:
    """A real PNG of black pixels, one bit each."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes((width + 7) // 8)) * height)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", rows), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def jpeg(width: int, height: int, *, frame: int = 0xC0, fill: int = 0, before: int = 1) -> bytes:
    """The head of a JPEG: JFIF and quantisation segments, fill bytes, then the frame header."""
    app = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    table = b"\xff\xdb\x00\x43\x00" + bytes(range(1, 65))
    size = struct.pack(">HH", height, width)
    head = b"\xff" * fill + bytes([0xFF, frame]) + b"\x00\x0b\x08" + size + b"\x01\x01\x11\x00"
    return b"\xff\xd8" + app + table * before + head + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"


def uri(data: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def shows(*urls: str, model: str = MODEL) -> JSON:
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    body = says("", model=model)
    body["messages"][0]["content"] = [{"type": "text", "text": "What is it?"}, *images]
    return body


def image_tokens(body: JSON) -> int:
    usage = whole(CHAT, body)["usage"]
    plain = whole(CHAT, {**body, "messages": says("What is it?")["messages"]})["usage"]
    assert usage["prompt_tokens"] - usage["image_tokens"] == plain["prompt_tokens"]
    tokens: int = usage["image_tokens"]
    return tokens


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    # the first two are the vendor's own figures; see models.yaml
    [
        (336, 226, 260),
        (512, 512, 256),
        (1, 1, 256),
        (4096, 4096, 256),
        (1, 5000, 280),
        (803, 803, 256),
    ],
)
@pytest.mark.parametrize(("make", "kind"), [(png, "png"), (jpeg, "jpeg"), (jpeg, "jpg")])
def test_tokens_by_the_pixels(
    width: int, height: int, tokens: int, make: Callable[[int, int], bytes], kind: str
) -> None:
    assert image_tokens(shows(uri(make(width, height), kind))) == tokens


@given(st.integers(1, 65_535), st.integers(1, 65_535), st.sampled_from([0xC0, 0xC2, 0xCF]),
       st.integers(0, 3), st.integers(0, 40))  # fmt: skip
@examples
def test_a_frame_header_is_found_wherever_it_is(
    width: int, height: int, frame: int, fill: int, before: int
) -> None:
    data = jpeg(width, height, frame=frame, fill=fill, before=before)
    assert 1 <= image_tokens(shows(uri(data, "jpeg"))) <= 280


@pytest.mark.parametrize(("make", "kind"), [(png, "png"), (jpeg, "jpeg")])
def test_the_size_is_width_by_height(make: Callable[[int, int], bytes], kind: str) -> None:
    assert image_size(uri(make(640, 9), kind)) == (640, 9)


def test_several_images_add_up() -> None:
    both = image_tokens(shows(uri(png(336, 226)), uri(jpeg(512, 512), "jpeg")))
    assert both == 260 + 256


def test_image_tokens_stand_where_the_model_sees() -> None:
    assert whole(CHAT, says("Hi", model=MODEL))["usage"]["image_tokens"] == 0
    assert "image_tokens" not in whole(CHAT, says("Hi"))["usage"]
    assert "image_tokens" not in whole(CHAT, says("Hi", model="another"))["usage"]
    assert image_tokens(shows(uri(png(512, 512)), model="another")) == 256


def test_the_answer_depends_on_the_image() -> None:
    one, other = (content(whole(CHAT, shows(uri(png(w, 9))))) for w in (8, 9))
    assert one != other


BROKEN = {
    "no base64": "data:image/png;base64,@@@@",
    "cut base64": uri(png(2, 2))[:-3],
    "spaces": "data:image/png;base64,iVBO RwK=",
    "empty": "data:image/png;base64,",
    "another format": uri(b"GIF89a" + bytes(20), "gif"),
    "webp": uri(b"RIFF", "webp"),
    "not what it says": uri(jpeg(2, 2), "png"),
    "nor the other way": uri(png(2, 2), "jpeg"),
    "only a signature": uri(b"\x89PNG\r\n\x1a\n"),
    "no pixels": uri(png(0, 5)),
    "no frame": uri(b"\xff\xd8\xff\xe0\x00\x02" * 3, "jpeg"),
    "cut frame": uri(b"\xff\xd8\xff\xc0\x00\x0b\x08\x00", "jpeg"),
    "endless fill": uri(b"\xff\xd8" + b"\xff" * 5000, "jpeg"),
    "no base64 marker": "data:image/png,abc",
    "no media type": "data:;base64,AAAA",
    "a file": "file:///etc/passwd",
    "nothing": "",
}


@pytest.mark.parametrize("url", BROKEN.values(), ids=BROKEN)
def test_what_is_no_image_is_refused(url: str) -> None:
    status, error = refusal(CHAT, shows(url))
    assert (status, error["param"], error["code"]) == (400, "messages", "wrong_api_format")
    assert error["message"].startswith("The image cannot be read: ")


@pytest.mark.parametrize("url", ["https://example.com/a.png", " HTTP://example.com/a.jpg"])
@pytest.mark.parametrize("model", [MODEL, "another"])
def test_a_web_address_is_refused(url: str, model: str) -> None:
    status, error = refusal(CHAT, shows(url, model=model))
    assert (status, error["param"]) == (400, "messages")
    assert error["message"].startswith("External image URLs are not supported.")


def test_a_text_model_is_shown_none() -> None:
    status, error = refusal(CHAT, shows(uri(png(2, 2)), model="gpt-oss-120b"))
    assert status == 400
    assert error["message"] == "Model gpt-oss-120b does not support image input."


def test_images_are_for_users_only() -> None:
    body = shows(uri(png(2, 2)))
    body["messages"][0]["role"] = "system"
    assert send(CHAT, body).status == 422
