"""scikit-learn's callbacks, which release 1.9 has introduced as an experiment: a whole fit is one task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

__all__ = ["CallbackSupportMixin", "fit_task"]

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context
except ImportError:  # an older scikit-learn, or one that has changed the experiment

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's mixin where there is none."""

    callback_management_context = nullcontext


@contextmanager
def fit_task(estimator: Any, X: Any, y: Any) -> Iterator[None]:
    """Tell the callbacks of ``estimator.set_callbacks`` when a fit begins and ends, if there are any."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield
        return
    with callback_management_context(estimator):
        context = estimator._init_callback_context()
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        yield
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
