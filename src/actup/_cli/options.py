"""The options that several commands share, as records: what to read, how to prepare it, how to run."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

import typer

from actup._cli.reporting import InputError

_READING, _PREPARING, _RUNNING = "Reading", "Preparing rows", "Running"
_OUTPUT = "Output"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="npy, npz, csv, tsv, parquet, arrow, feather, h5ad, mtx or jsonl, also with .gz; - is standard "
        "input. The rows of several files are joined.",
        show_default=False,
    ),
]


def _output_option(kinds: str) -> object:
    return typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help=f"Where to write; the suffix decides what: {kinds}. Can be repeated. An existing file is "
        "replaced.",
        show_default=False,
        rich_help_panel=_OUTPUT,
    )


Outputs = Annotated[
    list[Path],
    _output_option(
        "npy, npz, csv, tsv, parquet (for Embedding Atlas), html, png, pdf, svg, actup (the fitted model)"
    ),
]
OutputsOfSeveral = Annotated[list[Path], _output_option("html, npz (an array per map), png, pdf, svg")]


def _columns_option(*names: str, help: str) -> object:
    return typer.Option(*names, metavar="COLUMNS", help=help, show_default=False, rich_help_panel=_READING)


@dataclass(frozen=True)
class ReadingOptions:
    """Which file format to expect, and which of its columns are what."""

    format: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Kind of the files, if the name does not say it.", rich_help_panel=_READING
        ),
    ] = None
    array: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which matrix, if a file holds several: an array of npz, a key of h5ad (X, X_pca, a layer), "
            "a column of vectors.",
            rich_help_panel=_READING,
        ),
    ] = None
    columns: Annotated[
        list[str],
        _columns_option(
            "--columns",
            "-c",
            help="Columns to make the map of: names, patterns (gene_*), numbers from 0, ranges (first:last). "
            "Default: all that are not used otherwise.",
        ),
    ] = field(default_factory=list)
    exclude: Annotated[list[str], _columns_option("--exclude", "-x", help="Columns to leave out.")] = field(
        default_factory=list
    )
    label: Annotated[
        list[str],
        _columns_option(
            "--label",
            "-l",
            help="Columns of classes to colour the points by, or a file of labels (npy, or a csv of one "
            "column, whose first line is a name if there is a line more than rows).",
        ),
    ] = field(default_factory=list)
    values: Annotated[
        list[str], _columns_option("--values", help="Columns of numbers to colour the points by.")
    ] = field(default_factory=list)
    hover: Annotated[
        list[str], _columns_option("--hover", help="Columns to show when the pointer is on a point.")
    ] = field(default_factory=list)
    text: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of text: shown when the pointer is on a point, and its words name the clusters.",
            rich_help_panel=_READING,
        ),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that identifies a row; it is written out.",
            rich_help_panel=_READING,
        ),
    ] = None
    images: Annotated[
        str | None,
        typer.Option(
            metavar="HEIGHTxWIDTH",
            help="Rows are images of this size (28x28, 32x32x3): shown at the pointer of a page.",
            rich_help_panel=_READING,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="What separates the fields of csv.", rich_help_panel=_READING),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            help="Whether the first line of csv holds names. Default: unless it holds values; it may hold "
            "0, 1, 2, ...",
            show_default=False,
            rich_help_panel=_READING,
        ),
    ] = None


@dataclass(frozen=True)
class PreparingOptions:
    """What happens to the rows before the map is made."""

    one_hot: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMNS",
            help="Columns of categories: one column of 0 and 1 for each category. --metric gower compares "
            "categories without it.",
            show_default=False,
            rich_help_panel=_PREPARING,
        ),
    ] = field(default_factory=list)
    missing: Annotated[
        Literal["error", "drop", "mean", "median"],
        typer.Option(
            help="Rows with missing or infinite values: an error, dropped, or filled by column. The metrics "
            "nan_euclidean and gower compare missing values as they are.",
            rich_help_panel=_PREPARING,
        ),
    ] = "error"
    scale: Annotated[
        Literal["none", "standard", "robust", "minmax", "unit", "log1p"],
        typer.Option(
            help="Columns to mean 0 and deviation 1, to median 0 and interquartile range 1, or to 0 to 1; "
            "rows to length 1; log(1 + x).",
            rich_help_panel=_PREPARING,
        ),
    ] = "none"
    pca: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Reduce to the first N principal components first.",
            rich_help_panel=_PREPARING,
        ),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(min=2, metavar="N", help="Use N random rows only.", rich_help_panel=_PREPARING),
    ] = None


def given_options(record: ReadingOptions | PreparingOptions) -> list[str]:
    """The names of the fields whose values are not their defaults."""
    found = []
    for option in fields(record):
        default = option.default_factory() if callable(option.default_factory) else option.default
        if getattr(record, option.name) != default:
            found.append(option.name)
    return found


@dataclass(frozen=True)
class RunningOptions:
    """Seed, threads, where to compute, and what to say meanwhile."""

    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**32 - 1,
            metavar="N",
            help="The same seed gives the same map.",
            rich_help_panel=_RUNNING,
        ),
    ] = 0
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", metavar="N", help="Threads; -1: one per core.", rich_help_panel=_RUNNING
        ),
    ] = -1
    backend: Annotated[
        Literal["auto", "cpu", "cuda", "reference"],
        typer.Option(
            help="Where to compute; auto: on a GPU if there is one and enough rows.", rich_help_panel=_RUNNING
        ),
    ] = "auto"
    max_memory: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES",
            help="Memory that a map may take with its rows, e.g. 4GB, not counting Python (about 210 MB): it "
            "takes more time rather than more memory, or is refused. With --work it is --memory.",
            rich_help_panel=_RUNNING,
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print what would be done, with its memory and time.", rich_help_panel=_RUNNING
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.", rich_help_panel=_RUNNING),
    ] = False


@dataclass(frozen=True)
class OutOfCoreOptions:
    """Files that need not fit into memory."""

    work: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Read npy, parquet, zarr or h5ad files part by part, with intermediate files in this "
            "folder, so that they need not fit into memory. The same command again goes on where it was "
            "stopped.",
            rich_help_panel=_RUNNING,
        ),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="With --work: memory that may be used, with Python, e.g. 5GB.",
            rich_help_panel=_RUNNING,
        ),
    ] = None

    def are_given(self) -> bool:
        """Whether files are to be read part by part."""
        if self.memory is not None and self.work is None:
            raise InputError("--memory goes with --work FOLDER, which reads files part by part")
        return self.work is not None


@dataclass(frozen=True)
class ClusterOptions:
    """Clusters of the map."""

    cluster: Annotated[
        bool,
        typer.Option(
            "--cluster", help="Find clusters; they are written out and labelled.", rich_help_panel=_OUTPUT
        ),
    ] = False


Title = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Title of the page or picture. Default: the file's name.",
        rich_help_panel=_OUTPUT,
    ),
]
