"""The CUDA backend: every stage on one GPU, with arrays that stay there between the stages."""

from actup.backends.cuda.layout import make_layout

__all__ = ["make_layout"]
