"""Neighbours and maps of single cells in an AnnData, under the keys that scanpy reads and writes.

``import actup`` beside ``import scanpy as sc``, and ``actup.sc.neighbors``, ``actup.sc.umap`` and
``actup.sc.tsne`` take the places of ``sc.pp.neighbors``, ``sc.tl.umap`` and ``sc.tl.tsne``; clustering,
plotting and ``sc.tl.ingest`` go on from what they have written. Needs the package anndata (``pip install
'actup[scanpy]'``), not scanpy.
"""

from actup.sc._maps import tsne, umap
from actup.sc._neighbors import neighbors

__all__ = ["neighbors", "tsne", "umap"]
