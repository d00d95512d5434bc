"""UMAP, TSNE and GDR: the scikit-learn face of the pipeline."""

from actup.estimators._gdr import GDR
from actup.estimators._umap import TSNE, UMAP

__all__ = ["GDR", "TSNE", "UMAP"]
