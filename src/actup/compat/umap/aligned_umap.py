"""``umap.aligned_umap``: AlignedUMAP."""

from __future__ import annotations

__all__: list[str] = []


def __getattr__(name: str) -> object:
    if name != "AlignedUMAP":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import actup

    try:
        return actup.AlignedUMAP
    except AttributeError:
        raise ImportError("this release of ActUp has no AlignedUMAP", name=__name__) from None
