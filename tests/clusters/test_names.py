"""Names of clusters: words that tell them apart, most frequent labels, numbers."""

from __future__ import annotations

import numpy as np
import pytest

import actup
from actup.clusters._keywords import stem
from actup.clusters._names import _longer_names, _numbered

TOPICS = {
    "sea": ["the ship sails on the deep sea", "a deep sea fish swims by the ship", "sailors of the deep sea"],
    "food": ["bread and olive oil in the kitchen", "he fries fish in olive oil", "bread with olive oil"],
    "space": ["a rocket flies to the moon base", "the moon base has a rocket", "they live on the moon base"],
}  # fmt: skip


@pytest.fixture
def Y():
    rng = np.random.default_rng(0)
    return rng.normal(size=(180, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 60, axis=0)


def layer_of(Y, **options):
    clusters = actup.find_clusters(Y, min_cluster_size=30, n_layers=1, **options)
    return clusters.layers[0]


def test_words_that_tell_clusters_apart_are_their_names(Y):
    texts = [TOPICS[topic][i % 3] for topic in TOPICS for i in range(60)]
    layer = layer_of(Y, texts=texts)
    for topic, word in {"sea": "deep sea", "food": "olive oil", "space": "moon base"}.items():
        cluster = layer.codes[list(TOPICS).index(topic) * 60 + 1]
        assert word in layer.names[cluster]
        assert layer.keywords[cluster][0] in layer.names[cluster]
    words = " ".join(layer.names).replace(",", "").split()
    assert not {"the", "and", "on", "a"} & set(words)


def test_stop_words_can_be_chosen(Y):
    texts = ["ein der Hund"] * 60 + ["der die Katze"] * 60 + ["der das Pferd"] * 60
    names = layer_of(Y, texts=texts, stop_words=["ein", "der", "die", "das"]).names
    assert sorted(names) == ["hund", "katze", "pferd"]


def test_ordinary_words_are_names_though_lists_of_stop_words_have_them():
    words = ["system", "fire", "bill", "computer", "mine"]
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(500, 2)) + np.repeat([[0, 0], [20, 0], [0, 20], [20, 20], [40, 0]], 100, axis=0)
    texts = [f"{words[i // 100]} report number {i % 5}" for i in range(500)]
    assert sorted(layer_of(Y, texts=texts).names) == sorted(words)


def test_words_of_every_cluster_name_none(Y):
    texts = [f"{name} said the annual report" for name in ("we", "you", "they") for _ in range(60)]
    layer = layer_of(Y, texts=texts)
    assert sorted(layer.names) == ["they", "we", "you"]
    layer = layer_of(Y, texts=["said the annual report"] * 180)
    assert layer.keywords == [(), (), ()]
    assert len(set(layer.names)) == 3


def test_texts_without_common_words_name_by_representatives(Y):
    texts = [f"word{i}" for i in range(180)]
    layer = layer_of(Y, texts=texts)
    for name, rows in zip(layer.names, layer.representatives, strict=True):
        assert name.split(", ")[0] == texts[rows[0]]
    assert layer.keywords == [(), (), ()]


@pytest.mark.parametrize("texts", [[""] * 180, [None] * 180, ["the and of"] * 180, [float("nan")] * 180])
def test_texts_without_words_give_longer_names(Y, texts):
    names = layer_of(Y, texts=texts).names
    assert len(set(names)) == 3


def test_equal_texts_give_longer_names(Y):
    names = layer_of(Y, texts=["one and the same sentence"] * 180).names
    assert len(set(names)) == 3


def test_long_and_hostile_texts_are_kept_as_text(Y):
    texts = [f"</script><b>{i}</b> 🦆 {'x' * 10_000}" for i in range(180)]
    layer = layer_of(Y, texts=texts)
    assert len(set(layer.names)) == 3


