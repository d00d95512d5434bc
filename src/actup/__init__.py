"""ActUp: t-SNE, UMAP and everything between them, from one engine."""

__version__ = "0.1.0"
