"""How every kind of value is written: plain JSON, or an object of one entry that names the kind.

``_TABLE`` lists the kinds. Reading makes only what it lists: the header chooses among its rows, and never
names a class, a module or a function.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import partial
from numbers import Integral, Real
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from actup._device import to_host
from actup.estimators._network import Network
from actup.estimators._state import Derived
from actup.graph._records import Graph, Neighbors
from actup.recipe._recipe import Recipe, switches
from actup.recipe._schedule import Phase
from actup.saving import _plain as plain
from actup.saving._container import ModelFile, SavedModelError, type_name
from actup.transform._new_rows import TrainingRows

_FITTED_PARAMETERS = {*switches(), "metric_params"}  # the recipe of the fit holds their values
_RECORD_BYTES = 2**11  # of a record of defaults, at most
_MAX_INT_BITS = 128  # the state of a random generator has numbers of this length


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
    nested : int
        The bytes that the arrays among them take that are read as lists.
    """

    def __init__(self, half_sparse: bool = False) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.nested = 0
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
        for codec in _TABLE:
            if codec.is_kind(value):
                return {codec.name: codec.encode(self, value, where)}
        kind = "a function" if callable(value) else f"a {type(value).__name__}"
        raise TypeError(
            f"{where} is or holds {kind}, which a file of plain values cannot hold: {_remedy(where)}"
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


def _remedy(where: str) -> str:
    """What to do about a value that cannot be written."""
    name = where.partition(".")[0]
    if name == "recipe_" or name in _FITTED_PARAMETERS:  # transform needs the value that the fit had
        return "use pickle, or fit again with a value that is no function, such as the name of a metric"
    if name.startswith("_") or name.endswith("_"):
        return "use pickle"
    return f"replace it with model.set_params({name}=...), or use pickle"


class Decoder:
    """Makes values of what an ``Encoder`` has written, and checks them.

    Parameters
    ----------
    file : ModelFile
    written_by : str
        The release of ActUp that has written it, for errors.

    Attributes
    ----------
    recipe : Recipe or None
        The recipe of the model, once it is read: the training rows need its metric.
    """

    def __init__(self, file: ModelFile, written_by: str):
        self.file = file
        self._written_by = written_by
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

    def unknown(self, what: str) -> SavedModelError:
        """The error for an entry that only another release can have written."""
        return SavedModelError(
            f"{what}, which this release of ActUp does not know: ActUp {self._written_by} has written the "
            "file, update ActUp"
        )

    def members(self, content: Any, names: set[str], where: str) -> dict[str, Any]:
        """The content of a JSON object that must have exactly these entries."""
        if not isinstance(content, dict) or content.keys() != names:
            raise SavedModelError(f"{where} needs the entries {', '.join(sorted(names))}, and no others")
        return content


Encode = Callable[[Encoder, Any, str], Any]
Decode = Callable[[Decoder, Any, str], Any]


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
    encode: Encode
    decode: Decode


# ---- records ----


def field_types(kind: Any) -> dict[str, Any]:
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
    decoder.file.claim(_RECORD_BYTES, where)
    known = known or {}
    hints = field_types(kind)
    if not isinstance(content, dict):
        raise SavedModelError(f"{where} is no record")
    unknown = sorted(content.keys() - hints.keys())
    if unknown:
        raise decoder.unknown(f"{where} has a field {unknown[0][:50]!r}")
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
    if encoder.half_sparse and plain.is_csr(rows) and rows.dtype == np.float32:
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
    if not (plain.is_csr(rows) or (plain.is_array(rows) and rows.ndim == 2)) or rows.shape[0] != count:
        raise SavedModelError(f"{where}.rows is no matrix of {count} rows")
    return TrainingRows(rows, decoder.recipe)


# ---- the table ----


def _exactly(kind: type, encode: Encode, decode: Decode) -> Codec:
    """The codec of one class, without those derived from it."""
    return Codec(kind.__name__, (kind,), lambda value: type(value) is kind, encode, decode)


def _sequence(kind: type) -> Codec:
    return _exactly(kind, plain.encode_sequence, partial(plain.decode_sequence, kind))


def _record(kind: type) -> Codec:
    return _exactly(kind, encode_fields, partial(decode_fields, kind))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, np.generic)


def _is_nonfinite(value: Any) -> bool:
    return type(value) is float


def _encode_array(encoder: Encoder, value: Any, where: str) -> str:
    return encoder.add(to_host(value), where)


def _decode_array(decoder: Decoder, content: Any, _: str) -> np.ndarray:
    return decoder.file.array(content)


# The types that stand in the header as they are. The table has the others, in the order of trying them.
_PLAIN_TYPES: tuple[type, ...] = (type(None), bool, int, float, str, StrEnum)

_TABLE = (
    Codec("scalar", (np.generic,), _is_scalar, plain.encode_scalar, plain.decode_scalar),
    Codec("float", (), _is_nonfinite, plain.encode_float, plain.decode_float),
    _exactly(bytes, plain.encode_bytes, plain.decode_bytes),
    _sequence(list),
    _sequence(tuple),
    _exactly(dict, plain.encode_dict, plain.decode_dict),
    Codec("names", (), plain.is_names, plain.encode_names, plain.decode_names),
    Codec("array", (np.ndarray,), plain.is_array, _encode_array, _decode_array),
    Codec("csr", (), plain.is_csr, plain.encode_csr, plain.decode_csr),
    _record(Recipe),
    _record(Phase),
    _record(Graph),
    _record(Neighbors),
    _record(Derived),
    _record(Network),
    _exactly(TrainingRows, _encode_training, _decode_training),
    _exactly(np.random.RandomState, plain.encode_random_state, plain.decode_random_state),
    _exactly(np.random.Generator, plain.encode_generator, plain.decode_generator),
)
_CODECS = {codec.name: codec for codec in _TABLE}


def savable_types() -> tuple[type, ...]:
    """The types that a field of a fitted state can have."""
    return _PLAIN_TYPES + tuple(kind for codec in _TABLE for kind in codec.types)