def test_the_most_frequent_label_is_the_name(Y):
    labels = np.repeat(["cat", "dog", "cat"], 60).astype(object)
    labels[:15] = "dog"
    labels[60:120:2] = None
    layer = layer_of(Y, labels=labels)
    cats = layer.codes[[30, 150]]
    assert {layer.names[c] for c in cats} == {"cat", "cat (2)"}
    assert layer.names[layer.codes[90]] == "dog"
    expected = np.mean(labels[layer.codes == cats[0]] == "cat")
    assert layer.label_shares[cats[0]] == pytest.approx(expected)
    assert layer.label_shares[layer.codes[90]] == 1


def test_numbers_are_labels_too(Y):
    assert sorted(layer_of(Y, labels=np.repeat([7.0, 8.0, np.nan], 60)).names) == ["7", "8", "unlabelled"]


def test_clusters_without_texts_and_labels_are_numbered(Y):
    assert layer_of(Y).names == ["cluster 0", "cluster 1", "cluster 2"]


def test_equal_names_get_further_words():
    terms = [("a", "b", "c", "d"), ("a", "b", "c", "e"), ("a", "b", "c"), ("f",)]
    assert _longer_names(terms) == ["a, b, c, d", "a, b, c, e", "a, b, c", "f"]


def test_numbered_names_never_collide():
    assert _numbered(["a", "a", "a (2)", "a"], {}) == ["a", "a (3)", "a (2)", "a (4)"]


def test_clusters_keep_the_numbers_they_have_in_the_layer_above():
    assert _numbered(["a", "a", "b"], {1: "a"}) == ["a (2)", "a", "b"]
    assert _numbered(["a", "a", "a"], {0: "a (2)", 2: "b"}) == ["a (2)", "a", "a (3)"]


def test_clusters_of_several_frequent_labels_are_named_by_all_of_them(Y):
    labels = np.repeat(["fours", "sixes", "ones"], 60).astype(object)
    labels[:25] = "nines"
    labels[60:75] = "zeros"
    names = layer_of(Y, labels=labels).names
    assert sorted(names) == ["fours, nines", "ones", "sixes"]


ENDINGS = ("Please advise.", "Please call back.", "Send a technician.")
TICKETS = {
    "printer": ("printer does not print", "printers print blank pages", "printer is not printing"),
    "password": ("password has expired", "passwords expire too often", "login does not accept passwords"),
    "invoice": ("invoice charges twice", "invoices are wrong", "invoice was charged twice"),
}


def test_words_of_a_template_are_no_names(Y):
    tickets = [ticket for topic in TICKETS for ticket in TICKETS[topic] * 20]
    texts = [f"Customer reports: the {ticket}. {ENDINGS[i // 3 % 3]}" for i, ticket in enumerate(tickets)]
    layer = layer_of(Y, texts=texts)
    words = set(" ".join(layer.names).replace(",", "").split())
    assert not words & {"customer", "reports", "please", "advise", "technician", "does"}
    for number, topic in enumerate(TICKETS):
        assert stem(topic) in layer.names[layer.codes[60 * number + 1]]


def test_a_name_has_no_two_forms_of_a_word(Y):
    texts = [TICKETS[topic][i % 3] for topic in TICKETS for i in range(60)]
    for terms in layer_of(Y, texts=texts).keywords:
        stems = [stem(word) for term in terms for word in term.split()]
        assert len(stems) == len(set(stems))


@pytest.mark.parametrize(
    "forms",
    [
        ("print", "prints", "printer", "printers", "printing", "printed"),
        ("charge", "charges", "charged", "charging"),
        ("book", "books"),
        ("case", "cases"),
        ("runs", "run", "running"),
        ("robot", "robots", "robotics"),
    ],
)
def test_forms_of_a_word_have_one_stem(forms):
    assert len({stem(form) for form in forms}) == 1


def test_short_and_foreign_words_keep_their_letters():
    assert [stem(word) for word in ("is", "gas", "key", "bus", "ink", "печать", "円")] == [
        "is", "gas", "key", "bus", "ink", "печать", "円",
    ]  # fmt: skip
