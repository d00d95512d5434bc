"""Change bytes at random: what every kind of file can be put to."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

NUMBERS = [
    0, 1, -1, 2, 127, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, 2**63,
    2**64, 2**70, -(2**31), -(2**63),
    0.5, -0.5, 1e-300, 1e-40, 1e-10, 1e10, 1e30, 1e38, 1e39, 1e300, -1e300, 10**400,
]  # fmt: skip
_SIZES = [(1, "<B"), (2, "<H"), (4, "<I"), (8, "<Q"), (2, ">H"), (4, ">I")]

Change = Callable[[bytes, random.Random], bytes]


def flip_bits(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def truncate(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))] if draw.random() < 0.7 else data[draw.randrange(len(data)) :]


def move_blocks(data: bytes, draw: random.Random) -> bytes:
    a, b = sorted(draw.randrange(len(data)) for _ in range(2))
    block = data[a : min(b, a + draw.choice([1, 4, 64, 5000]))]
    at = draw.randrange(len(data))
    return draw.choice([
        data[:a] + data[a + len(block) :],  # left out
        data[:at] + block + data[at:],  # twice
        data[:a] + bytes(len(block)) + data[a + len(block) :],
        data[:at] + block + data[at + len(block) :],
        data + block,
    ])  # fmt: skip


def overwrite_number(data: bytes, draw: random.Random) -> bytes:
    """Any number of 1, 2, 4 or 8 bytes anywhere."""
    size, code = draw.choice(_SIZES)
    at = draw.randrange(max(1, len(data) - size))
    return data[:at] + struct.pack(code, some_whole_number(draw, size)) + data[at + size :]


def some_whole_number(draw: random.Random, size: int) -> int:
    """A number of so many bytes, mostly near the ends of a type."""
    return draw.choice([n for n in NUMBERS if isinstance(n, int) and n >= 0]) % 2 ** (8 * size)


def change_bytes(data: bytes, draw: random.Random, *more: Change) -> tuple[str, bytes]:
    """One change, some of several, and its name."""
    change = draw.choice([flip_bits, truncate, move_blocks, *(more or (overwrite_number,))])
    data = change(data or b"\0", draw)
    while draw.random() < 0.15 and data:
        data = draw.choice([flip_bits, move_blocks, overwrite_number])(data, draw)
    return change.__name__, data
