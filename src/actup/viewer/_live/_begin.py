"""live(): begin a session for data that are to be embedded, or for an estimator whose fits it follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from actup._given import count_rows
from actup._suggestions import PICTURE_NAMES, explain_unknown_keywords
from actup.estimators import GDR, TSNE, UMAP
from actup.estimators._growing import GrowingMap
from actup.estimators._state import check_has_graph
from actup.recipe import Recipe, presets
from actup.viewer._live._page import live_page
from actup.viewer._live._session import LiveView
from actup.viewer._page import PageContents

_OWN_CLASSES: dict[str, type[GrowingMap]] = {"umap": UMAP, "tsne": TSNE}  # presets that are an estimator's


def read_estimator(model: Any) -> GrowingMap:
    """Return an unfitted estimator for what a caller gave: an estimator, or the name of a method or preset.

    Parameters
    ----------
    model : estimator or str
    """
    if isinstance(model, GrowingMap):
        estimator: GrowingMap = clone(model)
    elif isinstance(model, str) and model in presets():
        estimator = _OWN_CLASSES[model]() if model in _OWN_CLASSES else GDR(preset=model)
    elif isinstance(model, Recipe):
        raise TypeError("model is a Recipe: give actup.GDR(preset=...) with the switches that differ from it")
    else:
        raise ValueError(f"model={model!r} must be UMAP, TSNE or GDR, or a name of actup.presets()")
    check_can_be_shown(estimator)
    return estimator


def check_can_be_shown(model: Any) -> None:
    """Reject estimators whose points are not those of a page: one for each sample, in two dimensions.

    Parameters
    ----------
    model : estimator
    """
    if not isinstance(model, GrowingMap):
        raise TypeError(
            f"live=True needs a model whose layout can run, UMAP, TSNE or GDR, got {type(model).__name__}; "
            "finished maps are shown with live=False"
        )
    recipe = model._checked_recipe()
    if recipe.n_components != 2:
        raise ValueError(f"n_components={recipe.n_components}: a live page shows 2 dimensions")
    if getattr(model, "unique", False):
        raise ValueError("unique=True: a live page shows a point for each sample; set unique=False")
    if getattr(model, "disconnected", "place") == "nan":
        raise ValueError("disconnected='nan': a live page shows all samples; set disconnected='place'")


@explain_unknown_keywords(PICTURE_NAMES)
def live(
    X: Any,
    model: Any = "umap",
    labels: ArrayLike | None = None,
    *,
    y: Any = None,
    hover: Any = None,
    images: ArrayLike | None = None,
    columns: Any = None,
    label_kind: str | Mapping[str, str] = "auto",
    info: Mapping[str, Mapping[str, object]] | None = None,
    title: str = "ActUp",
    browser: bool = True,
    wait_for_page: bool = True,
) -> LiveView:
    """Make a map in the background, and show it in the browser while it is computed.

    The function returns at once. Its session is open until it is closed: use a ``with`` statement, call
    ``wait()``, which also ends with Ctrl-C, or press "End" on the page.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, features)
        The data, as in ``fit``.
    model : UMAP, TSNE, GDR or str, default="umap"
        An estimator, which does not change: the session fits a copy. Or the name of a preset, "umap", "tsne"
        or another one of ``actup.presets()``.
    labels : array-like of shape (n,), default=None
        Classes, values or dates of the points, which colour them.
    y : array-like of shape (n,), default=None
        Labels that ``fit`` uses, for supervised maps.
    hover : sequence of length n, mapping of str to such, or data frame, default=None
        Texts of the points, for the tooltip and the search.
    images : array-like of shape (n, height, width) or (n, height, width, 3 or 4), default=None
        Small picture of every point, for its tooltip.
    columns : mapping of str to array-like of shape (n,), or data frame, default=None
        Further columns to colour by.
    label_kind : {"auto", "classes", "values"} or mapping of str to these, default="auto"
        Whether labels are classes or values on a scale; a mapping says it of ``columns``, by name.
    info : mapping of str to mapping of str to object, default=None
        Sections of the panel about the map.
    title : str, default="ActUp"
        Title of the page.
    browser : bool, default=True
        Whether to open the page in the browser. It can be opened later at the session's ``url``.
    wait_for_page : bool, default=True
        Whether the layout waits at its start until the page is open, so that all of it is seen.

    Returns
    -------
    LiveView
        The session. Its ``model`` is the fitted copy.

    See Also
    --------
    actup.view : With ``live=True``, shows the fits of an estimator of yours.

    Examples
    --------
    >>> import actup
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> with actup.live(X, "umap", labels=y, browser=False, wait_for_page=False) as session:
    ...     session.wait_for_layout()
    True
    >>> session.model.embedding_.shape
    (1797, 2)
    """
    estimator = read_estimator(model)
    contents = PageContents(
        labels=labels,
        hover=hover,
        images=images,
        title=title,
        label_kind=label_kind,
        columns=columns,
        info=info,
    )
    make_page = live_page(estimator, contents)
    n = count_rows(X)
    if n:
        make_page(np.zeros((n, 2), np.float32))  # rejects labels and texts that do not fit X
    session = LiveView(estimator, make_page, title)
    session._fit_in_background(X, y, wait_for_page=wait_for_page)
    return session.open() if browser else session


def follow(model: Any, contents: PageContents) -> LiveView:
    """Begin a session that shows the map of an estimator, if it is fitted, and its further fits.

    Parameters
    ----------
    model : estimator
    contents : PageContents
    """
    check_can_be_shown(model)
    if is_fitted := hasattr(model, "embedding_"):
        check_has_graph(model)
    session = LiveView(model, live_page(model, contents), contents.title)
    if is_fitted:
        session._show_fitted()
    session._follow_fits()
    return session
