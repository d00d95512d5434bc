"""The hierarchy: HDBSCAN's clusters as scikit-learn finds them, ties, permutations, spreading."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

import actup
from actup._engine import engine

SETS = {
    "blobs": make_blobs(600, centers=7, cluster_std=0.6, random_state=3)[0],
    "blobs in 5-D": make_blobs(500, n_features=5, centers=6, random_state=1)[0],
    "unequal blobs": make_blobs([40, 150, 400], cluster_std=[0.2, 1.0, 2.5], random_state=5)[0],
    "moons": make_moons(500, noise=0.08, random_state=0)[0],
    "circles": make_circles(500, noise=0.04, factor=0.5, random_state=0)[0],
    "uniform": np.random.default_rng(2).uniform(size=(500, 2)),
    "digits": PCA(2, random_state=0).fit_transform(load_digits().data[:700]),
}


def single_linkage_distance(M: np.ndarray) -> float:
    """The distance at which all points are connected."""
    return float(minimum_spanning_tree(M).data.max(initial=0))


class OracleCluster:
    """A cluster of the condensed tree, by its definition: components of all pairs below a distance."""

    def __init__(self, M: np.ndarray, members: np.ndarray, birth: float, least: int) -> None:
        self.members, self.children, self.stability = members, [], 0.0
        left = members
        while True:
            distance = single_linkage_distance(M[np.ix_(left, left)])
            below = M[np.ix_(left, left)] < distance
            parts = connected_components(below, directed=False)[1]
            large = [left[parts == part] for part in np.unique(parts) if (parts == part).sum() >= least]
            going = len(left) - (len(large[0]) if len(large) == 1 else 0)
            self.stability += going * (1 / distance - 1 / birth)
            if len(large) != 1:
                break
            left = large[0]
        if len(large) > 1:
            self.children = [OracleCluster(M, part, distance, least) for part in large]

    def select(self, division: float) -> tuple[float, list[np.ndarray]]:
        """The stability of what is selected, and its members."""
        if not self.children:
            return self.stability, [self.members]
        inside = [child.select(division) for child in self.children]
        stability = sum(one for one, _ in inside)
        if stability > division * self.stability:
            return stability, [members for _, selected in inside for members in selected]
        return self.stability, [self.members]


def oracle_labels(Y: np.ndarray, min_cluster_size: int, min_samples: int, division: float) -> np.ndarray:
    D = cdist(Y, Y)
    cores = np.sort(D, axis=1)[:, min_samples - 1]
    M = np.maximum(D, np.maximum.outer(cores, cores))
    np.fill_diagonal(M, 0)
    whole = OracleCluster(M, np.arange(len(Y)), np.inf, min_cluster_size)
    labels = np.full(len(Y), -1)
    if whole.children:
        selected = [members for child in whole.children for members in child.select(division)[1]]
        for number, members in enumerate(selected):
            labels[members] = number
    return labels


def assert_same_clusters(expected: np.ndarray, found: np.ndarray) -> None:
    assert ((expected < 0) == (found < 0)).all()
    assert adjusted_rand_score(expected, found) == 1


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("min_cluster_size", "min_samples"), [(5, 5), (12, 3)])
@pytest.mark.parametrize("selection", ["balanced", "eom", "leaf"])
def test_clusters_are_those_of_the_definition(name, min_cluster_size, min_samples, selection):
    Y = SETS[name][::4]
    options = {"min_cluster_size": min_cluster_size, "min_samples": min_samples}
    division = {"balanced": 0.7, "eom": 1.0, "leaf": -1.0}[selection]
    found = actup.find_clusters(Y, **options, selection=selection).labels
    assert_same_clusters(oracle_labels(Y, **options, division=division), found)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("min_cluster_size", [5, 15, 30])
@pytest.mark.parametrize("selection", ["eom", "leaf"])
def test_clusters_are_those_of_scikit_learn(name, min_cluster_size, selection):
    """Where no two distances are equal."""
    options = {"min_cluster_size": min_cluster_size, "min_samples": 1}
    expected = HDBSCAN(**options, cluster_selection_method=selection, copy=True).fit_predict(SETS[name])
    assert_same_clusters(expected, actup.find_clusters(SETS[name], **options, selection=selection).labels)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("min_cluster_size", "min_samples"), [(15, 5), (30, 12)])
def test_clusters_are_nearly_those_of_scikit_learn_where_distances_are_equal(
    name, min_cluster_size, min_samples
):
    """scikit-learn merges two parts at a time, in the order of its edges: some points may differ."""
    options = {"min_cluster_size": min_cluster_size, "min_samples": min_samples}
    expected = HDBSCAN(**options, copy=True).fit_predict(SETS[name])
    found = actup.find_clusters(SETS[name], **options, selection="eom").labels
    assert adjusted_rand_score(expected, found) > 0.95


def hierarchy(Y: np.ndarray, min_samples: int = 5) -> engine.Hierarchy:
    return engine.Hierarchy(*engine.reachability_tree(Y, min_samples, 1)[:3])


@pytest.mark.parametrize("name", SETS)
def test_clusters_do_not_depend_on_the_order_of_points(name):
    Y = SETS[name]
    order = np.random.default_rng(0).permutation(len(Y))
    plain = actup.find_clusters(Y, min_cluster_size=10)
    shuffled = actup.find_clusters(Y[order], min_cluster_size=10)
    assert len(plain.layers) == len(shuffled.layers)
    for first, second in zip(plain.layers, shuffled.layers, strict=True):
        noise = first.codes[order] < 0
        assert (noise == (second.codes < 0)).all()
        assert adjusted_rand_score(first.codes[order], second.codes) == 1
        assert np.sort(first.persistence) == pytest.approx(np.sort(second.persistence))


def test_equal_distances_are_one_merger():
    """Three groups at one distance: binary mergers would make two of them a cluster of their own."""
    groups = np.array([0, 10, 20])
    Y = np.concatenate([g + np.linspace(0, 1, size) for g, size in zip(groups, (6, 3, 3), strict=True)])
    edges = sorted([(1.0, i, i + 1) for i in (0, 1, 2, 3, 4, 6, 7, 9, 10)] + [(9.0, 5, 6), (9.0, 8, 9)])
    lengths, a, b = (np.array(column) for column in zip(*edges, strict=True))
    tree = engine.Hierarchy(a.astype(np.int32), b.astype(np.int32), lengths)
    assert len(Y) == 12
    assert len(tree.clusters(5, 1.0)[1]) == 0  # only the group of six is large enough: nothing splits
    assert len(tree.clusters(3, 1.0)[1]) == 3


def test_leaves_are_ranges_of_the_order():
    Y = SETS["blobs"]
    tree = hierarchy(Y)
    order = tree.order()
    assert sorted(order.tolist()) == list(range(len(Y)))
    ranges, persistence = tree.clusters(20, 1.0)
    assert len(ranges) >= 5
    assert ((persistence >= 0) & (persistence <= 1)).all()
    for begin, end in ranges.tolist():
        members, others = Y[order[begin:end]], Y[np.delete(order, np.s_[begin:end])]
        within = engine.reachability_tree(np.ascontiguousarray(members), 5, 1)[2].max()
        assert cdist(members, others).min() > 0 and end - begin >= 20 and within > 0


def test_distinct_clusters_are_no_fluctuations():
    """Leaves of uniform points are fluctuations; two groups inside one of three are distinct."""
    uniform = hierarchy(np.random.default_rng(0).uniform(size=(3000, 2)), 25)
    assert len(uniform.clusters(15, -1.0)[1]) > 10
    assert len(uniform.distinct_clusters(15, 0.1)[1]) == 0
    rng = np.random.default_rng(1)
    centers = np.repeat([[0.0, 0], [5, 0], [40, 0], [0, 40]], 300, axis=0)
    groups = hierarchy(rng.normal(size=(1200, 2)) + centers, 25)
    ranges, persistence = groups.distinct_clusters(15, 0.1)
    assert len(ranges) == 4 and persistence.min() > 0.1


def test_spreading_follows_the_shortest_edges():
    Y = np.array([0.0, 1, 2, 3, 7, 8, 9, 10])[:, None]
    tree = hierarchy(Y, 1)
    codes = np.array([0, -1, -1, -1, -1, -1, -1, 1], np.int32)
    assert tree.spread(codes).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert tree.spread(np.full(8, -1, np.int32)).tolist() == [-1] * 8


def test_spreading_keeps_given_codes():
    Y = SETS["unequal blobs"]
    codes = np.random.default_rng(0).integers(-1, 4, len(Y)).astype(np.int32)
    spread = hierarchy(Y).spread(codes)
    assert (spread[codes >= 0] == codes[codes >= 0]).all()
    assert spread.min() >= 0
