"""
The slider from t-SNE to UMAP: exaggeration
===========================================

Multiply the attraction of t-SNE by a number. At 1 the map is t-SNE's; from about 4 on it looks like UMAP's. Nothing jumps
on the way: clusters contract, gaps open.
"""

from sklearn.datasets import load_digits

import actup
from actup.plotting import plot_gallery
from actup.quality import knn_accuracy, neighbor_recall

X, y = load_digits(return_X_y=True)
factors = (1, 1.5, 2, 4, 8)
recipe = actup.preset("tsne")
result = actup.embed_many(
    X, [recipe.but(late_exaggeration=factor) for factor in factors], seed=0
)
maps = {
    f"exaggeration={factor}": Y
    for factor, Y in zip(factors, result.aligned.values(), strict=True)
}
maps["UMAP"] = actup.UMAP(random_state=0).fit_transform(X)
figure = plot_gallery(maps, labels=y, columns=3)

# %%
# With an estimator: ``actup.TSNE(exaggeration=2)``. Here is what the slider costs and gives:

print(f"{'':<18}{'recall':>8}{'accuracy':>10}")
for name, Y in maps.items():
    print(f"{name:<18}{neighbor_recall(X, Y):>8.2f}{knn_accuracy(Y, y, k=10):>10.2f}")

# %%
# The exact neighbours go, the classes stay. UMAP's own map keeps more neighbours than the exaggerated one that it resembles:
# the two look alike, but their kernels differ.
#
# An interactive page that morphs from map to map takes one more line:
# ``actup.viewer.write_page("slider.html", result.aligned, labels=y)``.
