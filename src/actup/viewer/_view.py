"""view() and View: a page of maps in a notebook, a browser or a file."""

from __future__ import annotations

import html
import os
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from actup._suggestions import PICTURE_NAMES, explain_unknown_keywords
from actup._values import read_flag
from actup.viewer._live._begin import follow
from actup.viewer._live._session import LiveView
from actup.viewer._notebook._page import frame_addition
from actup.viewer._notebook._widget import has_widgets, make_widget
from actup.viewer._page import PageContents, page_text, write_text

_HEIGHT = 640  # of the page in a notebook, in CSS pixels


class View:
    """A page of maps, which a notebook shows by itself.

    ``actup.view`` and ``model.view`` make one. In a notebook the page is in a frame of its own, without
    access to the notebook. With anywidget (``pip install actup[notebook]``) it is a widget, and ``selection``
    follows the lasso.

    Attributes
    ----------
    selection : ndarray of shape (m,), int64
        The points that are selected on the page, ascending; empty if none are, and without the widget.

    See Also
    --------
    actup.view : Makes a view.
    actup.viewer.write_page : Writes the page to a file.

    Examples
    --------
    >>> import os, tempfile
    >>> import actup
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> view = actup.view(iris.data[:, :2], labels=iris.target_names[iris.target])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = view.save(os.path.join(folder, "iris.html"))
    ...     path.name
    'iris.html'
    """

    def __init__(self, maps: Any, contents: PageContents) -> None:
        self._maps = maps
        self._contents = contents
        self._text = page_text(maps, contents)  # rejects what cannot be shown
        self._widget: Any = None

    def __repr__(self) -> str:
        """Say what to do with the page where it is not shown by itself."""
        size = len(self._text.encode("utf-8", "replace")) / 1e6
        return f"<actup View: a page of {size:.1f} MB; open() shows it in the browser, save(path) writes it>"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to one HTML file, which needs no network and no other file.

        Parameters
        ----------
        path : str or path-like
            The file to write, as for ``write_page``; missing folders are created.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        return write_text(path, self._text)

    def open(self) -> Self:
        """Open the page in the browser, from a file in the temporary folder, which stays there.

        Returns
        -------
        self
        """
        folder = tempfile.mkdtemp(prefix="actup-")
        webbrowser.open(self.save(Path(folder) / "map.html").as_uri())
        return self

    @property
    def widget(self) -> Any:
        """The page as a widget, for layouts of ipywidgets; needs anywidget."""
        if self._widget is None:
            self._widget = make_widget(page_text(self._maps, self._contents, frame_addition()), _HEIGHT)
        return self._widget

    @property
    def selection(self) -> np.ndarray:
        """The points that are selected on the page."""
        return np.zeros(0, np.int64) if self._widget is None else self._widget.selection

    def _repr_html_(self) -> str:
        """Return a frame that holds the page, for notebooks without widgets."""
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" width="100%" height="{_HEIGHT}" '
            f'style="border:0" srcdoc="{html.escape(self._text)}"></iframe>'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if has_widgets():
            return self.widget._repr_mimebundle_()
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


@explain_unknown_keywords(PICTURE_NAMES)
def view(
    maps: Any,
    labels: ArrayLike | None = None,
    captions: Mapping[str, str] | None = None,
    hover: Any = None,
    images: ArrayLike | None = None,
    title: str = "ActUp",
    *,
    label_kind: str | Mapping[str, str] = "auto",
    columns: Any = None,
    clusters: Any = None,
    neighbors: Any = None,
    distortion: Any = None,
    info: Mapping[str, Mapping[str, object]] | None = None,
    side_by_side: bool = False,
    live: bool = False,
) -> View | LiveView:
    """Show maps of the same points in a notebook or a browser.

    Parameters
    ----------
    maps : array-like of shape (n,), (n, 1) or (n, 2), fitted model, or mapping of str to these
        Maps by name, or one map. With ``live``, one estimator: UMAP, TSNE or GDR.
    labels : array-like of shape (n,), default=None
        Classes, values or dates of the points: the first column to colour by.
    captions : mapping of str to str, default=None
        Line under a map, by map name.
    hover : sequence of length n, mapping of str to such, or data frame, default=None
        Texts of the points, for the tooltip and the search.
    images : array-like of shape (n, height, width) or (n, height, width, 3 or 4), default=None
        Small picture of every point, for its tooltip.
    title : str, default="ActUp"
        Title of the page.
    label_kind : {"auto", "classes", "values"} or mapping of str to these, default="auto"
        Whether labels are classes or values on a scale; a mapping says it of ``columns``, by name.
    columns : mapping of str to array-like of shape (n,), or data frame, default=None
        Further columns to colour by.
    clusters : Clusters, default=None
        What ``actup.find_clusters`` returns.
    neighbors : array-like of shape (n, k), Neighbors, "auto" or False, default=None
        Ids of the nearest points in the data space. A live page has none unless they are given.
    distortion : array-like of shape (n,), mapping of map name to such, "auto" or False, default=None
        How badly each point is placed.
    info : mapping of str to mapping of str to object, default=None
        Sections of the panel about the maps.
    side_by_side : bool, default=False
        Whether several maps are shown side by side at first.
    live : bool, default=False
        Whether to begin a session with a page whose layout can be watched, steered and restarted: of the
        estimator's map, if it is fitted, and of its further fits, which report to the session until it is
        closed. The page can also make maps of selections.

    Returns
    -------
    View or LiveView
        The page, which a notebook shows by itself. Elsewhere call ``open()`` or ``save(path)``. With
        ``live``, the session: call ``open()``, and ``close()`` at its end.

    See Also
    --------
    actup.live : Computes a map in the background and shows it meanwhile.
    actup.viewer.write_page : Writes the page to a file; explains the parameters.

    Examples
    --------
    >>> import actup
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = actup.UMAP(random_state=0).fit(X)
    >>> page = actup.view(model, labels=y)  # in a notebook, the last line of a cell shows it

    A live session follows the fits of an estimator:

    >>> model = actup.UMAP(random_state=0)
    >>> with actup.view(model, labels=y, live=True) as session:
    ...     model = model.fit(X)  # session.open() before this line shows it in the browser
    """
    contents = PageContents(
        labels=labels,
        captions=captions,
        hover=hover,
        images=images,
        title=title,
        label_kind=label_kind,
        columns=columns,
        clusters=clusters,
        neighbors=neighbors,
        distortion=distortion,
        info=info,
        side_by_side=side_by_side,
    )
    if read_flag(live, "live"):
        return follow(maps, contents)
    return View(maps, contents)
