"""The random numbers of docs/layout.md for the oracle, in Python's own integers."""

_64_BITS = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    """Scramble 64 bits: the finaliser of SplitMix64."""
    z &= _64_BITS
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 & _64_BITS
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & _64_BITS
    return z ^ z >> 31


def random_bits(seed: int, epoch: int, item: int, draw: int) -> int:
    """64 random bits that are a pure function of the four numbers."""
    return mix(mix(mix(seed + _GOLDEN) + (epoch << 32) + item + _GOLDEN) + draw + _GOLDEN)


def random_below(bits: int, n: int) -> int:
    """An integer from 0 to n - 1."""
    return (bits >> 32) * n >> 32
