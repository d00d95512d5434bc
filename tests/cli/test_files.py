"""Reading: every kind of file gives the same rows, and damaged files are rejected in one line."""

import errno
import gzip
import io
import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from actup._cli.chosen import choose
from actup._cli.files import FORMATS, ReadingHints, read_tables
from actup._cli.options import ReadingOptions
from small_files import NAMES, SPECIES, WRITERS, X, delimited, write_kind

WITHOUT_LABELS = ("npy", "mtx")


def read(path, **options):
    return choose(
        read_tables([str(path)], ReadingHints(array=options.get("array"))), ReadingOptions(**options)
    )


def test_every_kind_has_a_test():
    assert {kind.removesuffix(".gz") for kind in WRITERS} >= set(FORMATS)


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_and_labels_of_every_kind(kind, tmp_path):
    path = write_kind(kind, tmp_path)
    labels = [] if kind in WITHOUT_LABELS else ["species"]
    chosen = read(path, label=labels, **({"array": "X"} if kind == "h5ad" else {}))
    rows = chosen.X.toarray() if hasattr(chosen.X, "toarray") else chosen.X
    np.testing.assert_allclose(np.asarray(rows, float), X)
    if labels:
        assert chosen.labels["species"].astype(str).tolist() == SPECIES.tolist()


def test_principal_components_are_what_cells_are_mapped_by(tmp_path):
    chosen = read(write_kind("h5ad", tmp_path), label=["species"])
    assert chosen.X.shape == (150, 2)
    assert chosen.ids["cell"][:2].tolist() == ["flower0", "flower1"]


def test_sparse_archives_of_scipy_stay_sparse(tmp_path):
    from scipy import sparse

    sparse.save_npz(tmp_path / "X.npz", sparse.csr_matrix(X))
    assert sparse.issparse(read(tmp_path / "X.npz").X)


def test_images_become_rows(tmp_path):
    np.save(tmp_path / "images.npy", np.zeros((5, 8, 8), np.uint8))
    assert read(tmp_path / "images.npy").X.shape == (5, 64)


def test_csv_without_names_of_columns(tmp_path, capsys):
    (tmp_path / "plain.csv").write_text("1,5,3\n4,5,6\n7,8,9\n")
    chosen = read(tmp_path / "plain.csv")
    assert chosen.X.tolist() == [[1, 5, 3], [4, 5, 6], [7, 8, 9]] and chosen.names == ["0", "1", "2"]
    assert "is read as data: give --header" in capsys.readouterr().err


@pytest.mark.parametrize("first", [0, 1])
def test_a_line_that_counts_the_columns_holds_their_names(first, tmp_path, capsys):
    path = tmp_path / "frame.csv"
    names = [str(first), str(first + 1), str(first + 2)]
    path.write_text(",".join(names) + "\n4,5,6\n7,8,9\n")
    chosen = read(path)
    assert chosen.X.tolist() == [[4, 5, 6], [7, 8, 9]] and chosen.names == names
    assert "give --no-header if it is data" in capsys.readouterr().err
    assert len(read_tables([str(path)], ReadingHints(header=False))) == 3
    assert capsys.readouterr().err == ""


IRIS_LINES = "5.1,3.5,setosa\n4.9,3.0,setosa\n4.7,3.2,virginica\n"


@pytest.mark.parametrize(
    "text",
    [
        IRIS_LINES,  # setosa comes again
        IRIS_LINES.replace(",", ";").replace(".", ","),
        "5.1,5.1,setosa\n4.9,3.0,versicolor\n4.7,3.2,virginica\n",  # no two columns have one name
    ],
)
def test_a_first_line_of_values_is_data(text, tmp_path, capsys):
    (tmp_path / "plain.csv").write_text(text)
    chosen = read(tmp_path / "plain.csv", label=["2"])
    assert chosen.X.shape == (3, 2) and chosen.X[0, 0] == 5.1 and chosen.names == ["0", "1"]
    assert "holds values and is read as data: give --header" in capsys.readouterr().err


