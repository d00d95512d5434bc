"""What a call may do: give a right result, or raise an exception of a documented kind that helps."""

from __future__ import annotations

import collections
import hashlib
import linecache
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from scipy import sparse

import actup

_ACTUP = str(Path(actup.__file__).parent)
_VALIDATION = ("sklearn/utils/validation.py", "sklearn/utils/_param_validation.py", "sklearn/base.py")
_VALIDATION += (
    "sklearn/utils/metaestimators.py",
    "sklearn/utils/_set_output.py",
    "sklearn/utils/_available_if.py",
    "sklearn/utils/_metadata_requests.py",
)
_MIN_MESSAGE = 10  # characters
_MAX_COMPARED_BYTES = 10**6  # of an array in a model
_MAX_MESSAGE = 3000  # characters; messages quote values, but no whole arrays


NUMPYS_SETTINGS = np.geterr()


class Wrong(Exception):
    """What a call did is not what is promised."""


class Stop(Exception):
    """An exception of the caller's own, which a call must hand on as it is."""


class Report:
    """Counts calls by what came of them, and remembers the steps of a case."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.steps: list[str] = []

    def count(self, kind: str, outcome: str) -> None:
        self.counts[f"{kind}: {outcome}"] += 1

    def call(
        self,
        kind: str,
        function: Callable[[], Any],
        inputs: tuple[Any, ...] = (),
        *,
        told: str = "",
        model: Any = None,
        read_only: bool = False,
        stores: bool = False,
        thrown: tuple[type[BaseException], ...] = (),
        strict: bool | Callable[[], bool] = True,
        allowed: tuple[type[BaseException], str] | None = None,
        check: Callable[[Any], None] | None = None,
        may_change: Callable[[], bool] = lambda: False,
    ) -> tuple[bool, Any]:
        """Do a call and check what it does; gives whether it succeeded, and its result.

        ``inputs`` must stay as they are; so must ``model``, if the call fails or is ``read_only``. ``thrown``
        are exceptions that the case itself lets fly. Without ``strict``, the kind of an exception counts and
        not its message: so where functions take wrong types as another library does. ``allowed`` is another
        documented kind of exception, and how its message begins. A call that ``stores`` its inputs may
        take masked arrays, which another call then rejects. A call that fails may change the model if
        ``may_change`` then.
        """
        self.steps.append(f"{kind}({told})")
        before, state = [fingerprint(value) for value in inputs], state_of(model)
        result, error = None, None
        try:
            with np.errstate(**NUMPYS_SETTINGS):
                result = function()
        except BaseException as caught:
            error = caught
        if [fingerprint(value) for value in inputs] != before:
            raise Wrong(f"{kind} has changed an input")
        if error is not None:
            name = type(error).__name__
            if not isinstance(error, thrown) and not (
                allowed and isinstance(error, allowed[0]) and str(error).startswith(allowed[1])
            ):
                check_error(error, kind, strict() if callable(strict) else strict)
            if not may_change() and (changed := changes_of(model, state)):
                raise Wrong(f"{kind} failed with {name} and has changed the model: {changed}") from error
            self.count(kind, name)
            return False, error
        if read_only and (changed := changes_of(model, state)):
            raise Wrong(f"{kind} has changed the model: {changed}")
        used = inputs if model is None else inputs[:1]  # estimators without targets ignore y
        if not stores and any(hides_values(value) for value in used):
            raise Wrong(f"{kind} has taken an array whose mask hides values, as if it had none")
        if check is not None:
            check(result)
        self.count(kind, "done")
        return True, result


def check_error(error: BaseException, kind: str, strict: bool = True) -> None:
    """Raise ``Wrong`` unless an exception is of a documented kind, intended, and has a useful message."""
    name, text = type(error).__name__, str(error)
    shown = f"{kind} raised {name}: {text[:300]!r}, {_place(error)}"
    if _is_of_the_caller(error):
        return
    if not isinstance(
        error, ValueError | TypeError | MemoryError | AttributeError | NotImplementedError | ImportError
    ):
        raise Wrong(shown) from error
    if not (strict or isinstance(error, MemoryError)):
        return
    if not _is_intended(error):
        raise Wrong(f"{shown}: nobody wrote this message for the caller") from error
    if not _MIN_MESSAGE <= len(text) <= _MAX_MESSAGE or not _NAMES.search(text):
        raise Wrong(f"{shown}: names nothing the caller gave, or is too long") from error


# What a message may name: parameters, in full, or what users call them.
_NAMES = re.compile(
    r"[A-Za-z0-9]+_[A-Za-z0-9_]+|[a-z_]\w*=|\b_?(X|Y|y|k|a|b|dof|graph|init|metric|labels?|rows?|samples?|"
    r"columns?|points?|map|maps|recipe|preset|perplexity|perplexities|spread|fit|fitted|model|neighbou?rs|"
    r"distances?|dataset|values?|names?|texts?|images?|captions?|hover|title|clusters|info|model|path|phases?|"
    r"embedding|features|estimator|sample|weights?|angle|theta|sigma|update|data|DataFrame|array|matrix|"
    r"threads|seed|others|epochs|backend|progress|parameter|argument|callbacks?)\b"
)


def _last_frame(error: BaseException) -> tuple[str, int]:
    frame: TracebackType | None = error.__traceback__
    assert frame is not None
    while frame.tb_next is not None:
        frame = frame.tb_next
    return frame.tb_frame.f_code.co_filename, frame.tb_lineno


def _place(error: BaseException) -> str:
    path, line = _last_frame(error)
    return f"{'/'.join(Path(path).parts[-3:])}:{line}"


def _is_intended(error: BaseException) -> bool:
    """Whether the exception comes from a raise statement of ActUp, or from scikit-learn's checks of input."""
    path, line = _last_frame(error)
    if path.endswith(_VALIDATION):
        return True
    return path.startswith(_ACTUP) and linecache.getline(path, line).lstrip().startswith("raise")


