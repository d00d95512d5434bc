"""A value that is computed when it is first read."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    cached_property = functools.cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - the name of Python's own
        """Python's own without its lock, as from Python 3.12 on.

        All objects of a class share the lock: in a child that is forked while another thread computes the
        value of any of them, it stays locked for ever.
        """

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            values = vars(instance)
            if self.attrname in values:
                return values[self.attrname]
            return values.setdefault(self.attrname, self.func(instance))
