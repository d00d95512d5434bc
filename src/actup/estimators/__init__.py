"""UMAP, TSNE, GDR, AlignedUMAP and ParametricUMAP: estimators with the interface of scikit-learn."""

from actup.estimators._aligned import AlignedUMAP
from actup.estimators._gdr import GDR
from actup.estimators._parametric import ParametricUMAP
from actup.estimators._tsne import TSNE
from actup.estimators._umap import UMAP

__all__ = ["GDR", "TSNE", "UMAP", "AlignedUMAP", "ParametricUMAP"]
