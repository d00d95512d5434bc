"""Live sessions: watched fits keep their bits, controls act, selections are embedded."""

from __future__ import annotations

import json
import pickle
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

import actup
from actup.viewer._live._levels import further_recipe
from live_client import SECONDS, Y_LABELS, Client, X, begin, status, wait_until

ENDLESS = 1_000_000  # epochs of a layout that a test ends


@pytest.mark.parametrize(
    "model", [actup.UMAP(random_state=1), actup.TSNE(random_state=1), actup.GDR(random_state=1)]
)
def test_a_watched_fit_has_the_same_bits(model):
    with begin(model) as session:
        listener = threading.Thread(target=lambda: list(Client(session).messages()))
        listener.start()
        assert session.wait_for_layout(SECONDS)
    listener.join(SECONDS)
    assert not hasattr(model, "embedding_")  # the session has fitted a copy
    np.testing.assert_array_equal(session.model.embedding_, clone(model).fit(X).embedding_)


def test_a_fit_of_a_viewed_model_has_the_same_bits():
    model = actup.UMAP(random_state=1)
    with model.view(labels=Y_LABELS, live=True) as session:
        assert b"Waiting for the fit" in Client(session).request().read()
        Y = model.fit(X).embedding_
        assert status(session)["state"] == "finished"
        np.testing.assert_array_equal(session.model.embedding_, Y)
        model.fit(X[:300])  # further fits are followed too
        assert status(session)["run"] == 2 and len(session.model.embedding_) == 300
    np.testing.assert_array_equal(Y, actup.UMAP(random_state=1).fit(X).embedding_)
    assert model._watcher is None


def test_the_layout_waits_for_the_page_and_frames_show_it():
    with begin(wait_for_page=True) as session:
        wait_until(lambda: status(session).get("epochs"))
        time.sleep(0.1)
        assert status(session)["epoch"] == 0 and status(session)["state"] == "paused"
        frames, epochs = [], []
        for message in Client(session).messages():
            if isinstance(message, tuple):
                frames.append(message[1])
            else:
                epochs.append(message.get("epoch"))
                if message["state"] == "finished":
                    break
        session.wait_for_layout(SECONDS)
        final = next(message[1] for message in Client(session).messages() if isinstance(message, tuple))
    assert epochs[0] == 0 and epochs[-1] == session.model.n_epochs_ == 123
    assert np.abs(frames[0] - final).max() > 0.1
    Y = session.model.embedding_
    assert np.abs(final - Y).max() < 2e-5 * np.ptp(Y, axis=0).max()


def test_pause_continue_and_stop():
    with begin(actup.UMAP(random_state=0, n_epochs=ENDLESS, n_jobs=1)) as session:
        page = Client(session)
        wait_until(lambda: status(session).get("epoch", 0) > 0)
        assert page.post("pause") == 204
        wait_until(lambda: status(session)["state"] == "paused")
        time.sleep(0.2)  # the slice that was running
        epoch = status(session)["epoch"]
        time.sleep(0.2)
        assert status(session)["epoch"] == epoch
        assert page.post("zoom", np.arange(50, dtype="<u4").tobytes()) == 409
        assert page.post("resume") == 204
        wait_until(lambda: status(session)["epoch"] > epoch)
        assert page.post("stop") == 204
        assert session.wait_for_layout(SECONDS)
        assert 0 < session.model.n_epochs_ < ENDLESS


def test_a_pause_without_a_layout_does_not_concern_the_next_fit():
    model = actup.UMAP(random_state=0, n_jobs=1)
    with model.view(live=True) as session:
        session.pause()
        fit = threading.Thread(target=model.fit, args=(X,), daemon=True)
        fit.start()
        fit.join(SECONDS)
        assert not fit.is_alive()
        session.pause()  # after the fit
        assert status(session)["state"] == "finished"
        assert repr(session).startswith("<actup LiveView: finished, 400 points") and session.url not in repr(
            session
        )
        with pytest.raises(TypeError, match="exaggeration='x' must be a number"):
            session.steer(exaggeration="x")


