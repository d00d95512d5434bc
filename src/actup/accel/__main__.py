"""``python -m actup.accel``: run a program with ``umap``, ``openTSNE`` and scikit-learn's TSNE on ActUp."""

from actup.accel._runner import main

main()