def _is_of_the_caller(error: BaseException) -> bool:
    """Whether the caller's own function has raised it: it is handed on, with a note that says so."""
    if isinstance(error, TypeError) and re.search(r"<lambda>\(\) takes 0 positional arguments", str(error)):
        return True
    return any(note.startswith("raised by metric=") for note in getattr(error, "__notes__", ()))


def fingerprint(value: Any) -> Any:
    """Equal for equal contents: arrays, sparse matrices, data frames, and containers of them."""
    if isinstance(value, np.ma.MaskedArray):
        return fingerprint(value.data), fingerprint(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()) if value.dtype.hasobject else np.ascontiguousarray(value).tobytes()
        head = (value.shape, value.dtype.str, value.strides)
        return *head, hashlib.blake2b(content if isinstance(content, bytes) else content.encode()).digest()
    if sparse.issparse(value):
        parts = ("data", "indices", "indptr", "row", "col", "offsets", "rows")
        return value.format, [fingerprint(getattr(value, part)) for part in parts if hasattr(value, part)]
    if isinstance(value, list | tuple):
        return [fingerprint(part) for part in value]
    if isinstance(value, dict):
        return {key: fingerprint(part) for key, part in value.items()}
    if hasattr(value, "to_numpy"):
        return list(value.columns), fingerprint(value.to_numpy())
    return repr(value)


class _Held:
    """A value that equals only itself, and is kept alive, so that no other one can take its place."""

    def __init__(self, value: Any):
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other._value is self._value

    __hash__ = None  # type: ignore[assignment]


def state_of(model: Any) -> dict[tuple[str, ...], Any]:
    """What a model holds: its attributes by identity, and the values of all small arrays in them."""
    if model is None:
        return {}
    state: dict[tuple[str, ...], Any] = {}
    for name, value in vars(model).items():
        state[name,] = _Held(value)
        _add_arrays(state, (name, "values"), value, depth=4)
    return state


def _add_arrays(state: dict[tuple[str, ...], Any], path: tuple[str, ...], value: Any, depth: int) -> None:
    """Add the contents of arrays in a value, and in the parts of it, to a state."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        if getattr(value, "nbytes", 0) <= _MAX_COMPARED_BYTES:
            state[path] = fingerprint(value)
        return
    if not depth or isinstance(value, str | type):
        return
    if isinstance(value, dict):
        parts = [(str(name), part) for name, part in value.items()]
    elif isinstance(value, list | tuple):
        parts = [(str(i), part) for i, part in enumerate(value[:10])]
    elif type(value).__module__.startswith("actup."):
        parts = list(getattr(value, "__dict__", {}).items())
    else:
        return
    for name, part in parts:
        _add_arrays(state, (*path, name), part, depth - 1)


def changes_of(model: Any, before: dict[tuple[str, ...], Any]) -> list[str]:
    """What of a model is no longer as it was.

    Attributes must be the same objects. Arrays within them must have the same contents if they are still
    there: a graph that was converted is another one, and what was computed when first read is new.
    """
    after = state_of(model)
    changed = {path for path, value in before.items() if path in after and after[path] != value}
    changed |= {path for path in before.keys() ^ after.keys() if len(path) == 1}
    return sorted(".".join(path) for path in changed)


def hides_values(value: Any) -> bool:
    """Whether an array has a mask that hides some of its values."""
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.getmaskarray(value).any())


def count_rows(value: Any) -> int:
    """The number of rows of what was given as rows."""
    shape = getattr(value, "shape", None)
    return int(shape[0]) if shape else len(value)


def check_map(result: Any, n: int, dimensions: int | None = None, gaps: bool = False) -> None:
    """Check a map of n points: whole and finite; with ``gaps``, whole rows may be NaN.

    ``n`` and ``dimensions`` come from what was given, never from the result.
    """
    Y = np.asarray(result)
    if Y.ndim != 2 or len(Y) != n or (dimensions is not None and Y.shape[1] != dimensions):
        raise Wrong(f"a map of {n} points has shape {Y.shape}, not {(n, dimensions)}")
    if Y.dtype not in (np.float32, np.float64):
        raise Wrong(f"a map has dtype {Y.dtype}")
    finite = np.isfinite(Y)
    missing = np.isnan(Y).all(axis=1) if gaps else np.zeros(n, bool)
    if not (finite.all(axis=1) | missing).all():
        raise Wrong(f"a map is not finite: {int((~finite).sum())} of {Y.size} numbers")


def same_bits(a: Any, b: Any, what: str) -> None:
    """Raise ``Wrong`` unless two results are the same, bit by bit."""
    if fingerprint(np.ascontiguousarray(a)) != fingerprint(np.ascontiguousarray(b)):
        raise Wrong(f"{what}: the same call gave other bits")


def silence_advice() -> None:
    """Warnings for users are no failures, but those of NumPy about values are."""
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", category=RuntimeWarning)
