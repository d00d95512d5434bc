"""Full discs: errors that say which one it is, and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

_FULL = (errno.ENOSPC, errno.EDQUOT)


def is_full(error: BaseException) -> bool:
    """Whether an error says that a disc, or a quota, is full."""
    return isinstance(error, OSError) and error.errno in _FULL


@contextmanager
def explained_full_disc(where: str) -> Iterator[None]:
    """Say in the error of a full disc which one it is, and the remedy; other errors pass as they are.

    Parameters
    ----------
    where : str
        What is written to, e.g. ``"work='scratch'"``.
    """
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise OSError(
            error.errno,
            f"{where} is on a disc that is full: free some space there, and the same call goes on where it "
            "was (plan.explain() says how much a run needs)",
        ) from error
