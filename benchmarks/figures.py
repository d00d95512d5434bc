"""Write docs/benchmarks.md and its pictures from all saved results: ``python benchmarks/figures.py``."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from types import ModuleType

from report import load

from actup._experiments.environment import describe_environment
from actup._experiments.page.tables import fold_tables

DOCS = Path(__file__).parents[1] / "docs"

# The sections of the page in order: for each benchmark, the heading and, unless its own text has one, an
# introduction. The module of a benchmark (or the one that PAGES names) defines ``markdown(results) -> str``,
# and optionally ``pictures(results, folder) -> file names`` and ``provenance(results) -> str``.
SECTIONS = {
    "race": ("The race", ""),
    "layout": ("Layouts", ""),
    "tsne": (
        "t-SNE",
        "`python benchmarks/tsne.py`: a *descent* gets the same similarities (perplexity 30) and the same "
        "PCA start for all methods, a *whole run* gets the data. Times are the minimum and the median of "
        "five runs (openTSNE and scikit-learn: one run). openTSNE has its default settings: 750 iterations, "
        "with its FFT from 10,000 points on. `tsne` sums over all pairs up to 4,000 points; beyond, it uses "
        "the mesh in two dimensions and Barnes-Hut in three. The KL divergence is exact.",
    ),
    "tsne_growth": ("t-SNE: growth with the number of points", "`python benchmarks/tsne_growth.py`"),
    "fits": ("Whole fits", ""),
    "presets": ("Presets", "`python benchmarks/presets.py`"),
    "neighbors": ("Nearest neighbours", ""),
    "transform": ("New rows", ""),
    "gpu": (
        "On a GPU",
        "`python benchmarks/gpu.py`: the input is on the GPU; times are medians of five runs (ten million "
        "points: three, a hundred million: one) after a run that compiles the kernels. *million* and *ten "
        "million* are rows of MNIST drawn with replacement, with noise; *blended* ones, and the hundred "
        "million, are convex combinations of three near rows. The recall of neighbours is measured against "
        "all pairs in double precision, on 500 rows (ten million points and more: 64). Times of stages are "
        "those of the last run. The first map of a process starts from a NumPy array and includes the import "
        "of CuPy and the initialisation of the GPU.",
    ),
    "busy": ("Beside a busy process", ""),
}

PAGES = {"race": "race_page"}  # sections whose text is in another module than the benchmark

HEAD = """# Benchmarks

How fast ActUp is, how much memory it takes and how good its maps are, beside other libraries. Pictures and
short tables are open; long tables are folded: click on their line to open them. Each section names the
command that measured it, and the machine.

*Accuracy* is the share of points, in per cent, whose label wins the vote of their nearest neighbours in the
map; *V* the V-measure of k-means in the map against the labels, in per cent; *recall@10* the share of the 10
nearest neighbours in the data that are among the 10 nearest in the map; *KL* the loss of t-SNE.

`make figures` writes this page from the results that the scripts in `benchmarks/` save in
`benchmarks/results/`: do not edit it."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--docs", type=Path, default=DOCS, help="folder of the page and of pictures/")
    print("written", write_page(arguments.parse_args().docs))


def write_page(docs: Path) -> Path:
    """Write the page with all benchmarks that have results."""
    parts = [HEAD]
    for name, (heading, introduction) in SECTIONS.items():
        record = load(name)
        if record is None:
            print(f"no section {name}: it has no results, run python benchmarks/{name}.py")
            continue
        benchmark = import_module(PAGES.get(name, name))
        parts += [f"## {heading}", introduction, section(benchmark, record["results"], docs)]
        if not hasattr(benchmark, "provenance"):  # otherwise its own text has it
            parts.append(f"*{describe_environment(record['machine'], record['versions'])}.*")
    page = docs / "benchmarks.md"
    text = "\n\n".join(part for part in parts if part) + "\n"
    page.write_text(fold_tables(text), encoding="utf-8")
    return page


def section(benchmark: ModuleType, results: dict, docs: Path) -> str:
    """The pictures of a benchmark, if it draws any, and its text."""
    parts = []
    if hasattr(benchmark, "pictures"):
        for file in benchmark.pictures(results, docs / "pictures"):
            parts.append(f"![{Path(file).stem.replace('_', ' ')}](pictures/{file})")
    return "\n\n".join([*parts, benchmark.markdown(results).strip()])


if __name__ == "__main__":
    main()
