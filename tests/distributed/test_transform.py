"""New rows in files on the map of a fitted model."""

from __future__ import annotations

import os

import numpy as np
import pytest

import actup
from actup.distributed import ShardError, _transform, transform
from actup.distributed._folder import WorkFolder
from file_runs import clustered_rows


@pytest.fixture(scope="module")
def model():
    return actup.UMAP(random_state=0, n_epochs=20).fit(clustered_rows(500))


def test_rows_get_the_places_of_the_model(model, tmp_path):
    rows = clustered_rows(1000, seed=1)
    expected = model.transform(rows)
    np.save(tmp_path / "rows.npy", rows)
    assert np.array_equal(transform(model, rows, work=tmp_path / "a"), expected)
    out = tmp_path / "places.npy"
    transform(model, tmp_path / "rows.npy", work=tmp_path / "b", out=out, threads=1)
    assert np.array_equal(np.load(out), expected)


def test_saved_model(model, tmp_path):
    model.save(tmp_path / "model.actup")
    rows = clustered_rows(50, seed=1)
    places = transform(tmp_path / "model.actup", rows, work=tmp_path / "work")
    assert np.array_equal(places, model.transform(rows))


def test_other_width_is_rejected(model, tmp_path):
    with pytest.raises(ValueError, match="5 columns, but the model was fitted to 12"):
        transform(model, np.zeros((10, 5), np.float32), work=tmp_path)


def test_missing_values_name_the_shard_and_the_call_goes_on(model, tmp_path):
    files = [tmp_path / f"{number}.npy" for number in range(2)]
    rows = clustered_rows(100, seed=2)
    np.save(files[0], rows)
    broken = rows.copy()
    broken[7, 2] = np.nan
    np.save(files[1], broken)
    with pytest.raises(ShardError, match=r"1\.npy.*NaN in row 7"):
        transform(model, files, work=tmp_path / "work", out=tmp_path / "places.npy")
    assert not (tmp_path / "places.npy").exists()
    np.save(files[1], rows)
    transform(model, files, work=tmp_path / "work", out=tmp_path / "places.npy")
    assert np.array_equal(np.load(tmp_path / "places.npy"), model.transform(np.concatenate([rows, rows])))


def write_with_time(path, rows):
    """Replace a file by one of the same size and time, as a coarse clock or a copy that keeps times does."""
    np.save(path, rows)
    os.utime(path, ns=(10**18, 10**18))


def test_files_of_the_same_size_and_time_are_told_apart(model, tmp_path):
    path, out = tmp_path / "rows.npy", tmp_path / "places.npy"
    first, second = clustered_rows(100, seed=2), clustered_rows(100, seed=3)
    for rows in (first, second, first):
        write_with_time(path, rows)
        transform(model, path, work=tmp_path / "work", out=out)
        assert np.array_equal(np.load(out), model.transform(rows))


def test_shards_with_the_same_rows_are_placed_once(model, tmp_path, monkeypatch):
    path, placed = tmp_path / "rows.npy", []
    places = _transform._places
    monkeypatch.setattr(_transform, "_places", lambda *given: placed.append(given) or places(*given))
    for time in (1, 2):
        np.save(path, clustered_rows(100, seed=2))
        os.utime(path, (time, time))
        transform(model, path, work=tmp_path / "work", out=tmp_path / "places.npy")
    assert len(placed) == 1


def test_a_record_does_not_outlive_its_places(model, tmp_path, monkeypatch):
    """A call is stopped after it has written other places, and then the first rows come back."""
    path, out = tmp_path / "rows.npy", tmp_path / "places.npy"
    first, second = clustered_rows(100, seed=2), clustered_rows(100, seed=3)
    write_with_time(path, first)
    transform(model, path, work=tmp_path / "work", out=out)
    write_with_time(path, second)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(WorkFolder, "write_record", stop)
        transform(model, path, work=tmp_path / "work", out=out)
    write_with_time(path, first)
    transform(model, path, work=tmp_path / "work", out=out)
    assert np.array_equal(np.load(out), model.transform(first))


def test_other_model_of_the_same_name_and_missing_output(model, tmp_path):
    rows = clustered_rows(60, seed=3)
    other = actup.UMAP(random_state=5, n_epochs=5).fit(clustered_rows(300, seed=4))
    path, out = tmp_path / "model.actup", tmp_path / "places.npy"
    for saved in (model, other, model):
        saved.save(path)
        transform(path, rows, work=tmp_path / "work", out=out)
        assert np.array_equal(np.load(out), saved.transform(rows))
    out.unlink()
    transform(path, rows, work=tmp_path / "work", out=out)
    assert np.array_equal(np.load(out), model.transform(rows))


def test_columns_in_another_order_are_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(clustered_rows(300, 4), columns=list("abcd"))
    model = actup.UMAP(random_state=0, n_epochs=5).fit(frame)
    frame[list("dcba")].to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"columns=list\(model\.feature_names_in_\)"):
        transform(model, tmp_path / "rows.parquet", work=tmp_path / "work")
    places = transform(
        model,
        tmp_path / "rows.parquet",
        work=tmp_path / "work",
        columns=list("abcd"),
        out=tmp_path / "map.npy",
    )
    assert np.array_equal(np.load(places), model.transform(frame))
