"""Keeps pytest from importing the snippets, which are programs that import umap."""

collect_ignore_glob = ["snippets/*"]
