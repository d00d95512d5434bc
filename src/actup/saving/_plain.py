"""How plain values are written and read: numbers, containers, arrays and random generators.

``actup.saving._codec`` has the table of all kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from actup._csr import check_compressed
from actup._device import on_gpu
from actup.saving._container import SavedModelError, nested_bytes

if TYPE_CHECKING:
    from actup.saving._codec import Decoder, Encoder

_MIN_ARRAY_NUMBERS = 64  # lists of fewer numbers stand in the header
_MERSENNE_WORDS = 624
_GENERATOR_BYTES = 2**10
_NONFINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_CSR_PARTS = ("data", "indices", "indptr")


# ---- numbers and containers ----


def encode_float(_: Encoder, value: float, __: str) -> str:
    return str(float(value))


def decode_float(_: Decoder, content: Any, where: str) -> float:
    if not isinstance(content, str) or content not in _NONFINITE:
        raise SavedModelError(f"{where} is no number")
    return _NONFINITE[content]


def encode_scalar(encoder: Encoder, value: np.generic, where: str) -> str:
    return encoder.add(np.asarray(value), where)


def decode_scalar(decoder: Decoder, content: Any, where: str) -> Any:
    array = decoder.file.array(content)
    if array.shape != ():
        raise SavedModelError(f"{where} is no single number")
    return array[()]


def encode_sequence(encoder: Encoder, value: list[Any] | tuple[Any, ...], where: str) -> Any:
    numbers = _as_numbers(value)
    if numbers is not None:
        encoder.nested += nested_bytes(numbers.shape)
        return encoder.add(numbers, where)
    return [encoder.encode(part, f"{where}.{i}") for i, part in enumerate(value)]


def decode_sequence(kind: type, decoder: Decoder, content: Any, where: str) -> Any:
    if isinstance(content, str):
        shape = decoder.file.shape(content)
        if not shape:
            raise SavedModelError(f"{where} is no sequence")
        decoder.file.claim(nested_bytes(shape), where)
        return _nested(decoder.file.array(content), kind)
    if not isinstance(content, list):
        raise SavedModelError(f"{where} is no sequence")
    return kind(decoder.decode(part, f"{where}.{i}") for i, part in enumerate(content))


def _as_numbers(value: list[Any] | tuple[Any, ...]) -> np.ndarray | None:
    """Many numbers in lists of lists, or tuples of tuples, as an array; None for anything else."""
    first: Any = value
    while isinstance(first, list | tuple) and first:
        first = first[0]
    if type(first) not in (int, float):
        return None
    try:
        array = np.array(value)
    except (ValueError, TypeError, OverflowError):  # of several lengths or kinds
        return None
    if array.dtype not in (np.float64, np.int64) or array.size < _MIN_ARRAY_NUMBERS:
        return None
    try:
        return array if bool(_nested(array, type(value)) == value) else None
    except ValueError:  # arrays inside compare element by element
        return None


def _nested(array: np.ndarray, kind: type) -> Any:
    """The numbers of an array in lists of lists, or tuples of tuples; made part by part, without copies."""
    return kind(array.tolist()) if array.ndim == 1 else kind(_nested(part, kind) for part in array)


def encode_dict(encoder: Encoder, value: dict[Any, Any], where: str) -> dict[str, Any]:
    if not all(type(key) is str for key in value):
        raise TypeError(f"{where} is a dict with keys that are not all str: a file holds names only")
    return {key: encoder.encode(part, f"{where}.{key}") for key, part in value.items()}


def decode_dict(decoder: Decoder, content: Any, where: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise SavedModelError(f"{where} is no dict")
    return {key: decoder.decode(part, f"{where}.{key[:50]}") for key, part in content.items()}


def encode_bytes(_: Encoder, value: bytes, __: str) -> str:
    return value.hex()


def decode_bytes(_: Decoder, content: Any, where: str) -> bytes:
    if not isinstance(content, str):
        raise SavedModelError(f"{where} is no text")
    return bytes.fromhex(content)


# ---- arrays ----


def is_array(value: Any) -> bool:
    if on_gpu(value):
        return True
    return isinstance(value, np.ndarray) and value.dtype != object and not np.ma.isMaskedArray(value)


def is_names(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != object:
        return False
    return all(type(name) is str for name in value)


def encode_names(_: Encoder, value: np.ndarray, __: str) -> list[str]:
    return list(value)


def decode_names(_: Decoder, content: Any, where: str) -> np.ndarray:
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise SavedModelError(f"{where} is no list of names")
    return np.array(content, dtype=object)


def is_csr(value: Any) -> bool:
    return bool(sparse.issparse(value) and value.format == "csr")


def encode_csr(encoder: Encoder, value: Any, where: str) -> dict[str, Any]:
    check_compressed(value.indptr, value.indices, len(value.data), value.shape, where)
    arrays = {part: encoder.add(getattr(value, part), f"{where}.{part}") for part in _CSR_PARTS}
    return {**arrays, "columns": int(value.shape[1]), "is_matrix": sparse.isspmatrix(value)}


def decode_csr(decoder: Decoder, content: Any, where: str) -> Any:
    content = decoder.members(content, {*_CSR_PARTS, "columns", "is_matrix"}, where)
    data, ids, offsets = (decoder.file.array(content[part]) for part in _CSR_PARTS)
    columns, is_matrix = content["columns"], content["is_matrix"]
    if type(columns) is not int or not 0 <= columns < 2**31 or data.ndim != 1 or not offsets.size:
        raise SavedModelError(f"{where} is no sparse matrix")
    data = data.astype(np.float32) if data.dtype == np.float16 else data
    shape = offsets.size - 1, columns
    check_compressed(offsets, ids, len(data), shape, where)
    kind = sparse.csr_matrix if is_matrix is True else sparse.csr_array
    return kind((data, ids, offsets), shape=shape)


# ---- random generators ----


def encode_random_state(encoder: Encoder, value: np.random.RandomState, where: str) -> dict[str, Any]:
    state = value.get_state(legacy=False)
    if not isinstance(state, dict) or state["bit_generator"] != "MT19937":
        raise TypeError(f"{where} is a RandomState of another generator than MT19937: use one of that")
    return {
        "key": encoder.add(state["state"]["key"], where),
        "position": int(state["state"]["pos"]),
        "gauss": float(state["gauss"]) if state["has_gauss"] else None,
    }


def decode_random_state(decoder: Decoder, content: Any, where: str) -> np.random.RandomState:
    content = decoder.members(content, {"key", "position", "gauss"}, where)
    key, position, gauss = decoder.file.array(content["key"]), content["position"], content["gauss"]
    right_key = key.dtype == np.uint32 and key.shape == (_MERSENNE_WORDS,)
    if not right_key or type(position) is not int or not 0 <= position <= _MERSENNE_WORDS:
        raise SavedModelError(f"{where} is no state of a random generator")
    if gauss is not None and type(gauss) is not float:
        raise SavedModelError(f"{where} is no state of a random generator")
    random = np.random.RandomState()
    random.set_state(("MT19937", key, position, int(gauss is not None), gauss or 0.0))
    return random


def encode_generator(_: Encoder, value: np.random.Generator, where: str) -> dict[str, int]:
    state = value.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(
            f"{where} is a Generator of {state['bit_generator']}, a file holds PCG64 only: use "
            "numpy.random.default_rng"
        )
    return {**state["state"], "has_uint32": int(state["has_uint32"]), "uinteger": int(state["uinteger"])}


def decode_generator(decoder: Decoder, content: Any, where: str) -> np.random.Generator:
    bits = {"state": 128, "inc": 128, "has_uint32": 1, "uinteger": 32}
    content = decoder.members(content, set(bits), where)
    for name, length in bits.items():
        if type(content[name]) is not int or not 0 <= content[name] < 2**length:
            raise SavedModelError(f"{where} is no state of a random generator")
    decoder.file.claim(_GENERATOR_BYTES, where)
    generator = np.random.PCG64(0)
    generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": content["state"], "inc": content["inc"]},
        "has_uint32": content["has_uint32"],
        "uinteger": content["uinteger"],
    }
    return np.random.Generator(generator)
