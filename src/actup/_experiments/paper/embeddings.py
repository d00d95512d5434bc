"""Experiment: the default maps of the four methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Legend, Panel, draw_maps
from actup._experiments.page.tables import mean_with_sd, number, table, with_published
from actup._experiments.paper.methods import DEFAULTS, PAPER
from actup._experiments.paper.published import ROW_MEANS, SWITCHES
from actup._experiments.results import Findings
from actup.recipe import Recipe

_DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "coil100": "COIL-100"}
_SETTINGS = {"the paper's settings": PAPER, "ActUp's defaults": DEFAULTS}


def _runs(scale: Scale) -> list[Run]:
    return [run for data in _DATASETS for recipes in _SETTINGS.values() for method in recipes
            for run in _seeds(scale, data, recipes, method)]  # fmt: skip


def _seeds(scale: Scale, data: str, recipes: dict[str, Recipe], method: str) -> list[Run]:
    setting = "paper" if recipes is PAPER else "default"
    return [
        Run(data, recipes[method], seed, points=scale.limit(), label=f"{method}, {setting}")
        for seed in range(scale.seeds)
    ]


def published_means(data: str, method: str) -> tuple[float, float]:
    """The paper's accuracy and V-measure of a method, averaged over the six columns of its table."""
    if data in ROW_MEANS:
        (accuracy, _), (v, _) = ROW_MEANS[data][method]
        return accuracy, v
    accuracies, vs = zip(*SWITCHES[data][method], strict=True)
    return fmean(accuracies), fmean(vs)


def _render(findings: Findings) -> str:
    parts = []
    rows = []
    for data, title in _DATASETS.items():
        for setting, recipes in _SETTINGS.items():
            cells = [title, setting]
            for method in recipes:
                runs = _seeds(findings.scale, data, recipes, method)
                paper = published_means(data, method)
                accuracy = with_published(
                    mean_with_sd(findings.values(runs, "knn_accuracy")), number(paper[0])
                )
                v = with_published(mean_with_sd(findings.values(runs, "v_measure")), number(paper[1]))
                cells.append(f"{accuracy}; {v}")
            rows.append(cells)
    parts += [note("embeddings"), table(["data", "settings", *PAPER], rows)]
    for setting, recipes in _SETTINGS.items():
        name = "embeddings_paper" if recipes is PAPER else "embeddings_default"
        parts.append(f"With {setting}:\n\n" + findings.draw(name, _drawing(findings, recipes)))
    return "\n\n".join(parts)


# The names of the classes, in the order of their numbers.
_CLASSES = {
    "mnist": tuple("0123456789"),
    "fashion_mnist": (
        "T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
    ),
}  # fmt: skip


def legends_for(datasets: Iterable[str]) -> list[Legend]:
    """The legends of a grid of maps of these data sets: what captions and colours mean."""
    datasets = list(datasets)
    legends = []
    if datasets != ["swiss_roll"]:
        legends.append(Legend("Under each map: kNN accuracy; V-measure, of the first seed."))
    for data in datasets:
        if data in _CLASSES:
            legends.append(Legend(_DATASETS[data], _CLASSES[data]))
        elif data == "coil100":
            legends.append(Legend("COIL-100: a colour for each of the 100 objects"))
        elif data == "swiss_roll":
            legends.append(Legend("Swiss roll, along the sheet", ends=("inside", "outside")))
    return legends


def _drawing(findings: Findings, recipes: dict[str, Recipe]) -> Callable[[Path], None]:
    """A function that draws the maps of the first seed of all recipes."""

    def draw(path: Path) -> None:
        rows = [
            [map_panel(findings, _seeds(findings.scale, data, recipes, method)[0]) for method in recipes]
            for data in _DATASETS
        ]
        draw_maps(path, rows, list(_DATASETS.values()), list(recipes), legends_for(_DATASETS))

    return draw


def map_panel(findings: Findings, run: Run) -> Panel:
    """The map of a run, captioned with its accuracy and V-measure."""
    accuracy, v = findings.value(run, "knn_accuracy"), findings.value(run, "v_measure")
    caption = "" if accuracy is None else f"{accuracy:.1f}; {v:.1f}"
    return Panel(findings.store.load_map(run), findings.store.load_labels(run), caption)


EXPERIMENT = Experiment(
    "embeddings",
    "The four methods",
    "tSNE, UMAP and GDR in its two settings (figure 1): GDR_tsne is normalised and looks like tSNE, GDR_umap "
    "is not normalised and looks like UMAP.",
    _runs,
    _render,
)
