"""The release of openTSNE whose interface this package has."""

__all__ = ["__version__"]

__version__ = "1.0.4"
