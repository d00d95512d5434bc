"""Writes docs/benchmarks.md and its pictures from all saved results: ``python benchmarks/figures.py``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from report import load

DOCS = Path(__file__).parents[1] / "docs"

# Benchmarks in the order of the page, each with results of its own name, and their headings. A benchmark has
# ``markdown(results) -> str`` and may have ``pictures(results, folder) -> names of files``.
SECTIONS = {
    "race": "The race",
    "layout": "Layouts",
    "tsne": "t-SNE",
    "neighbors": "Nearest neighbours",
    "gpu_layout": "Layouts on the GPU",
    "busy": "Beside a busy process",
}

HEAD = """# Figures

Written by `make figures` from the results that the scripts in `benchmarks/` keep in `benchmarks/results/`: do
not edit. Each section says which command measured it."""


def main() -> None:
    parts = [HEAD]
    for name, heading in SECTIONS.items():
        record = load(name)
        if record is None:
            print(f"left out {name}: there are no results, run python benchmarks/{name}.py")
            continue
        parts += [f"## {heading}", section(import_module(name), record), measured_with(record)]
    page = DOCS / "benchmarks.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print("written", page)


def section(benchmark, record: dict) -> str:
    """A benchmark's own text, and its pictures if it draws some."""
    parts = [benchmark.markdown(record["results"]).strip()]
    if hasattr(benchmark, "pictures"):
        folder = DOCS / "pictures"
        for file in benchmark.pictures(record["results"], folder):
            parts.append(f"![{Path(file).stem.replace('_', ' ')}](pictures/{file})")
    return "\n\n".join(parts)


def measured_with(record: dict) -> str:
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    machine = record["machine"]
    return f"*{machine['processor']}, {machine['cores']} cores; {versions}.*"


if __name__ == "__main__":
    main()
