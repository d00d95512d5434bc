"""The page and the picture of benchmarks/sizes.py: how many times as fast as its peer ActUp is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from actup._experiments.environment import describe_environment

DOCS = Path(__file__).parents[1] / "docs"
TITLES = {"umap": "UMAP", "tsne": "t-SNE", "neighbors": "15 nearest neighbours"}
QUALITY = {"umap": "trustworthiness", "tsne": "trustworthiness", "neighbors": "recall"}
_TOLERANCE = 0.005  # of the quality: less is noise

Pair = tuple[dict, dict, dict | None]  # ActUp, its peer, ActUp without AVX-512


def write_page(record: dict | None) -> None:
    """Write docs/benchmarks-sizes.md and its picture, from what ``report.load`` returns."""
    found = pairs(list(record["results"].values())) if record else []
    if not found:
        print("no size has both ActUp and its peer")
        return
    draw(found, DOCS / "pictures" / "sizes.png")
    versions = record["versions"].copy()
    for pair in found:
        for row in filter(None, pair):
            versions |= row["versions"]  # peers may be installed in another environment
    text = page(found, describe_environment(record["machine"], versions))
    (DOCS / "benchmarks-sizes.md").write_text(text)
    print(text)


def pairs(rows: list[dict]) -> list[Pair]:
    """ActUp and its peer at the same size, by method, columns, threads and rows."""
    measured = [row for row in rows if "seconds" in row]

    def size(row: dict) -> tuple:
        return row["method"], row["columns"], row["threads"], row["rows"]

    own = {size(row): row for row in measured if row["contestant"].startswith("actup") and not row["level"]}
    level = {size(row): row for row in measured if row["level"]}
    peers = {size(row): row for row in measured if not row["contestant"].startswith("actup")}
    order = list(TITLES)
    common = sorted(own.keys() & peers.keys(), key=lambda at: (order.index(at[0]), *at[1:]))
    return [(own[at], peers[at], level.get(at)) for at in common]


def is_ahead(own: dict, peer: dict) -> bool:
    """Whether ActUp is faster and not worse."""
    name = QUALITY[own["method"]]
    return own["seconds"] < peer["seconds"] and own["quality"][name] >= peer["quality"][name] - _TOLERANCE


def page(found: list[Pair], environment: str) -> str:
    """The text of the page."""
    lines = [
        "# Every size",
        "",
        "Measured by `python benchmarks/sizes.py`: medians of runs after a first one, ActUp and its peer on",
        "the same rows (blends of MNIST rows: 10 or 50 principal components, or 784 pixels), each in its own",
        "process. v3 is ActUp's engine for processors without AVX-512. Runs that are only one include the",
        "compilation of packages that compile at first use. Sizes without a row have not been measured.",
        "",
        f"*{environment}.*",
        "",
        "![How many times as fast as its peer ActUp is, by rows, columns and threads](pictures/sizes.png)",
        "",
    ]
    behind = [
        sentence(one, peer)
        for own, peer, level in found
        for one in (own, level)
        if one is not None and not is_ahead(one, peer)
    ]
    lines += ["## Where ActUp is not ahead", ""]
    lines += behind or ["ActUp is faster at every measured size, with at least the quality of its peer."]
    for method, title in TITLES.items():
        own_rows = [pair for pair in found if pair[0]["method"] == method]
        if own_rows:
            lines += ["", f"## {title}", "", *table(own_rows)]
    return "\n".join(lines) + "\n"


def sentence(own: dict, peer: dict) -> str:
    name, level = QUALITY[own["method"]], f", {own['level']}" if own["level"] else ""
    return (
        f"- {TITLES[own['method']]}, {own['rows']:,} x {own['columns']}, {threads(own)}{level}: "
        f"{seconds(own)} against {seconds(peer)} of {peer['contestant']}, {name} "
        f"{own['quality'][name]:.3f} against {peer['quality'][name]:.3f}"
    )


def table(found: list[Pair]) -> list[str]:
    name = QUALITY[found[0][0]["method"]]
    lines = [
        f"| rows x columns | threads | ActUp | v3 | {found[0][1]['contestant']} | times as fast "
        f"| {name} | runs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for own, peer, level in found:
        figures = f"{own['quality'][name]:.3f} {peer['quality'][name]:.3f}"
        other = "" if level is None else seconds(level)
        lines.append(
            f"| {own['rows']:,} x {own['columns']} | {own['threads']} | {seconds(own)} | {other} | "
            f"{seconds(peer)} | {peer['seconds'] / own['seconds']:.1f} | {figures} | "
            f"{max(1, own['runs'])}, {max(1, peer['runs'])} |"
        )
    return lines


def seconds(row: dict) -> str:
    return f"{row['seconds'] * 1000:.1f} ms" if row["seconds"] < 1 else f"{row['seconds']:.2f} s"


def threads(row: dict) -> str:
    return f"{row['threads']} thread{'s' if row['threads'] > 1 else ''}"


def draw(found: list[Pair], path: Path) -> None:
    """One panel per method: the ratio by rows, and a line for each number of columns and threads."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    methods = [method for method in TITLES if any(own["method"] == method for own, _, _ in found)]
    figure, axes = plt.subplots(1, len(methods), figsize=(4.6 * len(methods), 3.8), squeeze=False)
    for panel, method in zip(axes[0], methods, strict=True):
        chosen = [(own, peer) for own, peer, _ in found if own["method"] == method]
        lines = sorted({(own["columns"], own["threads"]) for own, _ in chosen})
        colors = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(lines)))
        for (columns, count), color in zip(lines, colors, strict=True):
            points = [
                (own["rows"], peer["seconds"] / own["seconds"])
                for own, peer in chosen
                if (own["columns"], own["threads"]) == (columns, count)
            ]
            panel.plot(
                *zip(*points, strict=True), marker="o", ms=3, color=color, label=f"{columns} columns, {count}"
            )
        panel.axhline(1, color="0.5", lw=0.8)
        panel.set(
            xscale="log",
            yscale="log",
            xlabel="rows",
            title=f"{TITLES[method]} / {chosen[0][1]['contestant']}",
        )
        panel.legend(fontsize=6, title="columns, threads", title_fontsize=6)
    axes[0][0].set_ylabel("times as fast as the peer")
    figure.tight_layout()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
