"""scikit-learn's tools around the estimators: pipelines, grid search, column transformers, data frames."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from actup import TSNE, UMAP, KNeighborsTransformer

X, y = (part[:300] for part in load_digits(return_X_y=True))


def test_pipelines_with_a_classifier():
    model = make_pipeline(StandardScaler(), UMAP(n_epochs=30, random_state=0), KNeighborsClassifier())
    assert model.fit(X[:250], y[:250]).score(X[250:], y[250:]) > 0.6


def test_grid_search_over_maps():
    model = make_pipeline(UMAP(n_epochs=20, random_state=0), KNeighborsClassifier())
    search = GridSearchCV(model, {"umap__n_neighbors": [5, 15], "umap__min_dist": [0.0, 0.3]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.6


def test_grid_search_over_neighbors(tmp_path):
    """The neighbours are searched once per fold, whatever comes after them."""
    neighbors = KNeighborsTransformer(n_neighbors=10)
    model = make_pipeline(neighbors, KNeighborsClassifier(metric="precomputed"), memory=str(tmp_path))
    search = GridSearchCV(model, {"kneighborsclassifier__n_neighbors": [1, 3, 5]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.9


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", [UMAP, TSNE])
def test_data_frames(library, kind):
    frames = pytest.importorskip(library)
    columns = {f"pixel {column}": X[:100, column] for column in range(10, 30)}
    frame = frames.DataFrame(columns)
    short = {"n_epochs": 10} if kind is UMAP else {"max_iter": 10, "perplexity": 10}
    model = kind(random_state=0, **short).set_output(transform=library)
    placed = model.fit_transform(frame)
    assert isinstance(placed, frames.DataFrame)
    assert list(placed.columns) == [f"{kind.__name__.lower()}{axis}" for axis in (0, 1)]
    assert list(model.feature_names_in_) == list(columns)
    np.testing.assert_array_equal(np.asarray(model.transform(frame[:5])), np.asarray(placed)[:5])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_column_transformers(library):
    frames = pytest.importorskip(library)
    columns = {f"pixel {column}": X[:100, column] for column in range(10, 30)}
    frame = frames.DataFrame({**columns, "size": np.arange(100.0)})
    tools = ColumnTransformer(
        [
            ("map", UMAP(n_epochs=10, random_state=0), list(columns)),
            ("size", StandardScaler(), ["size"]),
        ]
    ).set_output(transform=library)
    placed = tools.fit_transform(frame)
    assert isinstance(placed, frames.DataFrame)
    assert list(placed.columns) == ["map__umap0", "map__umap1", "size__size"]