def test_names_that_may_be_numbers_of_the_data_are_warned_of(tmp_path, capsys):
    path = tmp_path / "plain.csv"
    path.write_text("ann,5.1,3.5,3.7\nbob,4.9,3.0,2.2\ncid,4.7,3.2,4.4\n")
    assert read(path, label=["ann"]).X.shape == (2, 3)
    error = capsys.readouterr().err
    assert "columns of numbers are called '5.1', '3.5', '3.7'" in error and "give --no-header" in error
    for names in ("country,1990,1991,1992", ",0,1,2", "kind,a,b,c", "kind,400.5,401.0,401.5"):
        path.write_text(f"{names}\nx,1,2,3.5\nx,4,5.5,6\n")
        assert len(read(path, label=["0"])) == 2
        assert capsys.readouterr().err == "", names


def test_whitespace_and_bars_separate_fields(tmp_path, capsys):
    rows = np.array([[1.5, 2, 3], [4, -5, 6e-20]])
    np.savetxt(tmp_path / "plain.txt", rows)
    assert read(tmp_path / "plain.txt").X.tolist() == rows.tolist()
    for text in (
        "a|b|c\n1.5|2|3\n4|-5|6e-20\n",
        "a b c\n1.5 2 3\n4 -5 6e-20\n",
        "  a   b      c \n1.5   2      3\n  4  -5  6e-20  \n\n",
        '"a" "b" "c"\n1.5 2 3\n4 -5 6e-20\n',
    ):
        (tmp_path / "named.csv").write_text(text)
        chosen = read(tmp_path / "named.csv")
        assert chosen.X.tolist() == rows.tolist() and chosen.names == ["a", "b", "c"]
    (tmp_path / "named.csv").write_text('a b kind\n1 2 "B cell"\n3 4 "T cell"\n')
    assert read(tmp_path / "named.csv", label=["kind"]).labels["kind"].tolist() == ["B cell", "T cell"]


def test_other_delimiters_are_asked_for_briefly(tmp_path, rejected, run):
    path, out = tmp_path / "odd.csv", tmp_path / "map.npy"
    path.write_text("one~two~three\n" + "".join(f"{i}~{i % 7}~{i % 5}\n" for i in range(60)))
    error = rejected("embed", path, "-o", out)
    assert (
        "has one column and it holds no numbers (text, '0~0~0' in row 0): if" in error
        and "--delimiter" in error
    )
    assert error.count("one~two") <= 1
    assert run("embed", path, "--delimiter", "~", "--epochs", 5, "-o", out).status == 0


def test_line_breaks_inside_quotes_of_a_large_csv(tmp_path):
    """Larger than the blocks of 1 MiB in which pyarrow reads."""
    text = '"' + "a line\n" * 40 + '"'
    (tmp_path / "notes.csv").write_text("a,b,note\n" + f"1,2,{text}\n" * 6000)
    chosen = read(tmp_path / "notes.csv", text="note")
    assert chosen.X.shape == (6000, 2) and set(chosen.hover["note"]) == {"a line\n" * 40}


@pytest.mark.parametrize("text", ["a,b,name\n1,2,café\n3,4,x\n", "a,b,café\n1,2,3\n4,5,6\n"])
def test_other_encodings_are_rejected_with_the_remedy(text, tmp_path, rejected):
    path = tmp_path / "latin.csv"
    path.write_bytes(text.encode("latin-1"))
    error = rejected("embed", path, "--exclude", "2", "-o", tmp_path / "map.npy")
    assert "is not encoded as UTF-8" in error and "iconv" in error


def test_csv_with_semicolons_quotes_and_a_byte_order_mark(tmp_path):
    text = '\ufeffname;a;b\n"x;y";1;2\n"say ""hi""";3;4\n'
    (tmp_path / "excel.csv").write_text(text, encoding="utf-8")
    chosen = read(tmp_path / "excel.csv", label=["name"])
    assert chosen.labels["name"].tolist() == ["x;y", 'say "hi"'] and chosen.names == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a;b;name\n1,5;2;x\n-3,25;1e3;y\n;4;z\n", ["a", "b"]),
        ("a\tb\tname\n1,5\t2\tx\n -3,25\t1e3\ty\n\t4\tz\n", ["a", "b"]),
        ('"a";"b";"name"\n"1,5";"2";"x"\n"-3,25";"1e3";"y"\n"";"4";"z"\n', ["a", "b"]),
    ],
)
def test_decimal_commas_between_other_delimiters(text, names, tmp_path, capsys):
    (tmp_path / "excel.csv").write_text(text)
    table = read_tables([str(tmp_path / "excel.csv")], ReadingHints())
    chosen = choose(table, ReadingOptions(label=["name"]))
    np.testing.assert_array_equal(chosen.X, [[1.5, 2], [-3.25, 1000], [np.nan, 4]])
    assert chosen.names == names
    assert "in 'a' are read as decimal commas" in capsys.readouterr().err


