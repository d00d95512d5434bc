"""Parameters of a pipeline by grid search."""

import umap
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

X, y = make_classification(n_samples=200, n_features=30, n_informative=10, class_sep=2.0, random_state=1212)
pipeline = Pipeline(
    [("umap", umap.UMAP(n_epochs=50, random_state=456)), ("svc", LinearSVC(random_state=123))]
)
search = GridSearchCV(pipeline, {"umap__n_neighbors": [5, 20], "svc__C": [0.1, 1.0]}, cv=2)
search.fit(X, y)
assert search.best_params_["umap__n_neighbors"] in (5, 20)
assert search.best_score_ > 0.5
