"""Experiment: the default maps of the four methods."""

from __future__ import annotations

from collections.abc import Iterable

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Key, Panel, draw_maps
from actup._experiments.page.tables import beside, mean, number, table, with_spread
from actup._experiments.paper.methods import OWN, PAPER
from actup._experiments.paper.published import ROW_MEANS, SWITCHES
from actup._experiments.results import Found

_SETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "coil100": "COIL-100"}
_SETTINGS = {"the paper's settings": PAPER, "ActUp's defaults": OWN}


def _runs(scale: Scale) -> list[Run]:
    return [run for data in _SETS for recipes in _SETTINGS.values() for method in recipes
            for run in _seeds(scale, data, recipes, method)]  # fmt: skip


def _seeds(scale: Scale, data: str, recipes: dict, method: str) -> list[Run]:
    setting = "paper" if recipes is PAPER else "default"
    return [
        Run(data, recipes[method], seed, points=scale.of(), label=f"{method}, {setting}")
        for seed in range(scale.seeds)
    ]


def published_means(data: str, method: str) -> tuple[float, float]:
    """The paper's accuracy and V-measure of a method, averaged over its six columns."""
    if data in ROW_MEANS:
        (accuracy, _), (v, _) = ROW_MEANS[data][method]
        return accuracy, v
    accuracies, vs = zip(*SWITCHES[data][method], strict=True)
    return mean(accuracies), mean(vs)


def _render(found: Found) -> str:
    parts = []
    rows = []
    for data, title in _SETS.items():
        for setting, recipes in _SETTINGS.items():
            cells = [title, setting]
            for method in recipes:
                runs = _seeds(found.scale, data, recipes, method)
                paper = published_means(data, method)
                accuracy = beside(with_spread(found.figures(runs, "knn_accuracy")), number(paper[0]))
                v = beside(with_spread(found.figures(runs, "v_measure")), number(paper[1]))
                cells.append(f"{accuracy}; {v}")
            rows.append(cells)
    parts += [note("embeddings"), table(["data", "settings", *PAPER], rows)]
    for setting, recipes in _SETTINGS.items():
        name = "embeddings_paper" if recipes is PAPER else "embeddings_default"
        parts.append(f"With {setting}:\n\n" + found.draw(name, lambda path, r=recipes: _draw(path, found, r)))
    return "\n\n".join(parts)


# The names of classes, in the order of their numbers.
_CLASSES = {
    "mnist": tuple("0123456789"),
    "fashion_mnist": (
        "T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
    ),
}  # fmt: skip


def keys_of(sets: Iterable[str]) -> list[Key]:
    """What figures and colours mean in a grid of maps of these data sets."""
    sets = list(sets)
    keys = (
        [Key("Under each map: kNN accuracy; V-measure, of the first seed.")] if sets != ["swiss_roll"] else []
    )
    for data in sets:
        if data in _CLASSES:
            keys.append(Key(_SETS[data], _CLASSES[data]))
        elif data == "coil100":
            keys.append(Key("COIL-100: a colour for each of the 100 objects"))
        elif data == "swiss_roll":
            keys.append(Key("Swiss roll, along the sheet", ends=("inside", "outside")))
    return keys


def _draw(path, found: Found, recipes: dict) -> None:
    rows = []
    for data in _SETS:
        row = []
        for method in recipes:
            run = _seeds(found.scale, data, recipes, method)[0]
            row.append(panel_of(found, run))
        rows.append(row)
    draw_maps(path, rows, list(_SETS.values()), list(recipes), keys_of(_SETS))


def panel_of(found: Found, run: Run) -> Panel:
    """A run's map, with its accuracy and V-measure under it."""
    accuracy, v = found.figure(run, "knn_accuracy"), found.figure(run, "v_measure")
    caption = "" if accuracy is None else f"{accuracy:.1f}; {v:.1f}"
    return Panel(found.store.map(run), found.store.labels(run), caption)


EXPERIMENT = Experiment(
    "embeddings",
    "The four methods",
    "tSNE, UMAP and GDR in its two settings: GDR_tsne, normalised, looks like tSNE, and GDR_umap, "
    "unnormalised, like UMAP (figure 1).",
    _runs,
    _render,
)
