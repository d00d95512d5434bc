"""WrongType: the error for a value of the wrong type."""


class WrongType(TypeError, ValueError):
    """A value has the wrong type.

    It is a TypeError, as Python has it, and a ValueError, because programs written for umap-learn and
    scikit-learn expect that from ``fit``.
    """
