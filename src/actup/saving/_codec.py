"""How every kind of value is written: plain JSON, or an object of one entry that names the kind.

``_CODECS`` is the table. Reading makes only what the table knows: values of the header choose among its rows,
they never name a class, a module or a function.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from actup._csr import check_compressed
from actup._device import on_gpu, to_host
from actup.estimators._state import Derived
from actup.graph._records import Graph, Neighbors
from actup.recipe._recipe import Recipe
from actup.recipe._schedule import Phase
from actup.saving._container import ModelFile, SavedModelError, type_name
from actup.transform._new_rows import TrainingRows

_MAX_INT_BITS = 128  # the state of a random generator has numbers of this length
_MIN_ARRAY_NUMBERS = 64  # lists of fewer numbers stand in the header
_MERSENNE_WORDS = 624
_NONFINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


class Encoder:
    """Collects the arrays of the values that it encodes.

    Parameters
    ----------
    half_sparse : bool, default=False
        Whether the values of sparse training rows are to be written in float16, which SciPy does not have.

    Attributes
    ----------
    arrays : dict of str to ndarray
        By the path of the value, such as "_training.rows".
    """

    def __init__(self, half_sparse: bool = False) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.half_sparse = half_sparse

    def encode(self, value: Any, where: str) -> Any:
        """What JSON holds in place of a value.

        Parameters
        ----------
        value : object
        where : str
            The path of the value, for errors and for the names of arrays.
        """
        if isinstance(value, str):  # also members of an enum: where one is needed, the text becomes it again
            return str(value)
        if value is None or type(value) is bool:
            return value
        if type(value) is int and value.bit_length() <= _MAX_INT_BITS:
            return value
        if type(value) is float and np.isfinite(value):
            return value
        for codec in _CODECS.values():
            if codec.is_kind(value):
                return {codec.name: codec.encode(self, value, where)}
        kind = "a function" if callable(value) else f"a {type(value).__name__}"
        name = where.partition(".")[0]
        remedy = "" if "_" in (name[0], name[-1]) else f"replace it with model.set_params({name}=...), or "
        raise TypeError(
            f"{name} is or holds {kind}, which a file of plain values cannot hold: {remedy}use pickle"
        )

    def add(self, array: np.ndarray, where: str) -> str:
        """Register an array; returns its name in the file."""
        if type_name(array.dtype) is None:
            raise TypeError(
                f"{where} holds {array.dtype}, which not every machine has: convert it to float64 or another "
                "type of at most 8 bytes"
            )
        name = unique = re.sub(r"[^A-Za-z0-9_.\-]", "_", where)[:150]
        while unique in self.arrays:
            unique = f"{name}-{len(self.arrays)}"
        self.arrays[unique] = array
        return unique


class Decoder:
    """Makes values of what an ``Encoder`` has written, and checks them.

    Parameters
    ----------
    file : ModelFile

    Attributes
    ----------
    recipe : Recipe or None
        The recipe of the model, once it is read: the training rows need its metric.
    """

    def __init__(self, file: ModelFile):
        self.file = file
        self.recipe: Recipe | None = None

    def decode(self, value: Any, where: str) -> Any:
        """The value that JSON stands for."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if not isinstance(value, dict) or len(value) != 1:
            raise SavedModelError(f"{where} is no value that a model can have")
        ((name, content),) = value.items()
        if name not in _CODECS:
            raise SavedModelError(f"{where} is of an unknown kind {name[:50]!r}")
        return _CODECS[name].decode(self, content, where)

    def members(self, content: Any, names: set[str], where: str) -> dict[str, Any]:
        """The content of a JSON object that must have exactly these entries."""
        if not isinstance(content, dict) or content.keys() != names:
            raise SavedModelError(f"{where} needs the entries {', '.join(sorted(names))}, and no others")
        return content


