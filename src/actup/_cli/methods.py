"""Methods by name: the estimator that a method and its switches mean, and recipes written in one word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from actup._cli.options import RunningOptions
from actup._cli.reporting import InputError
from actup._suggestions import closest_name

if TYPE_CHECKING:
    from actup.estimators._base import Embedder
    from actup.recipe import Recipe

Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="umap, tsne, gdr, or the name of a preset, such as paper_tsne.",
        rich_help_panel="Running",
    ),
]

# The switches that an estimator has as a parameter of its own, and what it calls them. Any other switch makes
# the map one of GDR with the method's preset: GDR has every switch.
_SHARED = ("n_components", "metric", "metric_kwds", "recall")
_PARAMETERS: dict[str, dict[str, str]] = {
    "umap": {
        **{name: name for name in (*_SHARED, "n_neighbors", "min_dist", "spread", "a", "b")},
        **{name: name for name in ("set_op_mix_ratio", "local_connectivity")},
        **{name: name for name in ("output_metric", "output_metric_kwds")},
        "epochs": "n_epochs",
        "initialization": "init",
    },
    "tsne": {
        **{name: name for name in (*_SHARED, "perplexity", "dof")},
        "epochs": "max_iter",
        "initialization": "init",
        "exaggeration": "early_exaggeration",
        "late_exaggeration": "exaggeration",
    },
}


def method_names() -> list[str]:
    """What ``--method`` may be: the estimators, then the presets."""
    from actup.recipe import presets

    return list(dict.fromkeys(["umap", "tsne", "gdr", *presets()]))


def make_estimator(
    method: str,
    switches: Mapping[str, Any],
    running: RunningOptions,
    verbose: bool = False,
    option: str = "--method",
) -> Embedder:
    """The estimator of a method with some switches changed, not fitted yet.

    Parameters
    ----------
    method : str
        A name of ``method_names()``.
    switches : mapping of str to object
        Fields of Recipe that the caller gave.
    running : RunningOptions
    verbose : bool, default=False
        Whether to show a progress bar.
    option : str, default="--method"
        Where the caller has named the method.
    """
    from actup.estimators import GDR, TSNE, UMAP

    if method not in method_names():
        close = closest_name(method, method_names())
        raise InputError(
            f"{option} {method!r} is not one of {', '.join(method_names())}"
            if close is None
            else f"{option} {method!r} is not known: did you mean {close!r}?"
        )
    run: dict[str, Any] = {
        "random_state": running.seed,
        "n_jobs": running.jobs,
        "backend": running.backend,
        "max_memory": running.max_memory,
        "verbose": verbose,
    }
    names = _PARAMETERS.get(method)
    if names is not None and set(switches) <= set(names):
        estimator: Any = UMAP if method == "umap" else TSNE
        model: Embedder = estimator(**{names[name]: _plain(value) for name, value in switches.items()}, **run)
        return model
    preset = "auto" if method == "gdr" else _preset_name(method, switches.get("n_components", 2))
    return GDR(preset=preset, **{name: _plain(value) for name, value in switches.items()}, **run)


def read_recipe(text: str, switches: Mapping[str, Any], running: RunningOptions) -> Recipe:
    """A recipe in one word, such as ``tsne`` or ``tsne:perplexity=50,loss=frobenius``.

    Parameters
    ----------
    text : str
    switches : mapping of str to object
        Switches of all recipes; those in the word itself go before them.
    running : RunningOptions
    """
    from actup._cli.switches import read_switch

    method, _, rest = text.partition(":")
    own: dict[str, Any] = {}
    written: dict[str, str] = {}  # what the word calls the switches that it has
    for part in rest.split(",") if rest else ():
        name, sign, value = part.partition("=")
        if not sign:
            raise InputError(f"recipe {text!r}: {part!r} must be SWITCH=VALUE, such as perplexity=50")
        field = {"neighbors": "n_neighbors", "dimensions": "n_components"}.get(name, name).replace("-", "_")
        written[field] = name
        with _named_as_written(text, method, written):
            own[field] = read_switch(field, value)
    with _named_as_written(text, method, written):
        return make_estimator(method, {**switches, **own}, running, option="--recipe")._recipe()


@contextmanager
def _named_as_written(text: str, method: str, written: Mapping[str, str]) -> Iterator[None]:
    """Have errors about the switches of a recipe in one word call them as the word does."""
    try:
        yield
    except (ValueError, TypeError) as error:
        name, sign, rest = str(error).partition("=")
        switches = {parameter: switch for switch, parameter in _PARAMETERS.get(method, {}).items()}
        field = name if name in written else switches.get(name, name)
        if isinstance(error, InputError) or not sign or field not in written:
            raise
        raise InputError(f"--recipe {text}: {written[field]}={rest}") from error


def _preset_name(method: str, n_components: int) -> str:
    """The preset of a method for a number of dimensions: its sampled variant where no other serves them."""
    from actup.recipe import preset
    from actup.recipe._presets import preset_for

    if method not in ("umap", "tsne", "gdr_umap", "gdr_tsne"):
        return method
    serves = preset_for(method, n_components).repulsion is preset(method).repulsion
    return method if serves else f"sampled_{method}"


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value
