"""Pictures as pixels: the SVG rendered to PNG by a renderer of its own, and the PNG decoded."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest


def render(svg: str) -> bytes:
    """The PNG of a picture."""
    resvg = pytest.importorskip("resvg_py")
    return bytes(resvg.svg_to_bytes(svg_string=svg))


def decode(png: bytes) -> Any:
    """Height x width x RGB of a PNG with eight bits a channel, not interlaced."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, head = 8, b"", b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        head, data = (body, data) if kind == b"IHDR" else (head, data + body) if kind == b"IDAT" else (head, data)
        at += size + 12
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head)
    assert (depth, interlaced) == (8, 0)
    n = {2: 3, 6: 4}[colour]
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * n)
    out = np.zeros((height + 1, width + 1, n), np.uint8)  # with a row above and a column to the left
    for y, line in enumerate(lines):
        out[y + 1, 1:] = _unfiltered(int(line[0]), line[1:].reshape(width, n), out[y, :], width)
    return out[1:, 1:, :3]


def _unfiltered(kind: int, raw: Any, above: Any, width: int) -> Any:
    if kind == 0:
        return raw
    if kind == 1:
        return np.cumsum(raw, axis=0, dtype=np.uint8)
    if kind == 2:
        return raw + above[1:]
    made = np.zeros_like(above).astype(int)
    up = above.astype(int)
    for x in range(1, width + 1):
        left, top, corner = made[x - 1], up[x], up[x - 1]
        guess = (left + top) // 2 if kind == 3 else _paeth(left, top, corner)
        made[x] = (raw[x - 1] + guess) % 256
    return made[1:].astype(np.uint8)


def _paeth(left: Any, top: Any, corner: Any) -> Any:
    far = left + top - corner
    a, b, c = abs(far - left), abs(far - top), abs(far - corner)
    return np.where((a <= b) & (a <= c), left, np.where(b <= c, top, corner))


def is_colour(pixels: Any, colour: str, tolerance: int = 40) -> Any:
    """Where pixels have a colour such as #0072b2."""
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return (np.abs(pixels.astype(int) - wanted) <= tolerance).all(axis=-1)
