"""Writes docs/benchmarks.md and its pictures from all saved results: ``python benchmarks/figures.py``."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from types import ModuleType

from report import load

from actup._experiments.environment import describe_environment

DOCS = Path(__file__).parents[1] / "docs"

# Benchmarks in the order of the page, each with results of its own name: heading and, where the benchmark's
# own text has none, an introduction. A benchmark, or the module of its page, has ``markdown(results) -> str``
# and may have ``pictures(results, folder) -> names of files`` and ``provenance(results) -> str``.
SECTIONS = {
    "race": ("The race", ""),
    "layout": ("Layouts", ""),
    "tsne": (
        "t-SNE",
        "`python benchmarks/tsne.py`: a *descent* starts from the same similarities (perplexity 30) and "
        "the same PCA start for all, a *whole run* from the data. Times are the least and the median of "
        "five runs (openTSNE and scikit-learn: one). openTSNE descends as it does by default, 750 "
        "iterations, through its FFT from 10,000 points on. `tsne` uses the mesh in two dimensions, all "
        "pairs up to 4,000 points, and Barnes-Hut in three. The KL divergence is exact.",
    ),
    "tsne_growth": ("t-SNE: growth with the number of points", "`python benchmarks/tsne_growth.py`"),
    "presets": ("Presets", "`python benchmarks/presets.py`"),
    "neighbors": ("Nearest neighbours", ""),
    "transform": ("New rows", ""),
    "gpu": (
        "On a GPU",
        "`python benchmarks/gpu.py`: input on the device, medians of five runs (of ten million points three) "
        "after one that compiles the kernels. The recall of neighbours is against all pairs in double "
        "precision, of 500 rows (64). Stages are those of the last run. The first map of a process begins "
        "with a NumPy array, CuPy's import and the GPU's start.",
    ),
    "busy": ("Beside a busy process", ""),
}

PAGES = {"race": "race_page"}  # where that is a module of its own

HEAD = """# Figures

Written by `make figures` from the results that the scripts in `benchmarks/` keep in `benchmarks/results/`: do
not edit. Each section says which command measured it."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--docs", type=Path, default=DOCS, help="folder of the page; pictures/ is in it")
    print("written", write_page(arguments.parse_args().docs))


def write_page(docs: Path) -> Path:
    """The page, of all benchmarks that have results."""
    parts = [HEAD]
    for name, (heading, introduction) in SECTIONS.items():
        record = load(name)
        if record is None:
            print(f"left out {name}: there are no results, run python benchmarks/{name}.py")
            continue
        benchmark = import_module(PAGES.get(name, name))
        parts += [f"## {heading}", introduction, section(benchmark, record["results"], docs)]
        if not hasattr(benchmark, "provenance"):  # else its own text says it
            parts.append(f"*{describe_environment(record['machine'], record['versions'])}.*")
    page = docs / "benchmarks.md"
    page.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return page


def section(benchmark: ModuleType, results: dict, docs: Path) -> str:
    """A benchmark's own text, and its pictures if it draws some."""
    parts = [benchmark.markdown(results).strip()]
    if hasattr(benchmark, "pictures"):
        for file in benchmark.pictures(results, docs / "pictures"):
            parts.append(f"![{Path(file).stem.replace('_', ' ')}](pictures/{file})")
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
