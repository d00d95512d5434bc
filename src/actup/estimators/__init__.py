"""UMAP, TSNE and GDR: estimators with the interface of scikit-learn."""

from actup.estimators._gdr import GDR
from actup.estimators._tsne import TSNE
from actup.estimators._umap import UMAP

__all__ = ["GDR", "TSNE", "UMAP"]
