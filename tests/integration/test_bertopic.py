"""BERTopic with ActUp in the place of umap-learn; embeddings are given, nothing is downloaded."""

import sys

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

import actup

WORDS = {
    "sea": "ship harbour sailor anchor wave tide captain mast sail storm island shore",
    "kitchen": "bread oven flour butter salt pepper knife soup onion garlic recipe spoon",
    "garden": "flower soil seed rose spade hedge lawn apple tree bee leaf rain",
    "music": "violin piano rhythm melody singer chord concert drum flute choir song opera",
}


@pytest.fixture(scope="module")
def documents():
    """400 sentences of four topics, their topics, and embeddings of them."""
    rng = np.random.default_rng(0)
    topics = rng.integers(4, size=400)
    lists = [words.split() for words in WORDS.values()]
    texts = [" ".join(rng.choice(lists[topic], 9)) for topic in topics]
    counts = TfidfVectorizer().fit_transform(texts)
    return texts, topics, TruncatedSVD(20, random_state=0).fit_transform(counts).astype(np.float32)


@pytest.fixture
def bertopic():
    return pytest.importorskip("bertopic")


def make_model(bertopic, **parameters):
    reduction = actup.UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=0)
    return bertopic.BERTopic(umap_model=reduction, min_topic_size=20, **parameters)


def test_topics(bertopic, documents):
    texts, topics, embeddings = documents
    before = set(sys.modules)
    model = make_model(bertopic)
    found, _ = model.fit_transform(texts, embeddings)
    assert adjusted_rand_score(topics, found) > 0.9
    words = {word for topic in set(found) - {-1} for word, _ in model.get_topic(topic)}
    assert words <= {word for line in WORDS.values() for word in line.split()}
    new, _ = model.transform(texts[:20], embeddings[:20])
    assert np.mean(np.array(new) == np.array(found[:20])) > 0.9
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert "sentence_transformers" not in loaded  # nothing embeds, nothing is downloaded


def test_topics_with_known_ones(bertopic, documents):
    """BERTopic passes y as an array, in which -1 is an unknown topic."""
    texts, topics, embeddings = documents
    known = np.where(np.arange(400) % 2, topics, -1)
    found, _ = make_model(bertopic).fit_transform(texts, embeddings, y=known)
    assert adjusted_rand_score(topics, found) > 0.9


def test_saved_models_go_on(bertopic, documents, tmp_path):
    texts, _, embeddings = documents
    model = make_model(bertopic).fit(texts, embeddings)
    model.save(tmp_path / "model", serialization="pickle", save_embedding_model=False)
    loaded = bertopic.BERTopic.load(tmp_path / "model")
    before, after = (m.transform(texts[:20], embeddings[:20])[0] for m in (model, loaded))
    assert list(before) == list(after)


def test_example_of_the_guide(bertopic, documents, run_examples):
    run_examples("topics.md", "from bertopic", documents=documents[0], embeddings=documents[2])


PROGRAM = """
import numpy as np
from bertopic import BERTopic
rng = np.random.default_rng(0)
lists = [words.split() for words in {words!r}]
topics = rng.integers(4, size=400)
texts = [" ".join(rng.choice(lists[topic], 9)) for topic in topics]
centers = rng.normal(size=(4, 20))
embeddings = (centers[topics] + 0.1 * rng.normal(size=(400, 20))).astype("float32")
model = BERTopic(min_topic_size=20)
found, _ = model.fit_transform(texts, embeddings)
assert len(set(found) - {{-1}}) == 4, set(found)
model.visualize_topics()
model.visualize_documents(texts, embeddings=embeddings)
print(type(model.umap_model).__module__)
"""


def test_unchanged_programs_under_the_shim(bertopic, run_accelerated):
    assert run_accelerated(PROGRAM.format(words=list(WORDS.values()))).split()[-1].startswith("actup")
