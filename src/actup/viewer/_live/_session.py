"""LiveView: a map while it is computed, on a page of a local server, with controls on both sides."""

from __future__ import annotations

import atexit
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import numpy as np

from actup._suggestions import explain_unknown_keywords
from actup.estimators._growing import GrowingMap
from actup.estimators._state import snapshot
from actup.viewer._live._channel import Channel
from actup.viewer._live._controls import Controls
from actup.viewer._live._levels import descend_further, map_of_selection, read_selection
from actup.viewer._live._progress import LiveProgress, SessionClosed
from actup.viewer._live._requests import command_table
from actup.viewer._live._server import LiveServer, Rejected, Routes
from actup.viewer._live._stack import LevelStack
from actup.viewer._live._waiting_page import waiting_page
from actup.viewer._live._worker import Worker


class LiveView:
    """A session: the page of a map that is being computed, and its controls.

    ``actup.live`` and ``model.view(live=True)`` begin one. Its page is served on this machine only, until
    ``close``, the page's button "End" or the end of the process. Use a session in a ``with`` statement, or
    call ``wait``.

    Attributes
    ----------
    url : str
        The address of the page. It contains a secret: whoever knows it on this machine controls the session.
    closed : bool
        Whether the session has ended.

    See Also
    --------
    actup.live : Begins a session that computes a map in the background.

    Examples
    --------
    >>> import actup
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> with actup.live(X, actup.UMAP(random_state=0), y, browser=False, wait_for_page=False) as session:
    ...     session.steer(exaggeration=2.0)
    ...     ended = session.wait_for_layout()
    ...     threes = session.zoom_in((y == 3).nonzero()[0])
    ...     session.zoom_out()
    >>> session.model.embedding_.shape, threes.embedding_.shape
    ((1797, 2), (183, 2))
    """

    def __init__(self, model: GrowingMap, make_page: Callable[[np.ndarray], bytes], title: str) -> None:
        self._estimator, self._make_page, self._title = model, make_page, title
        self._channel, self._controls, self._worker = Channel(), Controls(), Worker()
        self._levels = LevelStack(self._channel)
        self._runs = 0
        self._closing = threading.Lock()
        self._waits_for_page = self._fitting = False
        self._selection = np.zeros(0, np.int64)
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self.closed = False
        self._channel.update_status(
            state="waiting", run=0, levels=[], exaggeration=1.0, repulsion=1.0, message=""
        )
        routes = Routes(
            page=self._page,
            listen=self._listen,
            read={"level": self._levels.ids_of},
            act=command_table(self),
            max_ids=self._levels.count,
        )
        self._server = LiveServer(routes)
        self.url = self._server.url
        atexit.register(self.close)

    # --- the page ---

    def open(self) -> Self:
        """Open the page in the browser.

        Returns
        -------
        self
        """
        webbrowser.open(self.url)
        return self

    @property
    def selection(self) -> np.ndarray:
        """The samples selected on the page, ascending: (m,) int64, empty if there are none."""
        return self._selection

    def note_selection(self, ids: np.ndarray) -> None:
        """Remember what is selected on the page.

        Parameters
        ----------
        ids : ndarray of shape (m,), int64
            Numbers of samples.
        """
        count = self._levels.count()
        if len(ids) and ids.max() >= count:
            raise ValueError(f"the selection has sample {ids.max()}, but samples are 0 to {count - 1}")
        self._selection = np.unique(ids)

    def __repr__(self) -> str:
        """Say how the session is, and what to do with it; without the address, which is a secret."""
        state, count = self._channel.status()["state"], self._levels.count()
        points = f", {count:,} points" if count else ""
        return f"<actup LiveView: {state}{points}; open() shows it in the browser, close() ends it>"

    def _repr_html_(self) -> str:
        """Show the page in a notebook that runs on this machine."""
        return f'<iframe src="{self.url}" width="100%" height="640" style="border:0"></iframe>'

    def _page(self) -> bytes:
        places = self._levels.first_places()
        if places is None:
            return waiting_page(self._title, self._channel.status())
        try:
            return self._make_page(places)
        except (TypeError, ValueError) as error:  # such as labels of another length than X
            raise Rejected(HTTPStatus.INTERNAL_SERVER_ERROR, f"the page cannot be made: {error}") from error

    @contextmanager
    def _listen(self) -> Iterator[Iterator[bytes]]:
        with self._channel.listening() as messages:
            if self._waits_for_page and not self.closed:
                self._waits_for_page = False
                self.resume()
            yield messages

    # --- the layout ---

    def pause(self) -> None:
        """Have the layout that runs wait; ``resume`` lets it go on. Without one, nothing happens."""
        self._check_open()
        if self.is_running:
            self._controls.pause()
            self._channel.update_status(state="paused")

    def resume(self) -> None:
        """Have a paused layout go on. A layout that has ended goes on for 200 epochs more."""
        self._check_open()
        self._controls.resume()
        if self.is_running:
            self._channel.update_status(state="running")
        else:
            self._go_on()

    def stop(self) -> None:
        """End the layout: the points stay where they are."""
        self._check_open()
        self._controls.stop()

    @explain_unknown_keywords()
    def steer(self, exaggeration: float | None = None, repulsion: float | None = None) -> None:
        """Multiply the forces of the layout from now on. A layout that has ended goes on with them.

        Parameters
        ----------
        exaggeration, repulsion : float, default=None
            Factors of all attractions, above 0, and of all repulsions, at least 0: 1 is what the model's
            recipe says. None leaves a factor as it is.
        """
        self._check_open()
        self._controls.steer(exaggeration, repulsion)
        factors = self._controls.factors
        self._channel.update_status(exaggeration=factors[0], repulsion=factors[1])
        if not self.is_running:
            self._go_on()

    @property
    def is_running(self) -> bool:
        """Whether a layout runs or is paused."""
        return self._fitting or self._worker.is_busy

    def _go_on(self) -> None:
        if self._levels:
            self._worker.submit(self._run_further)

    def _check_open(self) -> None:
        if self.closed:
            raise RuntimeError(
                "the live session has ended: begin another one with actup.live or view(live=True)"
            )

    def _run_further(self) -> None:
        level = self._levels.top
        assert level.model is not None
        with self._progress(level.key) as progress:
            level.model.embedding_ = descend_further(level.model, progress)

    # --- the levels ---

    @property
    def model(self) -> Any:
        """The fitted model of the map that is shown: of all samples, or of a selection.

        It is a copy, whose map follows the layout after ``fit``; RuntimeError before the fit has ended.
        """
        if not self._levels or self._levels.top.model is None:
            raise RuntimeError("the session has no model yet: call wait_for_layout() first") from self._error
        return self._levels.top.model

    def zoom_in(self, selection: Any) -> Any:
        """Make and show a map of some of the samples on the map that is shown, from its graph.

        Parameters
        ----------
        selection : array-like of int
            Numbers of samples, counted from 0 in the data that were fitted, whatever map is shown.

        Returns
        -------
        estimator
            The model of the selection, as ``subset`` makes it.
        """
        return self.begin_zoom(np.asarray(selection)).result()

    def begin_zoom(self, ids: np.ndarray) -> Future[Any]:
        """As ``zoom_in``, without waiting for the map.

        Parameters
        ----------
        ids : array-like of int
            Numbers of samples.

        Returns
        -------
        concurrent.futures.Future
            Its result is the model of the selection.
        """
        self._check_open()
        if not self._levels:
            raise RuntimeError("the first layout has not ended: wait for it, or stop it")
        ids = read_selection(ids, self._levels.top)
        self._controls.stop()  # what runs now ends where it is
        return self._worker.submit(lambda: self._embed_selection(ids))

    def _embed_selection(self, ids: np.ndarray) -> GrowingMap:
        outer = self._levels.top
        level = self._levels.push(read_selection(ids, outer))
        begin = time.perf_counter()
        try:
            with self._progress(level.key) as progress:
                level.model = map_of_selection(outer, ids, progress)
        except Exception as error:
            self._levels.pop(f"no map of the selection: {error}")
            raise
        seconds = time.perf_counter() - begin
        self._channel.update_status(message=f"{len(ids):,} points in {seconds:.2f} s")
        return level.model

    def zoom_out(self) -> None:
        """Show the map that was shown before the last ``zoom_in``; nothing happens at the first map."""
        self._check_open()
        if len(self._levels) > 1:
            self._controls.stop()
            self._worker.submit(self._levels.pop).result()

    # --- runs ---

    def _fit_in_background(self, X: Any, y: Any, *, wait_for_page: bool) -> None:
        """Fit the estimator in the session's own thread.

        Parameters
        ----------
        X, y
            As in ``fit``.
        wait_for_page : bool
            Whether the layout waits at its start until a page is open.
        """
        self._waits_for_page = wait_for_page
        if wait_for_page:
            self._controls.pause()
        self._follow_fits()
        self._worker.submit(lambda: self._fit(X, y))

    def _fit(self, X: Any, y: Any) -> None:
        try:
            self._estimator.fit(X, y)
        except BaseException as error:  # wait() raises it
            self._fit_ended(error)

    def _follow_fits(self) -> None:
        """Have all further fits of the estimator report to this session."""
        self._estimator._watcher = self

    def progress(self) -> LiveProgress:
        """What a fit of the estimator reports to; called when it begins."""
        self._runs += 1
        self._fitting, self._error = True, None
        self._controls.forget_stop()
        self._channel.update_status(run=self._runs)
        key = self._levels.begin()
        return LiveProgress(
            self._channel,
            self._controls,
            key,
            self._levels.set_start,
            lambda error: self._fit_ended(error, key),
            self._estimator.verbose,
            self._estimator.callback,
        )

    def _fit_ended(self, error: BaseException | None, key: int = 0) -> None:
        self._fitting = False
        self._controls.resume()  # a pause that came too late does not concern the next fit
        if error is None or isinstance(error, GeneratorExit):  # iter_fit may be left before its end
            self._show_fitted(key)
        else:
            self._error = error
            self._channel.update_status(state="failed", message=f"{type(error).__name__}: {error}")

    def _show_fitted(self, key: int = 0) -> None:
        """Show the map of the estimator, which is fitted.

        Parameters
        ----------
        key : int, default=0
            The key of the level.
        """
        model = snapshot(self._estimator)
        model._watcher = None
        self._levels.show_first(model, key)
        self._channel.update_status(state="finished")

    def _progress(self, key: int) -> LiveProgress:
        """What a run of the session itself reports to."""
        self._controls.forget_stop()
        self._controls.resume()
        self._channel.update_status(state="running", message="")

        def ended(error: BaseException | None) -> None:
            self._channel.update_status(state="finished")

        return LiveProgress(self._channel, self._controls, key, lambda Y: None, ended)

    # --- the end ---

    def wait_for_layout(self, timeout: float | None = None) -> bool:
        """Wait until no layout runs in the background.

        Parameters
        ----------
        timeout : float, default=None
            Seconds to wait at most; None: no limit.

        Returns
        -------
        bool
            Whether all layouts have ended. An exception that ended the fit is raised here.
        """
        ended = self._worker.wait(timeout)
        self._raise_error()
        return ended

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the session ends. Ctrl-C ends it, and keeps the points where they are.

        Before the layout there are no points to keep: Ctrl-C then raises KeyboardInterrupt.

        Parameters
        ----------
        timeout : float, default=None
            Seconds to wait at most; None: no limit.
        """
        try:
            self._ended.wait(timeout)
        except KeyboardInterrupt:
            self.close()
            if not self._levels:  # there is no map to keep
                raise
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None and not isinstance(self._error, SessionClosed):
            raise self._error

    def end(self) -> None:
        """Begin to end the session, without waiting until it has ended."""
        threading.Thread(target=self.close, name="actup-live-end", daemon=True).start()

    def close(self) -> None:
        """End the session: layouts in the background stop, the page stays as it is, and the server goes.

        A ``fit`` that runs in another thread goes on without the page.
        """
        with self._closing:
            if self.closed:
                return
            self.closed = True
        if self._estimator._watcher is self:
            self._estimator._watcher = None
        self._controls.release(stop=self._worker.is_busy)
        self._worker.close()
        self._channel.update_status(state="ended")
        self._channel.close()
        self._server.close()
        atexit.unregister(self.close)
        self._ended.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A session cannot leave its process: copies and pickles of it are None."""
        return type(None), ()