def test_decimal_commas_without_names_of_columns(tmp_path):
    (tmp_path / "plain.csv").write_text("1,5;2,5;3,5\n4;5;6\n")
    assert read(tmp_path / "plain.csv").X.tolist() == [[1.5, 2.5, 3.5], [4, 5, 6]]


@pytest.mark.parametrize("text", ["a;b\n1.234,5;1\n2;3\n", "a;b\n1,5;1\n2.5;3\n", 'a,b\n"1,5",1\n"2,5",3\n'])
def test_commas_that_may_separate_thousands_are_rejected(text, tmp_path, rejected):
    (tmp_path / "money.csv").write_text(text)
    error = rejected("embed", tmp_path / "money.csv", "-o", tmp_path / "map.npy")
    assert "column 'a'" in error and "write numbers with decimal points" in error


def test_types_are_those_of_the_whole_column(tmp_path):
    """A column of integers whose first fraction comes after the block that types are inferred from."""
    lines = ["a,b", *("1,2" for _ in range(300_000)), "1.5,2"]
    (tmp_path / "late.csv").write_text("\n".join(lines) + "\n")
    assert read(tmp_path / "late.csv").X[-1].tolist() == [1.5, 2]


def test_index_of_pandas_identifies_rows(tmp_path):
    (tmp_path / "frame.csv").write_text(",a,b\nr1,1,2\nr2,3,4\n")
    chosen = read(tmp_path / "frame.csv")
    assert chosen.ids["id"].tolist() == ["r1", "r2"] and chosen.names == ["a", "b"]


def test_rows_of_several_files_are_joined(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("u,v\n1,2\n3,4\n")
    table = read_tables([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], ReadingHints())
    chosen = choose(table, ReadingOptions(label=["file"]))
    assert chosen.X.shape == (4, 2) and len(set(chosen.labels["file"])) == 2


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "csv.gz", "tsv", "parquet", "feather", "jsonl"])
def test_standard_input_is_known_by_its_first_bytes(kind, tmp_path, monkeypatch):
    data = write_kind(kind, tmp_path).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    label = [] if kind == "npy" else ["species"]
    table = read_tables(["-"], ReadingHints())
    np.testing.assert_allclose(choose(table, ReadingOptions(label=label)).X, X)


# ---- broken files ----


class Bomb:
    """An object whose unpickling leaves a mark."""

    def __reduce__(self):
        return (exec, ("import builtins; builtins.actup_bomb = True",))


