"""actup embed --work: maps of files that need not fit into memory, through actup.distributed."""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actup._cli.making import InputOptions
from actup._cli.options import OutOfCoreOptions, ReadingOptions
from actup._cli.outputs import reject_special_output
from actup._cli.reporting import InputError, note, show, shows_progress
from actup.progress import Progress

if TYPE_CHECKING:
    from actup.recipe import Recipe

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
        "columns": _columns(inputs.reading),
        "id_column": inputs.reading.id,
        "backend": running.backend,
    }
    source = files[0] if len(files) == 1 else files
    _reject_outputs(output, is_needed=not running.dry_run)
    if running.dry_run:
        _explain(source, recipe, output[0] if output else None, options)
        return
    begin = time.perf_counter()
    with Progress(verbose=shows_progress(running.quiet)) as progress:
        result = embed(source, recipe, out=output[0], threads=running.jobs, progress=progress, **options)
    note(
        f"map of {result.plan.rows:,} rows in {time.perf_counter() - begin:.1f} s ({result.groups} groups, "
        f"recall {result.recall:.3f}); {work} can be removed",
        running.quiet,
    )
    note(f"wrote {output[0]}", running.quiet)


def _reject_outputs(output: list[Path], is_needed: bool) -> None:
    """Reject anything but one path of a kind that can be written part by part."""
    for path in output:
        if not path.is_dir():
            reject_special_output(path)
    is_writable = all(path.suffix in (*_SUFFIXES, "") for path in output)
    if len(output) > 1 or (is_needed and not output) or not is_writable:
        raise InputError(
            f"--work writes one map: give one -o that ends in {', '.join(_SUFFIXES)}, or a folder"
        )


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


def _columns(reading: ReadingOptions) -> Any:
    """The columns as ``actup.distributed`` takes them: names without patterns, or one path."""
    given = list(reading.columns)
    for name in given:
        if any(sign in name for sign in "*?[:"):
            raise InputError(
                f"--columns {name}: with --work columns are plain names, without patterns or ranges"
            )
    return reading.array if not given else given[0] if len(given) == 1 else given


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