@dataclass(frozen=True)
class Codec:
    """How values of one kind are written and read.

    Attributes
    ----------
    name : str
        The entry that marks them in the header.
    types : tuple of type
        The types that a field of a fitted state may have to be saved by this codec.
    is_kind : callable
        Whether a value is of this kind.
    encode, decode : callable
        ``encode(encoder, value, where)`` and ``decode(decoder, content, where)``.
    """

    name: str
    types: tuple[type, ...]
    is_kind: Callable[[Any], bool]
    encode: Callable[[Encoder, Any, str], Any]
    decode: Callable[[Decoder, Any, str], Any]


# ---- numbers and containers ----


def _encode_float(_: Encoder, value: float, __: str) -> str:
    return str(float(value))


def _decode_float(_: Decoder, content: Any, where: str) -> float:
    if not isinstance(content, str) or content not in _NONFINITE:
        raise SavedModelError(f"{where} is no number")
    return _NONFINITE[content]


def _encode_scalar(encoder: Encoder, value: np.generic, where: str) -> str:
    return encoder.add(np.asarray(value), where)


def _decode_scalar(decoder: Decoder, content: Any, where: str) -> Any:
    array = decoder.file.array(content)
    if array.shape != ():
        raise SavedModelError(f"{where} is no single number")
    return array[()]


def _encode_sequence(encoder: Encoder, value: list[Any] | tuple[Any, ...], where: str) -> Any:
    numbers = _as_numbers(value)
    if numbers is not None:
        return encoder.add(numbers, where)
    return [encoder.encode(part, f"{where}.{i}") for i, part in enumerate(value)]


def _decode_sequence(kind: type, decoder: Decoder, content: Any, where: str) -> Any:
    if isinstance(content, str):
        array = decoder.file.array(content)
        if array.ndim == 0:
            raise SavedModelError(f"{where} is no sequence")
        return _nested(array.tolist(), kind)
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
        return array if bool(_nested(array.tolist(), type(value)) == value) else None
    except ValueError:  # arrays inside compare element by element
        return None


def _nested(value: Any, kind: type) -> Any:
    return kind(_nested(part, kind) for part in value) if isinstance(value, list) else value


def _encode_dict(encoder: Encoder, value: dict[Any, Any], where: str) -> dict[str, Any]:
    if not all(type(key) is str for key in value):
        raise TypeError(f"{where} is a dict with keys that are not all str: a file holds names only")
    return {key: encoder.encode(part, f"{where}.{key}") for key, part in value.items()}