def _broken(folder):
    """name: (bytes, part of the message)."""
    objects = io.BytesIO()
    np.save(objects, np.array([[Bomb()]], object), allow_pickle=True)
    packed_objects = io.BytesIO()
    np.savez(packed_objects, X=np.array([[Bomb()]], object))
    line = json.dumps({"vector": [1, 2]})
    whole = {kind: write_kind(kind, folder).read_bytes() for kind in ("npz", "parquet", "feather", "npy")}
    return {
        "empty.csv": (b"", "is empty"),
        "names_only.csv": (b"a,b\n", "has no rows"),
        "ragged.csv": (
            b"a,b,c\n1,2,3\n4,5\n6,7,8\n",
            "cannot be read at line 3: CSV parse error: Expected 3 columns",
        ),
        "ragged_later.csv": (b'a,b\n\n1,"2\n3"\n4,5,6\n', "cannot be read at line 5"),
        "plain.csv.gz": (b"a,b\n1,2\n", "is no gzip file, it begins with b'a,b"),
        "no_columns.npy": (
            _npy(np.zeros((5, 0))),
            "has shape (5, 0): a map needs rows of at least one column",
        ),
        "text.npy": (_npy(np.array([["red", "blue"]] * 5)), "holds text, 'red' in row 0, column 0: save"),
        "twice.csv": (b"a,a\n1,2\n3,4\n", "two columns 'a'"),
        "text.csv": (b"a,b\n1,red\n2,blue\n", "column 'b' (text, 'red' in row 0) of"),
        "dates.csv": (b"a,b\n1,2020-01-01\n2,2020-01-02\n", "column 'b' (dates) of"),
        "gap.csv": (b"a,b\n1,2\n3,\n5,6\n", "1 missing values, the first in row 1, column 'b'"),
        "infinite.csv": (b"a,b\n1,2\n3,inf\n5,6\n", "1 infinite values, the first in row 1, column 'b'"),
        "late.csv": (b"a,b\n1,2\n3,n/k\n4,?\n5,6\n", "column 'b' ('n/k' in row 1 and 1 more) of"),
        "total.csv": (b"a,b\n1,2\n3,4\n5,6\nTotal,12\n", "column 'a' ('Total' in row 3) of"),
        "marker.csv": (b"a,b\n1,2\n3,-\n5,6\n", "correct that, or leave it empty and give --missing drop"),
        "no_values.csv": (b"a,b,c\n1,,2\n3,,4\n", "column 'b' of"),
        "no_text.csv": (b"a,b,c\n1,,\n3,,\n", "have missing values only: leave out with --exclude b,c"),
        "wide.csv": ("a,b\n1,2\n".encode("utf-16"), "is encoded as UTF-16, not UTF-8"),
        "one_row.csv": (b"a,b\n1,2\n", "has one row"),
        "binary.csv": (b"a,b\n1,\x00\n", "is no csv file"),
        "archive.csv": (whole["npz"], "it is npz: give --format npz"),
        "wrong.npy": (b"hello, world", "is no npy file"),
        "wrong.parquet": (b"a,b\n1,2\n", "is no parquet file; it begins with"),
        "wrong.h5ad": (b"a,b\n1,2\n", "is no h5ad file"),
        "cut.npz": (whole["npz"][:900], "is damaged or cut off"),
        "cut.npy": (whole["npy"][:900], "is damaged or cut off"),
        "cut.parquet": (whole["parquet"][:900], "cannot be read"),
        "cut.feather": (whole["feather"][:900], "cannot be read"),
        "cut.csv.gz": (gzip.compress(delimited(","))[:90], "gzip file is damaged or cut off"),
        "cut.h5ad": (b"\x89HDF\r\n\x1a\n" + bytes(100), "damaged"),
        "objects.npy": (objects.getvalue(), "holds Python objects"),
        "objects.npz": (packed_objects.getvalue(), "holds Python objects"),
        "pickle.npy": (pickle.dumps(Bomb()), "is no npy file"),
        "flat.npz": (_npz(y=np.arange(3)), "holds no array of rows"),
        "broken.jsonl": (f'{line}\n{{"vector": [1, \n'.encode(), "cannot be read"),
        "ragged.jsonl": (f'{line}\n{{"vector": [1, 2, 3]}}\n'.encode(), "different lengths"),
        "broken.mtx": (b"%%MatrixMarket matrix coordinate real general\n3 3 9\n1 1 x\n", "damaged"),
        "sheet.xlsx": (_zip("xl/workbook.xml"), "Excel files are not read: save the sheet as csv"),
        "sheet.csv": (_zip("xl/workbook.xml"), "Excel files are not read: save the sheet as csv"),
        "former.csv": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel files are not read"),
        "text.xls": (b"a,b\n1,2\n", "if it is text, give --format csv"),
        "list.json": (b'[{"a": 1}, {"a": 2}]', "write one object per line"),
        "list.jsonl": (b'[{"a": 1},\n {"a": 2}]', "write one object per line"),
        "lines.json": (b'{"a": 1}\n{"a": 2}\n', "give --format jsonl"),
        "model.actup": (_zip("header.json"), "this is a saved model: see actup view and actup score"),
        "model.npz": (_zip("header.json"), "this is a saved model"),
        "cut.actup": (b"PK\x03\x04", "this is a saved model"),
        "map.html": (b"<!doctype html>", "this is a page, not data: open it in a browser"),
        "unknown.xyz": (b"a,b\n1,2\n", "give --format"),
    }


