"""Pictures as pixels: the SVG rendered to PNG by a renderer of its own, and the PNG decoded."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest


def render(svg: str) -> bytes:
    """The PNG of a picture."""
    resvg = pytest.importorskip("resvg_py")
    return bytes(resvg.svg_to_bytes(svg_string=svg))


def decode(png: bytes) -> Any:
    """Height x width x RGB."""
    image = pytest.importorskip("PIL.Image")
    assert png.startswith(b"\x89PNG")
    return np.asarray(image.open(io.BytesIO(png)).convert("RGB"))


def is_colour(pixels: Any, colour: str, tolerance: int = 40) -> Any:
    """Where pixels have a colour such as #0072b2."""
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return (np.abs(pixels.astype(int) - wanted) <= tolerance).all(axis=-1)
