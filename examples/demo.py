"""Embed scikit-learn's handwritten digits in four ways, score the maps, and write a picture and a web page.

Run ``python examples/demo.py --out out``.
"""

import argparse
import time
from pathlib import Path

from sklearn.datasets import load_digits

import actup
from actup.plotting import plot_gallery
from actup.quality import knn_accuracy, neighbor_recall, trustworthiness
from actup.viewer import align_maps, write_page

METHODS = {
    "UMAP": actup.UMAP(random_state=0),
    "t-SNE": actup.TSNE(random_state=0),
    "GDR, like UMAP": actup.GDR(normalized=False, random_state=0),
    "GDR, like t-SNE": actup.GDR(normalized=True, random_state=0),
}


def main() -> None:
    """Embed, score and draw the digits, and print the paths of the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture and the page")
    out = parser.parse_args().out
    X, digits = load_digits(return_X_y=True)

    maps, captions, quality = {}, {}, {}
    print(f"{len(X)} handwritten digits of {X.shape[1]} pixels\n")
    print(f"{'method':<16}{'seconds':>9}{'kNN accuracy':>14}{'recall@10':>11}{'trustworthiness':>17}")
    for name, method in METHODS.items():
        start = time.perf_counter()
        Y = method.fit_transform(X)
        seconds = time.perf_counter() - start
        accuracy = knn_accuracy(Y, digits, k=10)
        recall = neighbor_recall(X, Y, k=10)
        trust = trustworthiness(X, Y)
        print(f"{name:<16}{seconds:>9.2f}{accuracy:>14.3f}{recall:>11.3f}{trust:>17.3f}")
        maps[name] = Y
        quality[name] = {"kNN accuracy": accuracy, "recall@10": recall, "trustworthiness": trust}
        captions[name] = f"kNN accuracy {accuracy:.3f} · recall@10 {recall:.3f} · {seconds:.2f} s"

    # Rotate and mirror the maps to match each other, so that they are easy to compare.
    maps = align_maps(maps)
    title = f"{len(X):,} handwritten digits"
    picture = out / "digits.png"
    plot_gallery(maps, digits, captions, picture, title=title)
    # Of fitted models the page also shows the recipe, and how many neighbours of a point a map keeps.
    page = write_page(
        out / "digits.html",
        METHODS,
        digits,
        captions,
        images=X.reshape(-1, 8, 8),
        title=title,
        columns={"ink": X.sum(axis=1)},
        info=quality,
    )
    print(f"\npicture  {picture.resolve()}\npage     {page.resolve()}")


if __name__ == "__main__":
    main()
