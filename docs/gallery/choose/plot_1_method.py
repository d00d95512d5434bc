"""
UMAP or t-SNE?
==============

Take **UMAP** if you want compact clusters with clear gaps, **t-SNE** if you want to see who is next to whom inside the
clusters. Both are built from the same nearest neighbours. Everything else is a matter of taste, and the
:doc:`slider between them </examples/choose/plot_4_exaggeration>` lets you choose any point in between.

The data of most pages here are 1,797 handwritten digits of 8 × 8 pixels, which come with scikit-learn.
"""

from sklearn.datasets import load_digits

import actup
from actup.plotting import plot_gallery
from actup.viewer import align_maps

X, y = load_digits(return_X_y=True)
maps = {
    "UMAP": actup.UMAP(random_state=0).fit_transform(X),
    "t-SNE": actup.TSNE(random_state=0).fit_transform(X),
    "GDR, like UMAP": actup.GDR(random_state=0).fit_transform(X),
    "GDR, like t-SNE": actup.GDR(normalized=True, random_state=0).fit_transform(X),
}
figure = plot_gallery(align_maps(maps), labels=y)

# %%
# ``GDR`` is the method of the paper that ActUp implements. The paper shows that UMAP and t-SNE differ in essentially
# one choice, the *normalisation* of the similarities. The lower row turns only that switch, with the constants that
# belong to it. ``GDR`` has every choice as a parameter; ``UMAP`` and ``TSNE`` have the parameters that users of
# umap-learn and scikit-learn know.
#
# Measure before you choose
# -------------------------
#
# Three numbers say what the eye cannot. *Recall* is the share of each row's 10 nearest neighbours that are also among
# the 10 nearest on the map. *Accuracy* is how often the neighbours on the map vote for the right digit. *Triplets* asks
# of two other points which is nearer, and how often the map agrees; 0.5 is chance.

from actup.quality import knn_accuracy, neighbor_recall, triplet_accuracy

print(f"{'':<18}{'recall':>8}{'accuracy':>10}{'triplets':>10}")
for name, Y in maps.items():
    recall, accuracy, triplets = (
        neighbor_recall(X, Y),
        knn_accuracy(Y, y, k=10),
        triplet_accuracy(X, Y),
    )
    print(f"{name:<18}{recall:>8.2f}{accuracy:>10.2f}{triplets:>10.2f}")

# %%
# The maps agree about the classes and about the large structure. t-SNE keeps more of the exact neighbours, because its
# points are spread evenly enough to tell them apart.
#
# A rule of thumb
# ---------------
#
# ================================================  =====================================================
# you want                                          take
# ================================================  =====================================================
# an overview of groups, input for clustering       ``actup.UMAP()``
# the finest local structure                        ``actup.TSNE()``
# something in between                              ``actup.TSNE(exaggeration=2)``
# density on the map to mean density in the data    ``actup.UMAP(densmap=True)``
# classes you know to be pulled together            ``actup.UMAP().fit(X, y)``
# 3 to 50 columns for another program               ``actup.UMAP(n_components=10)``
# to study what a choice does                       ``actup.GDR(...)``, every switch is a parameter
# ================================================  =====================================================
