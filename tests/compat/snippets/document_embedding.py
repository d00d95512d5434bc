"""Texts as TF-IDF vectors under the Hellinger distance."""

import numpy as np
import umap
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

rng = np.random.default_rng(0)
words = {
    "space": ["orbit", "rocket", "moon", "launch", "planet", "star", "probe", "crater", "comet"],
    "sports": ["goal", "match", "team", "league", "coach", "season", "player", "score", "win"],
    "cooking": ["salt", "oven", "butter", "recipe", "flour", "pan", "sugar", "spice", "taste"],
}
texts, labels = [], []
for label, pool in words.items():
    for _ in range(70):
        texts.append(" ".join(rng.choice(pool, 12)) + " the and of")
        labels.append(label)
counts = CountVectorizer(min_df=5, stop_words="english").fit_transform(texts)
tfidf = TfidfVectorizer(min_df=5, stop_words="english").fit_transform(texts)
labels = np.array(labels)
for X in (counts.astype(np.float32), tfidf.astype(np.float32)):
    places = umap.UMAP(metric="hellinger", random_state=42).fit_transform(X)
    good = ~np.isnan(places).any(axis=1)
    centres = np.array([places[good & (labels == label)].mean(axis=0) for label in words])
    nearest = np.linalg.norm(places[good, None] - centres[None], axis=2).argmin(axis=1)
    assert (np.array(list(words))[nearest] == labels[good]).mean() > 0.95
