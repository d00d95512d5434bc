"""whole_file: what it replaces, the permissions of what it leaves, and what its errors say."""

import errno
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import actup
from actup._array_files import save_array
from actup._whole_file import whole_file, write_errors
from actup.viewer import write_page

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes as files, and no modes")


def write(path, data=b"new"):
    with whole_file(path) as unfinished:
        unfinished.write_bytes(data)


def make_pipe(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        former = Path.cwd()
        os.chdir(path.parent)  # names of sockets are short
        try:
            server.bind(path.name)
        finally:
            os.chdir(former)


# ---- what is replaced ----


@posix
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    ("make", "kind"), [(make_pipe, "a named pipe"), (make_socket, "a socket"), (Path.mkdir, "a folder")]
)
def test_what_is_no_file_is_not_replaced(make, kind, linked, tmp_path):
    special = path = tmp_path / "special.npy"
    make(special)
    if linked:
        path = tmp_path / "link.npy"
        path.symlink_to(special)
    mode, names = special.stat().st_mode, sorted(os.listdir(tmp_path))
    with pytest.raises(ValueError, match=f"{path.name}: is no regular file but {kind}.* give the path of"):
        write(path)
    assert special.stat().st_mode == mode and sorted(os.listdir(tmp_path)) == names


@posix
def test_a_file_that_became_a_pipe_meanwhile_stays_a_pipe(tmp_path):
    path = tmp_path / "map.npy"
    with pytest.raises(ValueError, match="a named pipe"), whole_file(path) as unfinished:
        unfinished.write_bytes(b"new")
        os.mkfifo(path)
    assert path.is_fifo() and os.listdir(tmp_path) == ["map.npy"]


X, Y = np.random.default_rng(0).normal(size=(20, 3)), np.zeros((5, 2), np.float32)
WRITERS = {
    "html": lambda path: write_page(path, Y),
    "parquet": lambda path: actup.write_atlas(path, Y),
    "png": lambda path: actup.plot(Y, path=path),
    "actup": lambda path: actup.UMAP(n_epochs=2, random_state=0).fit(X).save(path),
}


@posix
@pytest.mark.parametrize("kind", WRITERS)
def test_no_writer_replaces_a_pipe(kind, tmp_path):
    path = tmp_path / f"map.{kind}"
    os.mkfifo(path)
    with pytest.raises(ValueError, match=f"map.{kind}'?: is no regular file but a named pipe"):
        WRITERS[kind](path)
    assert path.is_fifo() and os.listdir(tmp_path) == [path.name]


# ---- permissions ----


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o400])
def test_a_file_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "map.npy"
    path.write_bytes(b"former")
    path.chmod(mode)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(b"new")
        assert unfinished.stat().st_mode & 0o177 == mode & 0o177  # no reader may see what is written
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == mode


@posix
@pytest.mark.parametrize("kind", WRITERS)
def test_every_writer_keeps_permissions(kind, tmp_path):
    path = tmp_path / f"map.{kind}"
    path.write_bytes(b"former")
    path.chmod(0o600)
    WRITERS[kind](path)
    assert path.stat().st_mode & 0o777 == 0o600 and path.read_bytes() != b"former"


@posix
def test_a_new_file_has_those_of_any_new_file(tmp_path):
    write(tmp_path / "map.npy")
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "map.npy").stat().st_mode == (tmp_path / "other").stat().st_mode


# ---- errors ----


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "reason"), OSError("reason"), OSError(errno.EACCES, "reason", "unfinished")],
)
def test_errors_name_the_file_and_not_the_hidden_one(error, tmp_path):
    path = tmp_path / "map.npy"
    path.write_bytes(b"former")
    with (
        pytest.raises(OSError, match=r"cannot be written: reason: '.*map.npy'") as caught,
        whole_file(path) as outer,
        whole_file(outer) as unfinished,
    ):
        unfinished.write_bytes(b"half")
        if error.filename is not None:
            error.filename = str(unfinished)
        raise error
    assert caught.value.filename == str(path) and caught.value.errno == (error.errno or errno.EIO)
    assert caught.value.strerror == "cannot be written: reason"
    assert os.listdir(tmp_path) == ["map.npy"] and path.read_bytes() == b"former"


def test_errors_about_other_files_and_connections_pass(tmp_path):
    for error in (FileNotFoundError(errno.ENOENT, "reason", "input.npy"), BrokenPipeError(errno.EPIPE, "x")):
        with pytest.raises(type(error)) as caught, whole_file(tmp_path / "map.npy"):
            raise error
        assert caught.value is error


def test_errors_of_standard_output(tmp_path):
    message = "cannot be written: full: 'standard output'"
    with pytest.raises(OSError, match=message), write_errors("standard output"):
        raise OSError(errno.ENOSPC, "full")


def test_a_folder_that_is_missing_is_named_with_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write(tmp_path / "missing" / "map.npy")
    assert caught.value.filename == str(tmp_path / "missing" / "map.npy")


@pytest.mark.parametrize("name", ["地" * 80 + ".npy", "a" * 250, "a." + "b" * 240])
def test_long_names(name, tmp_path):
    try:
        (tmp_path / name).write_bytes(b"")
    except OSError:
        pytest.skip("this file system has shorter names")
    write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"new"


LIMITED = """
import resource, sys
import numpy as np
import actup
from actup._array_files import save_array
from actup.viewer import write_page
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
Y, path = np.zeros((4000, 2), np.float32), sys.argv[1]
try:
    {"html": lambda: write_page(path, Y), "parquet": lambda: actup.write_atlas(path, np.random.rand(4000, 2)),
     "png": lambda: actup.plot(Y, path=path), "npy": lambda: save_array(path, Y),
     "svg": lambda: actup.plot(Y, path=path), "pdf": lambda: actup.plot(Y, path=path)}[path.split(".")[-1]]()
except OSError as error:
    print(error.filename, error.strerror, sep="|")
"""


@posix
@pytest.mark.parametrize("kind", ["npy", "html", "parquet", "png", "pdf", "svg"])
def test_a_limit_of_the_size_of_files_is_named_with_the_file(kind, tmp_path):
    path = tmp_path / f"map.{kind}"
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True)
    name, _, reason = done.stdout.strip().partition("|")
    assert name == str(path) and reason.startswith("cannot be written: "), done.stdout + done.stderr
    assert "File too large" in reason
    assert os.listdir(tmp_path) == []


def test_arrays_are_those_of_numpy(tmp_path):
    for array in (Y, Y.T, np.arange(6.0).reshape(3, 2).T, Y[::2], Y[:0]):
        save_array(tmp_path / "array.npy", array)
        np.testing.assert_array_equal(np.load(tmp_path / "array.npy"), array)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_an_archive_is_written_is_raised_as_such(tmp_path):
    """zipfile raises a ValueError when an archive is closed whose member has not been."""
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "maps.npz") as unfinished:
        archive = zipfile.ZipFile(unfinished, "w")
        try:
            member = archive.open("map.npy", "w")
            raise KeyboardInterrupt
        finally:
            assert not member.closed
            archive.close()
    assert not list(tmp_path.iterdir())