def _decode_dict(decoder: Decoder, content: Any, where: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise SavedModelError(f"{where} is no dict")
    return {key: decoder.decode(part, f"{where}.{key[:50]}") for key, part in content.items()}


def _decode_bytes(_: Decoder, content: Any, where: str) -> bytes:
    if not isinstance(content, str):
        raise SavedModelError(f"{where} is no text")
    return bytes.fromhex(content)


# ---- arrays ----


def _is_array(value: Any) -> bool:
    if on_gpu(value):
        return True
    return isinstance(value, np.ndarray) and value.dtype != object and not np.ma.isMaskedArray(value)


def _is_names(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != object:
        return False
    return all(type(name) is str for name in value)


def _decode_names(_: Decoder, content: Any, where: str) -> np.ndarray:
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise SavedModelError(f"{where} is no list of names")
    return np.array(content, dtype=object)


def _is_csr(value: Any) -> bool:
    return sparse.issparse(value) and value.format == "csr"


def _encode_csr(encoder: Encoder, value: Any, where: str) -> dict[str, Any]:
    arrays = {part: encoder.add(getattr(value, part), f"{where}.{part}") for part in _CSR_PARTS}
    return {**arrays, "columns": int(value.shape[1]), "is_matrix": sparse.isspmatrix(value)}


_CSR_PARTS = ("data", "indices", "indptr")


def _decode_csr(decoder: Decoder, content: Any, where: str) -> Any:
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


# ---- records ----


@cache
def field_types(kind: type) -> dict[str, Any]:
    """The types of the fields of a dataclass."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def encode_fields(encoder: Encoder, value: Any, where: str) -> dict[str, Any]:
    """All fields of a dataclass."""
    prefix = f"{where}." if where not in ("", "fitted") else ""
    return {name: encoder.encode(getattr(value, name), prefix + name) for name in field_types(type(value))}


def decode_fields(
    kind: type, decoder: Decoder, content: Any, where: str, known: dict[str, Any] | None = None
) -> Any:
    """A dataclass, if its fields are known and have their types; a field that is missing takes its default.

    Fields of a later release are unknown here. Those that an earlier release lacked have a default, or None.
    ``known`` holds fields that are decoded already.
    """
    known = known or {}
    hints = field_types(kind)
    if not isinstance(content, dict):
        raise SavedModelError(f"{where} is no record")
    unknown = sorted(content.keys() - hints.keys())
    if unknown:
        raise SavedModelError(
            f"{where} has a field {unknown[0][:50]!r}, which this release of ActUp does not know: update ActUp"
        )
    prefix = f"{where}." if where not in ("", "fitted") else ""
    parts = {name: part for name, part in content.items() if name not in known}
    values = known | {name: decoder.decode(part, prefix + name) for name, part in parts.items()}
    for field in fields(kind):
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
            if not has_type(None, hints[field.name]):
                raise SavedModelError(f"{where} lacks the field {field.name!r}")
            values[field.name] = None
    for name, value in values.items():
        hint = hints[name]
        if isinstance(hint, type) and issubclass(hint, StrEnum) and isinstance(value, str):
            values[name] = hint(value)
        elif not has_type(value, hint):
            raise SavedModelError(f"{prefix}{name} is a {type(value).__name__}, not {hint}")
    return kind(**values)


def has_type(value: Any, hint: Any) -> bool:
    """Whether a value is what a type hint of a field says."""
    origin, parameters = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(has_type(value, part) for part in parameters)
    if hint in (None, type(None)):
        return value is None
    if hint in (int, float):
        number = Integral if hint is int else Real
        return isinstance(value, number) and not isinstance(value, bool)
    if origin is dict:
        return isinstance(value, dict) and all(has_type(part, parameters[1]) for part in value.values())
    if origin is tuple:
        if len(parameters) == 2 and parameters[1] is Ellipsis:
            return isinstance(value, tuple) and all(has_type(part, parameters[0]) for part in value)
        return (
            isinstance(value, tuple)
            and len(value) == len(parameters)
            and all(has_type(part, kind) for part, kind in zip(value, parameters, strict=True))
        )
    if origin is not None and not isinstance(origin, type):
        return True
    return isinstance(value, origin or hint)


def _encode_training(encoder: Encoder, value: TrainingRows, where: str) -> dict[str, Any]:
    rows, name = to_host(value.rows), f"{where}.rows"
    encoded = encoder.encode(rows, name)
    if encoder.half_sparse and _is_csr(rows) and rows.dtype == np.float32:
        data = encoded["csr"]["data"]
        encoder.arrays[data] = encoder.arrays[data].astype(np.float16)
    return {"count": len(value), "rows": encoded}


def _decode_training(decoder: Decoder, content: Any, where: str) -> TrainingRows:
    content = decoder.members(content, {"count", "rows"}, where)
    rows, count = decoder.decode(content["rows"], f"{where}.rows"), content["count"]
    if decoder.recipe is None or type(count) is not int or not 0 < count < 2**31:
        raise SavedModelError(f"{where} holds no training rows")
    if rows is None:
        return TrainingRows(None, decoder.recipe, count)
    if not (_is_csr(rows) or (_is_array(rows) and rows.ndim == 2)) or rows.shape[0] != count:
        raise SavedModelError(f"{where}.rows is no matrix of {count} rows")
    return TrainingRows(rows, decoder.recipe)


# ---- random generators ----


def _encode_random_state(encoder: Encoder, value: np.random.RandomState, where: str) -> dict[str, Any]:
    state = value.get_state(legacy=False)
    if not isinstance(state, dict) or state["bit_generator"] != "MT19937":
        raise TypeError(f"{where} is a RandomState of another generator than MT19937: use one of that")
    return {
        "key": encoder.add(state["state"]["key"], where),
        "position": int(state["state"]["pos"]),
        "gauss": float(state["gauss"]) if state["has_gauss"] else None,
    }


def _decode_random_state(decoder: Decoder, content: Any, where: str) -> np.random.RandomState:
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


def _encode_generator(_: Encoder, value: np.random.Generator, where: str) -> dict[str, int]:
    state = value.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(
            f"{where} is a Generator of {state['bit_generator']}, a file holds PCG64 only: use "
            "numpy.random.default_rng"
        )
    return {**state["state"], "has_uint32": int(state["has_uint32"]), "uinteger": int(state["uinteger"])}


def _decode_generator(decoder: Decoder, content: Any, where: str) -> np.random.Generator:
    bits = {"state": 128, "inc": 128, "has_uint32": 1, "uinteger": 32}
    content = decoder.members(content, set(bits), where)
    for name, length in bits.items():
        if type(content[name]) is not int or not 0 <= content[name] < 2**length:
            raise SavedModelError(f"{where} is no state of a random generator")
    generator = np.random.PCG64(0)
    generator.state = {
        "bit_generator": "PCG64",
        "state": {name: content[name] for name in ("state", "inc")},
        "has_uint32": content["has_uint32"],
        "uinteger": content["uinteger"],
    }
    return np.random.Generator(generator)


# ---- the table ----


def _record(kind: type) -> Codec:
    return Codec(
        kind.__name__, (kind,), lambda v: type(v) is kind, encode_fields, partial(decode_fields, kind)
    )


def _sequence(kind: type) -> Codec:
    return Codec(
        kind.__name__, (kind,), lambda v: type(v) is kind, _encode_sequence, partial(_decode_sequence, kind)
    )


# The types that stand in the header as they are; the table has the others, in the order in which they are tried.
PLAIN_TYPES: tuple[type, ...] = (type(None), bool, int, float, str, StrEnum)

_CODECS = {
    codec.name: codec
    for codec in (
        Codec("scalar", (np.generic,), lambda v: isinstance(v, np.generic), _encode_scalar, _decode_scalar),
        Codec("float", (), lambda v: type(v) is float, _encode_float, _decode_float),
        Codec("bytes", (bytes,), lambda v: type(v) is bytes, lambda _, v, __: v.hex(), _decode_bytes),
        _sequence(list),
        _sequence(tuple),
        Codec("dict", (dict,), lambda v: type(v) is dict, _encode_dict, _decode_dict),
        Codec("names", (), _is_names, lambda _, v, __: list(v), _decode_names),
        Codec("array", (np.ndarray,), _is_array, lambda e, v, where: e.add(to_host(v), where),
              lambda d, v, _: d.file.array(v)),
        Codec("csr", (), _is_csr, _encode_csr, _decode_csr),
        _record(Recipe),
        _record(Phase),
        _record(Graph),
        _record(Neighbors),
        _record(Derived),
        Codec("TrainingRows", (TrainingRows,), lambda v: type(v) is TrainingRows, _encode_training,
              _decode_training),
        Codec("RandomState", (np.random.RandomState,), lambda v: type(v) is np.random.RandomState,
              _encode_random_state, _decode_random_state),
        Codec("Generator", (np.random.Generator,), lambda v: type(v) is np.random.Generator,
              _encode_generator, _decode_generator),
    )
}  # fmt: skip


def savable_types() -> tuple[type, ...]:
    """The types that a field of a fitted state can have."""
    return PLAIN_TYPES + tuple(kind for codec in _CODECS.values() for kind in codec.types)