def _npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _zip(name):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "{}")
    return file.getvalue()


def _npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_broken_files_are_rejected_in_one_line_and_run_no_code(tmp_path, rejected):
    import builtins

    for name, (data, message) in _broken(tmp_path).items():
        path = tmp_path / name
        path.write_bytes(data)
        if name.endswith(".h5ad"):
            pytest.importorskip("anndata")
        error = rejected("embed", path, "-o", tmp_path / "map.npy")
        assert message in error and name in error, name
    assert not hasattr(builtins, "actup_bomb")


def test_missing_files_and_folders_are_rejected(tmp_path, rejected):
    assert "No such file" in rejected("embed", tmp_path / "none.csv", "-o", tmp_path / "map.npy")
    assert "is a folder" in rejected("embed", tmp_path, "-o", tmp_path / "map.npy")
    address = "http://example.com/a.csv"
    assert f"{address}: addresses are not read" in rejected("view", address)
    assert '"" is no file: give the name' in rejected("embed", "", "-o", tmp_path / "map.npy")


def test_empty_standard_input_is_rejected(tmp_path, rejected, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "standard input is empty" in rejected("embed", "-", "-o", tmp_path / "map.npy")


def test_files_of_different_columns_are_not_joined(tmp_path, rejected):
    (tmp_path / "a.csv").write_text("u,v\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("u,w\n1,2\n3,4\n")
    error = rejected("embed", tmp_path / "a.csv", tmp_path / "b.csv", "-o", tmp_path / "map.npy")
    assert "differ in their columns" in error


def test_several_matrices_need_a_name(tmp_path, rejected, run):
    np.savez(tmp_path / "two.npz", left=X, right=X[:, :2])
    out = tmp_path / "map.npy"
    assert "--array (left, right)" in rejected("embed", tmp_path / "two.npz", "-o", out)
    assert "is no matrix" in rejected("embed", tmp_path / "two.npz", "--array", "up", "-o", out)
    assert run("embed", tmp_path / "two.npz", "--array", "right", "--epochs", 5, "-o", out).status == 0


def test_packages_that_are_missing_are_named(tmp_path, rejected, monkeypatch):
    import sys

    path = write_kind("csv", tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'actup[cli]'" in rejected("embed", path, "-o", tmp_path / "map.npy")
    path = tmp_path / "cells.h5ad"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    monkeypatch.setitem(sys.modules, "anndata", None)
    assert "pip install 'actup[scanpy]'" in rejected("embed", path, "-o", tmp_path / "map.npy")


# ---- columns ----


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (["petal_*"], NAMES[2:]),
        (["0:1"], NAMES[:2]),
        (["petal_length:petal_width"], NAMES[2:]),
        (["3", "sepal_length"], [NAMES[3], NAMES[0]]),
        (["sepal_width,petal_width"], [NAMES[1], NAMES[3]]),
        ([":petal_length"], NAMES[:3]),
    ],
)
def test_columns_by_names_patterns_numbers_and_ranges(written, found, iris):
    assert read(iris, columns=written, label=["species"]).names == found


def test_columns_are_left_out_and_suggested(iris, rejected, tmp_path):
    assert read(iris, exclude=["petal_*", "species"]).names == NAMES[:2]
    error = rejected("embed", iris, "--label", "speceis", "-o", tmp_path / "map.npy")
    assert "did you mean 'species'?" in error
    error = rejected("embed", iris, "--exclude", "*", "-o", tmp_path / "map.npy")
    assert "no columns left" in error


def test_all_columns_without_numbers_are_named_with_options_to_copy(tmp_path, rejected, run):
    path, out = tmp_path / "mixed.csv", tmp_path / "map.npy"
    rows = [f"{i % 7},{i % 5},kind{i % 3},2024-01-{1 + i % 28:02},{i if i % 9 else 'n/k'}" for i in range(60)]
    path.write_text("a,b,the kind,day,count\n" + "\n".join(rows) + "\n")
    error = rejected("embed", path, "-o", out)
    assert "'the kind' (text, 'kind0' in row 0), 'day' (dates), 'count' (text, 'n/k' in row 0)" in error
    assert "--exclude 'the kind,day,count'" in error and "--hover 'the kind,day,count'" in error
    assert "--one-hot 'the kind,count'" in error
    assert run("embed", path, "--exclude", "the kind,day,count", "--epochs", 5, "-o", out).status == 0


def test_ends_of_ranges_that_do_not_exist_are_named(iris, rejected, tmp_path):
    common = ("embed", iris, "-o", tmp_path / "map.npy", "--columns")
    assert "the last of the range, 'PC60', is no column" in rejected(*common, "sepal_length:PC60")
    assert "the first of the range, 'sepal_lenth'" in rejected(*common, "sepal_lenth:petal_width")


def test_a_file_given_twice_has_its_rows_twice(tmp_path):
    for kind, options in (
        ("csv", {"label": ["species"], "exclude": ["file"]}),
        ("npz", {"label": ["species"]}),
    ):
        path = str(write_kind(kind, tmp_path))
        chosen = choose(read_tables([path, path], ReadingHints()), ReadingOptions(**options))
        assert chosen.X.tolist() == [*X.tolist(), *X.tolist()]
        assert chosen.labels["species"].tolist() == [*SPECIES, *SPECIES]


def test_columns_of_a_matrix(tmp_path):
    assert read(write_kind("npy", tmp_path), columns=["1:2"]).X.shape == (150, 2)
    assert read(write_kind("h5ad", tmp_path), array="X", exclude=["0"]).X.shape == (150, 3)


def test_labels_from_a_file_of_their_own(tmp_path, rejected):
    path = write_kind("npy", tmp_path)
    np.save(tmp_path / "y.npy", np.arange(150))
    (tmp_path / "kinds.csv").write_text("kind\n" + "\n".join(SPECIES) + "\n")
    chosen = read(path, label=[str(tmp_path / "y.npy"), str(tmp_path / "kinds.csv")])
    assert chosen.labels["y"][-1] == 149 and chosen.labels["kinds"][0] == "setosa"
    numbers = "\n".join(str(i % 3) for i in range(150)) + "\n"
    for name, first_line in (("bare", ""), ("series", "0\n")):
        (tmp_path / f"{name}.csv").write_text(first_line + numbers)
        found = read(path, label=[str(tmp_path / f"{name}.csv")]).labels[name]
        assert found.tolist() == [i % 3 for i in range(150)]
    for name, first_line in (("words", ""), ("named", "kind\n")):
        (tmp_path / f"{name}.txt").write_text(first_line + "\n".join(SPECIES) + "\n")
        assert read(path, label=[str(tmp_path / f"{name}.txt")]).labels[name].tolist() == SPECIES.tolist()
    np.save(tmp_path / "short.npy", np.arange(3))
    error = rejected("embed", path, "--label", tmp_path / "short.npy", "-o", tmp_path / "map.npy")
    assert "has shape (3,), but" in error


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "feather", "h5ad"])
@pytest.mark.parametrize("error", [MemoryError("12 bytes"), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_too_little_memory_is_no_damage(tmp_path, rejected, monkeypatch, kind, error):
    if kind == "h5ad":
        pytest.importorskip("anndata")
    path = write_kind(kind, tmp_path)
    readers = {
        "parquet": "pyarrow.parquet.ParquetFile",
        "feather": "pyarrow.feather.read_table",
        "h5ad": "anndata.read_h5ad",
    }

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(readers.get(kind, "numpy.load"), fail)
    message = rejected("embed", path, "-o", tmp_path / "map.npy")
    assert f"{path} does not fit into memory ({error})" in message


_READ_WITH_LITTLE_ROOM = """
import pathlib, resource, sys
import pyarrow.compute
from actup._cli.files import ReadingHints, arrow, read_tables

pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
room = pages * resource.getpagesize() + 4 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (room, room))
try:
    read_tables([sys.argv[1]], ReadingHints())
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_readers_end_where_no_thread_can_be_started(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    path = tmp_path / f"rows.{kind}"
    write = {"parquet": parquet.write_table, "csv": csv.write_csv}[kind]
    write(pa.table({str(i): np.random.default_rng(i).random(20_000) for i in range(40)}), path)
    command = [sys.executable, "-c", _READ_WITH_LITTLE_ROOM, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert f"{path} does not fit into memory" in ran.stdout, ran.stderr