def test_steering_acts_on_the_running_layout():
    def size(exaggeration, repulsion):
        with begin(actup.UMAP(random_state=0, n_epochs=300), wait_for_page=True) as session:
            body = json.dumps({"exaggeration": exaggeration, "repulsion": repulsion})
            assert Client(session).post("steer", body.encode()) == 204
            assert status(session)["exaggeration"] == exaggeration
            session.resume()
            assert session.wait_for_layout(SECONDS)
        return np.sqrt(session.model.embedding_.var(axis=0).sum())

    unsteered = np.sqrt(actup.UMAP(random_state=0, n_epochs=300).fit_transform(X).var(axis=0).sum())
    assert size(1, 1) == unsteered
    assert size(8, 1) < 0.8 * unsteered
    assert size(1, 8) > 1.2 * unsteered


@pytest.mark.parametrize(
    "model", [actup.UMAP(random_state=0), actup.TSNE(random_state=0, learning_rate=100.0)]
)
def test_a_layout_that_has_ended_goes_on_from_its_map(model):
    model.fit(X)
    Y = model.embedding_.copy()
    with actup.view(model, live=True) as session:
        session.steer(repulsion=3.0)
        assert session.wait_for_layout(SECONDS)
        moved = session.model.embedding_
        assert status(session)["epoch"] == status(session)["epochs"] == 200
    assert np.sqrt(moved.var(axis=0).sum()) > 1.1 * np.sqrt(Y.var(axis=0).sum())
    np.testing.assert_array_equal(model.embedding_, Y)  # the caller's model does not change


@pytest.mark.parametrize("name", actup.presets())
def test_every_preset_can_go_on(name):
    recipe = further_recipe(actup.preset(name))
    assert recipe.n_epochs(1000) == 200
    assert (recipe.schedule(1000).exaggeration == np.float32(recipe.late_exaggeration)).all()


def test_selections_are_embedded_and_left_again(session):
    page = Client(session)
    ids = np.flatnonzero(Y_LABELS < 5)
    assert page.post("selection", ids[::-1].astype("<u4").tobytes()) == 204
    np.testing.assert_array_equal(session.selection, ids)
    assert page.post("zoom", ids[::-1].astype("<u4").tobytes()) == 204
    wait_until(lambda: "points in" in status(session)["message"])
    level = status(session)["levels"][-1]
    assert level["count"] == len(ids)
    np.testing.assert_array_equal(np.frombuffer(page.request(f"level/{level['key']}").read(), "<u4"), ids)
    wanted = actup.UMAP(random_state=0, n_jobs=1).fit(X).subset(ids).embedding_
    np.testing.assert_array_equal(session.model.embedding_, wanted)
    inner = session.zoom_in(np.flatnonzero(Y_LABELS < 2))  # numbers are those of the data on every level
    assert session.model is inner and len(inner.embedding_) == (Y_LABELS < 2).sum()
    session.zoom_out()
    assert page.post("zoom_out") == 204
    assert session.wait_for_layout(SECONDS)
    assert len(status(session)["levels"]) == 1 and len(session.model.embedding_) == len(X)
    key, places = next(message for message in page.messages() if isinstance(message, tuple))
    assert key == status(session)["levels"][0]["key"] and len(places) == len(X)
    session.zoom_out()  # at the first map nothing happens
    assert session.wait_for_layout(SECONDS) and len(status(session)["levels"]) == 1


def test_a_selection_without_edges_stays_at_the_map(session):
    graph = session.model.graph_
    pair = next([0, j] for j in range(1, len(X)) if graph[0, j] == 0)
    with pytest.raises(ValueError, match="none of which is a neighbour"):
        session.zoom_in(pair)
    assert len(status(session)["levels"]) == 1 and "none of which" in status(session)["message"]


def test_presets_are_taken_by_name():
    with begin("gdr_tsne") as session:
        assert session.wait_for_layout(SECONDS)
    assert isinstance(session.model, actup.GDR) and session.model.recipe_.normalized


def test_a_watched_model_can_be_copied_and_pickled(tmp_path):
    model = actup.UMAP(random_state=0)
    with model.view(live=True) as session:
        model.fit(X)
        copied = pickle.loads(pickle.dumps(model))
        model.save(tmp_path / "model.actup")
        assert copied._watcher is None and pickle.loads(pickle.dumps(session)) is None
    np.testing.assert_array_equal(copied.embedding_, model.embedding_)
    np.testing.assert_array_equal(actup.load(tmp_path / "model.actup").embedding_, model.embedding_)
