"""ViewMixin: how an estimator shows its map, and lets a live view follow its fits."""

from __future__ import annotations

from typing import Any, Protocol

from actup.progress import Callback, Progress


class Watcher(Protocol):
    """A live view of an estimator's fits."""

    def progress(self) -> Progress:
        """What a fit that begins now reports to."""


class ViewMixin:
    """The method ``view`` of an estimator."""

    verbose: bool | int
    callback: Callback | None
    _watcher: Watcher | None = None  # follows the next fits

    def view(
        self,
        labels: Any = None,
        *,
        hover: Any = None,
        images: Any = None,
        columns: Any = None,
        clusters: Any = None,
        title: str = "ActUp",
        live: bool = False,
    ) -> Any:
        """Show the map in a notebook or a browser, or watch and steer its layout.

        ``actup.view`` does the same for several maps, with further parameters.

        Parameters
        ----------
        labels : array-like of shape (n_samples,), default=None
            Classes, values or dates of the samples, which colour them.
        hover : sequence of length n_samples, mapping of str to such, or data frame, default=None
            Texts of the samples, for the tooltip and the search.
        images : array-like of shape (n_samples, height, width[, 3 or 4]), default=None
            Small picture of every sample, for its tooltip.
        columns : mapping of str to array-like of shape (n_samples,), or data frame, default=None
            Further columns to colour by.
        clusters : Clusters, default=None
            What ``actup.find_clusters`` returns.
        title : str, default="ActUp"
            Title of the page.
        live : bool, default=False
            Whether to begin a session: its page shows the map and the layout of further calls of ``fit``,
            which it can pause, stop and steer, and makes maps of selections. The model need not be fitted.

        Returns
        -------
        actup.viewer.View or actup.viewer.LiveView
            The page, which a notebook shows by itself; elsewhere call its ``open()`` or ``save(path)``.

        See Also
        --------
        actup.live : Fits in the background instead.
        """
        from actup.viewer import view  # the layer above this one: only who looks at a map loads it

        return view(
            self,
            labels,
            hover=hover,
            images=images,
            columns=columns,
            clusters=clusters,
            title=title,
            live=live,
        )

    def _progress(self) -> Progress:
        """What the stages of a fit report to."""
        return Progress(self.verbose, self.callback) if self._watcher is None else self._watcher.progress()
