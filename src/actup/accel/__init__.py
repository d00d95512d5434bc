"""Run programs written for umap-learn, openTSNE and scikit-learn's TSNE on ActUp, unchanged.

``python -m actup.accel script.py`` does it for a script, ``install()`` for this process, ``%load_ext
actup.accel`` for a notebook, ``pytest -p actup.accel`` for tests. With the environment variable
``ACTUP_ACCEL=1`` (``ACTUP_ACCEL=quiet``: without a message), every Python program of an environment in which
ActUp is installed calls ``install()`` when it starts: ``actup_accel.pth`` imports actup, which reads the
variable.

This is the only part of ActUp that changes what other packages' names mean, and only when it is asked to.
"""

from __future__ import annotations

from typing import Any

from actup.accel._takeover import TAKEOVER

__all__ = ["install", "is_installed", "real", "uninstall"]


def install(*, quiet: bool = False) -> None:
    """Let ``umap``, ``openTSNE`` and ``sklearn.manifold.TSNE`` stand for ActUp in this process.

    Later imports of ``umap`` and ``openTSNE`` give modules that are made of ``actup.compat``, also if these
    packages are not installed. ``TSNE`` is replaced in ``sklearn.manifold``. Modules of the two packages
    that ActUp does not have (``umap.plot``, ``umap.parametric_umap``) and names that its modules do not have
    come from the real package if it is installed.

    A name that was bound before cannot be replaced: after ``from umap import UMAP``, that ``UMAP`` stays what
    it is. Install first, or use ``python -m actup.accel``. A new process (``multiprocessing`` with "spawn")
    has to install it for itself; a forked one inherits it.

    Parameters
    ----------
    quiet : bool, default=False
        Whether to leave out the line on standard error that is written once, when a program first imports one
        of these packages.

    See Also
    --------
    uninstall : Undoes it.
    real : Gives the real package.

    Examples
    --------
    >>> import actup.accel
    >>> actup.accel.install(quiet=True)
    >>> import umap
    >>> umap.UMAP.__module__.startswith("actup.")
    True
    >>> actup.accel.uninstall()
    """
    TAKEOVER.install(quiet=quiet)


def uninstall() -> None:
    """Undo ``install()``: later imports give the real packages, and ``sklearn.manifold.TSNE`` is its own.

    Names that a program has bound in between keep standing for ActUp.

    See Also
    --------
    install : Takes the packages over.

    Examples
    --------
    >>> import actup.accel
    >>> actup.accel.uninstall()
    >>> actup.accel.is_installed()
    False
    """
    TAKEOVER.uninstall()


def is_installed() -> bool:
    """Whether ``install()`` is in force.

    See Also
    --------
    install : Takes the packages over.

    Examples
    --------
    >>> import actup.accel
    >>> actup.accel.install(quiet=True)
    >>> actup.accel.is_installed()
    True
    >>> actup.accel.uninstall()
    """
    return TAKEOVER.is_installed


def real(name: str) -> Any:
    """The real module or class of a name that ``install()`` has taken over.

    Parameters
    ----------
    name : str
        A module of umap-learn or openTSNE, such as "umap" or "umap.distances", or "sklearn.manifold.TSNE".

    Returns
    -------
    module or class

    Raises
    ------
    ImportError
        If the package is not installed.

    See Also
    --------
    install : Takes the packages over.

    Examples
    --------
    >>> import actup.accel
    >>> actup.accel.install(quiet=True)
    >>> actup.accel.real("sklearn.manifold.TSNE").__module__
    'sklearn.manifold._t_sne'
    >>> actup.accel.uninstall()
    """
    return TAKEOVER.real(name)


def load_ipython_extension(shell: object) -> None:
    """Install it for ``%load_ext actup.accel``."""
    install()


def unload_ipython_extension(shell: object) -> None:
    """Undo it for ``%unload_ext actup.accel``."""
    uninstall()


def pytest_load_initial_conftests() -> None:
    """Install it for ``pytest -p actup.accel``, before pytest imports a conftest.py."""
    install()
