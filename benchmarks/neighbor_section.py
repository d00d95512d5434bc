"""The neighbour benchmark's section of docs/benchmarks.md. In saved rows, ``engine`` names the search."""

from __future__ import annotations


def markdown(results: dict) -> str:
    """The section, with the parts that have results."""
    parts = [
        "`python benchmarks/neighbors.py`: seconds of the fastest run; recall on a sample of 500 rows.",
    ]
    for name, write in (("searches", _searches), ("levels", _levels), ("scale", _scale), ("umap", _umap)):
        if results.get(name):
            parts += ["", *write(results[name])]
    return "\n".join(parts)


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _searches(rows: list[dict]) -> list[str]:
    ours = {
        (row["data"], row["k"]): row["min"]
        for row in rows
        if row["engine"] == "actup" and row["dtype"] == "float32"
    }
    table = []
    for row in rows:
        ratio = row["min"] / ours[row["data"], row["k"]]
        size = " x ".join(map(str, row["shape"]))
        name = f"{row['engine']} ({row['dtype']})" if row["engine"] == "actup" else row["engine"]
        table.append(
            [f"{row['data']} {size}", str(row["k"]), name, f"{row['min']:.2f}", f"{ratio:.1f}",
             f"{row['recall']:.4f}"]
        )  # fmt: skip
    return _table(["data", "k", "search", "s", "times ActUp's (float32)", "recall"], table)


def _levels(rows: list[dict]) -> list[str]:
    table = [
        [row["level"], f"{row['min']:.2f}", f"{row['min'] / rows[0]['min']:.1f}", f"{row['recall']:.4f}"]
        for row in rows
    ]
    return [
        "MNIST, float32, k = 15, by processor level:",
        "",
        *_table(["level", "s", "times", "recall"], table),
    ]


def _scale(found: dict) -> list[str]:
    table = [
        [f"{row['shape'][0]:,}", row["engine"], f"{row['min']:.2f}", f"{row['recall']:.4f}"]
        for row in found["rows"]
    ]
    growth = (
        f"Repeated rows of MNIST's 50 leading principal components with noise, k = 15; the time grows as "
        f"n^{found['exponent']:.2f}. ActUp's default target is a recall of 0.97:"
    )
    return [growth, "", *_table(["rows", "search", "s", "recall"], table)]


def _umap(rows: dict) -> list[str]:
    ours = rows["actup"]
    table = [
        [name, f"{row['cold']:.2f} ({row['cold'] / ours['cold']:.1f})",
         f"{row['warm']:.2f} ({row['warm'] / ours['cold']:.1f})", f"{100 * row['knn_accuracy']:.2f}",
         f"{100 * row['v_measure']:.1f}", f"{row['recall_at_10']:.4f}", f"{row['trustworthiness']:.3f}"]
        for name, row in zip(("ActUp", "umap-learn"), rows.values(), strict=False)
    ]  # fmt: skip
    header = [
        "`UMAP().fit` on MNIST",
        "first, import included, s (times)",
        "second, s (times ActUp's first)",
        "accuracy",
        "V",
    ]
    note = "UMAP from the data to the map, in fresh processes:"
    return [note, "", *_table([*header, "recall@10", "trustworthiness"], table)]
