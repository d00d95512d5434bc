"""actup embed --work: maps of files that need not fit into memory, through actup.distributed."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actup._cli.making import InputOptions
from actup._cli.options import OutOfCoreOptions, ReadingOptions
from actup._cli.outputs import reject_missing_folder, reject_special_output
from actup._cli.reporting import InputError, complain, note, show, shows_progress
from actup._cli.switches import in_words_of_options
from actup.progress import Progress

if TYPE_CHECKING:
    from actup.recipe import Recipe

_MAX_LISTED = 5  # columns in a warning
# What messages of actup.distributed call parameters and functions, and what the command line calls them.
_OPTIONS = {"out": "-o", "source": "", "work": "--work", "threads": "--jobs"}
_WORDS = (
    (r"\bcolumns=\[\.\.\.\]", "--columns"),
    (r"\(columns\)", "(--columns)"),
    (r"\bid_column='([^']*)'", r"--id \1"),
    (r"\(id_column\)", "(--id)"),
    (r"\bid_column\b", "--id"),
    (r"use a recipe without it, .* or actup\.embed\b", "leave it out, or leave --work out"),
    (r"\bactup\.embed\b", "leave --work out"),
)
_SUFFIXES = (".npy", ".parquet", ".zarr")
_USABLE = {"array", "columns", "id"}  # options for reading that make sense without a table in memory


def embed_files(
    inputs: InputOptions, recipe: Recipe, output: list[Path], out_of_core: OutOfCoreOptions
) -> None:
    """Make a map of files part by part, or print what that takes."""
    from actup.distributed import embed

    _reject_options(inputs)
    files, running, work = inputs.files, inputs.running, out_of_core.work
    if running.max_memory is not None and out_of_core.memory is not None:
        raise InputError(
            f"--max-memory {running.max_memory} and --memory {out_of_core.memory} both limit the memory of a "
            "process of --work: leave one of them out"
        )
    options: dict[str, Any] = {
        "work": work,
        "seed": running.seed,
        "memory": running.max_memory if out_of_core.memory is None else out_of_core.memory,
        "columns": _columns(inputs.reading, files[0]),
        "id_column": inputs.reading.id,
        "backend": running.backend,
    }
    source = files[0] if len(files) == 1 else files
    _reject_outputs(output, work, is_needed=not running.dry_run)
    _warn_of_text(files[0], inputs.reading)
    if running.dry_run:
        with _naming_options(inputs):
            _explain(source, recipe, output[0] if output else None, options)
        return
    begin = time.perf_counter()
    with _naming_options(inputs), Progress(verbose=shows_progress(running.quiet)) as progress:
        result = embed(source, recipe, out=output[0], threads=running.jobs, progress=progress, **options)
    note(
        f"map of {result.plan.rows:,} rows in {time.perf_counter() - begin:.1f} s ({result.groups} groups, "
        f"recall {result.recall:.3f}); {work} can be removed",
        running.quiet,
    )
    note(f"wrote {output[0]}", running.quiet)


def _reject_outputs(output: list[Path], work: Path | None, is_needed: bool) -> None:
    """Reject anything but one path of a kind that can be written part by part."""
    for path in output:
        if not path.is_dir():
            reject_special_output(path)
    is_writable = all(path.suffix in (*_SUFFIXES, "") for path in output)
    if len(output) > 1 or (is_needed and not output) or not is_writable:
        raise InputError(
            f"--work writes one map: give one -o that ends in {', '.join(_SUFFIXES)}, or a folder"
        )
    for path in output:
        if path.parent != work:  # which the run makes
            reject_missing_folder(path)


def _explain(source: Any, recipe: Recipe, out: Path | None, options: dict[str, Any]) -> None:
    """Print what a run takes and what there is; InputError if the run would be refused."""
    from actup.distributed import make_plan
    from actup.distributed._api import describe_room, reject_run_here
    from actup.distributed._planning import reject_out_in_source

    reject_out_in_source(source, out)
    plan = make_plan(source, recipe, **options)
    show(plan.explain(), describe_room(plan, out), sep="\n\n")
    try:
        reject_run_here(plan, out)
    except OSError as error:
        raise InputError(f"the run would be refused: {error.strerror}") from error
    except (MemoryError, ImportError) as error:
        raise InputError(f"the run would be refused: {error}") from error


@contextmanager
def _naming_options(inputs: InputOptions) -> Iterator[None]:
    """Let errors and warnings name options of the command line instead of parameters in Python."""
    show = warnings.showwarning
    options = {**_OPTIONS, "memory": "--memory" if inputs.running.max_memory is None else "--max-memory"}
    matrix = "--columns" if inputs.reading.columns else "--array"

    def translated(text: str) -> str:
        for parameter, option in ((r"\bcolumns='([^']*)'", rf"{matrix} \1"), *_WORDS):
            text = re.sub(parameter, option, text)
        return in_words_of_options(text, options, everywhere=True)

    def show_translated(message: Any, *where: Any, **more: Any) -> None:
        show(translated(str(message)), *where, **more)

    warnings.showwarning = show_translated
    try:
        yield
    except (ValueError, TypeError, OSError, MemoryError) as error:
        said = str(error)
        if isinstance(error, OSError) and error.strerror:
            said = error.strerror if error.filename is None else ""
        text = translated(said)
        if text == said:
            raise
        raise InputError(text) from error
    finally:
        warnings.showwarning = show


def _warn_of_text(file: str, reading: ReadingOptions) -> None:
    """Print a line for columns of parquet that are left out because they hold no numbers."""
    if reading.columns or reading.array is not None:
        return
    path = Path(file)
    if path.is_dir() and path.suffix.lower() != ".zarr":
        path = min(path.glob("*.parquet"), default=path)
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return
    import pyarrow as pa
    from pyarrow import parquet

    from actup.distributed._sources._parquet import index_columns, is_number, is_vector

    try:
        schema = parquet.read_schema(path)
    except (pa.ArrowException, OSError):  # the run says what is wrong
        return
    kept_out = {reading.id, *index_columns(schema)}
    names = [field.name for field in schema if not (is_number(field.type) or is_vector(field.type))]
    names = [name for name in names if name not in kept_out]
    if names:
        listed = ", ".join(map(repr, names[:_MAX_LISTED])) + (", …" if len(names) > _MAX_LISTED else "")
        complain(
            f"warning: columns of {file} that hold no numbers are left out, of the map and of its file: "
            f"{listed}"
        )


def _path_in_cells(name: str, file: str) -> str:
    """The path of a matrix of h5ad that ``--array`` names without the group it is in."""
    if "/" in name or not file.lower().endswith(".h5ad") or not Path(file).is_file():
        return name
    try:
        import h5py

        with h5py.File(file, "r") as cells:
            paths = [name, f"obsm/{name}", f"layers/{name}"]
            return next((path for path in paths if path in cells), name)
    except (ImportError, OSError):  # the run says what is wrong
        return name


def _columns(reading: ReadingOptions, file: str) -> Any:
    """The columns as ``actup.distributed`` takes them: names without patterns, or one path."""
    if reading.array is not None and not reading.columns:
        return _path_in_cells(reading.array, file)
    given = list(reading.columns)
    for name in given:
        if any(sign in name for sign in "*?[:"):
            raise InputError(
                f"--columns {name}: with --work columns are plain names, without patterns or ranges"
            )
    return None if not given else given[0] if len(given) == 1 else given


def _reject_options(inputs: InputOptions) -> None:
    """Reject options that need all rows in memory."""
    for options in (inputs.reading, inputs.preparing):
        for field in fields(options):
            value = getattr(options, field.name)
            default = field.default_factory() if callable(field.default_factory) else field.default
            if field.name not in _USABLE and value != default:
                raise InputError(
                    f"--{field.name.replace('_', '-')} does not go with --work, which reads files part by "
                    "part: prepare the files beforehand, or leave --work out"
                )
