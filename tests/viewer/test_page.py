"""The page as a file: needs nothing else, hostile text stays text, wrong arguments leave nothing behind."""

import base64
import hashlib
import re
import shutil
import subprocess
import time
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest

import actup
from actup.viewer import align_maps, write_page
from actup.viewer._assembly import SCRIPTS
from page_file import PageFile, page_of

PAGE = files("actup.viewer").joinpath("page")
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- <script> -->",
    "\"quoted\" & 'single' &lt;",
    "line\u2028separator\ud800",
    "$title ${data}",
    "emoji \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u05e9\u05dc\u05d5\u05dd \u202eright to left",
    "long " * 2000,
]


def random_maps(n=300):
    generator = np.random.default_rng(0)
    Y = generator.normal(size=(n, 2)) * (5, 1)
    return {"first": Y, "second": Y[:, ::-1] * (-2, 3) + 100 + 0.1 * generator.normal(size=(n, 2))}


def test_positions_decode_back_to_the_aligned_maps(tmp_path):
    maps = random_maps()
    page = page_of(tmp_path, maps)
    assert [packed["name"] for packed in page.data["maps"]] == list(maps)
    for number, expected in enumerate(align_maps(maps).values()):
        assert (np.abs(page.map(number) - expected) <= np.ptp(expected, axis=0) / 65535).all()


def test_outliers_do_not_coarsen_the_bulk(tmp_path):
    Y = np.random.default_rng(0).normal(size=(5000, 2))
    Y[:3] = [[1e6, 0], [-1e5, 4e6], [0, 1e6]]
    page = page_of(tmp_path, {"map": Y})
    error = np.abs(page.map() - (Y - Y.mean(axis=0)))
    assert error[3:].max() < 3e-4
    assert (error[:3] <= 1e-3 * np.abs(Y[:3]).max()).all()


def test_alignment_turns_and_keeps_distances():
    Y = np.random.default_rng(0).normal(size=(200, 2)) * (5, 1)
    angle = 2.1
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * (1, -1)
    aligned = align_maps({"given": Y, "turned": 3 * Y @ turn + 7, "scaled": Y * (1, 2)})
    np.testing.assert_allclose(aligned["given"], Y - Y.mean(axis=0))
    np.testing.assert_allclose(aligned["turned"], 3 * aligned["given"], atol=1e-9)
    distances = [np.linalg.norm(A[:50, None] - A[None, :50], axis=2) for A in (aligned["scaled"], Y * (1, 2))]
    np.testing.assert_allclose(*distances, atol=1e-9)
    with pytest.raises(ValueError, match="same number of dimensions"):
        align_maps({"a": Y, "b": Y[:, :1]})


def test_page_loads_nothing_from_outside(tmp_path):
    images = np.arange(300 * 4).reshape(300, 2, 2)
    path = write_page(
        tmp_path / "new" / "page.html", random_maps(), np.arange(300) % 3, images=images, hover=range(300)
    )
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?i)(https?:)?//[a-z0-9-]+\.[a-z]", text)
    assert not re.search(r"(?i)@import|\burl\(|fetch\(|XMLHttpRequest|WebSocket|import\(", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    for tag, attributes in PageFile(text).tags:
        assert not {"src", "href", "srcset", "action", "data", "style"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag


def test_policy_allows_only_the_pages_own_style_and_program(tmp_path):
    page = page_of(tmp_path, random_maps())
    rules = page.policy()
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data:"
    for rule, part in (("script-src", ("script", None)), ("style-src", ("style", None))):
        digest = base64.b64encode(hashlib.sha256(page.parts[part].encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_hostile_text_stays_text(tmp_path):
    n = len(HOSTILE)
    Y = np.random.default_rng(0).normal(size=(n, 2))
    pairs = dict(zip(HOSTILE, HOSTILE, strict=True))
    hostile = page_of(
        tmp_path, dict.fromkeys(HOSTILE, Y), HOSTILE, pairs, HOSTILE, title=HOSTILE[0],
        columns={HOSTILE[1]: HOSTILE}, info={HOSTILE[0]: {HOSTILE[1]: HOSTILE[2]}},
    )  # fmt: skip
    numbers = [str(k) for k in range(n)]
    harmless = page_of(
        tmp_path, dict.fromkeys(numbers, Y), numbers, None, numbers, title="title", columns={"c": numbers}
    )
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in harmless.tags]
    assert hostile.parts["script", None] == harmless.parts["script", None]
    assert hostile.parts["title", None] == hostile.parts["h1", None] == HOSTILE[0]
    readable = [text.replace("\ud800", "?") for text in HOSTILE]
    assert hostile.texts() == readable
    assert hostile.class_names(0) == hostile.class_names(1) == readable
    assert [packed["name"] for packed in hostile.data["maps"]] == readable
    assert [packed["caption"] for packed in hostile.data["maps"]] == readable
    assert not set("<>&") & set(hostile.parts["script", "data"])


def test_a_model_is_a_map_with_recipe_neighbors_and_distortion(tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 5))
    model = actup.UMAP(n_epochs=20, random_state=3).fit(X)
    page = page_of(tmp_path, model, info={"UMAP": {"trustworthiness": 0.91234}, "data": {"rows": 120}})
    assert [packed["name"] for packed in page.data["maps"]] == ["UMAP"]
    assert page.data["neighbors"]["width"] == 10
    assert page.column()["name"] == "neighbours kept"
    info = {title: dict(rows) for title, rows in page.data["info"]}
    assert info["UMAP"]["method"] == "UMAP" and info["UMAP"]["n_neighbors"] == "15"
    assert info["UMAP"]["seed"] == "3" and info["UMAP"]["trustworthiness"] == "0.9123"
    assert info["data"] == {"rows": "120"}
    plain = page_of(tmp_path, model, neighbors=False, distortion=False)
    assert plain.data["neighbors"] is None and plain.data["columns"] == []


def test_results_of_embed_many_and_bare_arrays_are_maps(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 4))
    maps = actup.embed_many(X, [actup.preset("umap").but(epochs=10), actup.preset("tsne").but(epochs=10)])
    page = page_of(tmp_path, maps)
    assert [packed["name"] for packed in page.data["maps"]] == list(maps.aligned)
    assert len(page.data["info"]) == 2 and page.data["neighbors"] is not None
    assert [packed["name"] for packed in page_of(tmp_path, X[:, :2]).data["maps"]] == ["map"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["rho 1", "rho 2", "rho 4"], True),
        (["0.5", "0.25", "1e-3"], True),
        (["n=5, d=1", "n=5, d=2", "n=5, d=3"], True),
        (["rho 1", "rho 4", "rho 2"], False),
        (["rho 1", "rho 2"], False),
        (["UMAP", "t-SNE", "GDR"], False),
        (["UMAP 1", "t-SNE 2", "GDR 3"], False),
    ],
)
def test_maps_that_form_a_sequence_get_a_slider(tmp_path, names, expected):
    Y = np.random.default_rng(0).normal(size=(10, 2))
    assert page_of(tmp_path, dict.fromkeys(names, Y)).data["sequence"] is expected


def test_a_million_points_with_classes_take_few_megabytes(tmp_path):
    generator = np.random.default_rng(0)
    Y = generator.normal(size=(1_000_000, 2))
    labels = generator.integers(0, 30, 1_000_000)
    start = time.process_time()
    path = write_page(tmp_path / "page.html", Y, labels)
    assert time.process_time() - start < 20
    assert path.stat().st_size < 9e6


@pytest.mark.parametrize("n", [1, 2])
def test_few_and_identical_points(tmp_path, n):
    for Y in (np.ones((n, 2)), np.arange(n)):
        page = page_of(tmp_path, {"map": Y}, ["x"] * n)
        assert page.data["count"] == n
        assert np.isfinite(page.map()).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maps": {"a": np.zeros((3, 2)), "b": np.zeros((4, 2))}}, "different numbers"),
        ({"maps": {"a": np.zeros((3, 3))}}, r"maps\['a'\] has 3 dimensions"),
        ({"maps": {"a": [[np.inf, 0]]}}, "NaN or infinite"),
        ({"maps": {}}, "empty"),
        ({"maps": actup.UMAP()}, "is a UMAP that is not fitted"),
        (
            {"maps": SimpleNamespace(obs=None, obsm={"X_pca": [], "X_umap": []})},
            r"maps\['map'\] is an? .*: give its map, e.g. adata.obsm\['X_umap'\]",
        ),
        ({"maps": {"1": np.zeros((3, 2)), 1: np.zeros((3, 2))}}, "the same as text"),
        ({"labels": [1, 2]}, "labels must have one entry for each of the 3 points"),
        ({"label_kind": "colours"}, "label_kind='colours' must be"),
        ({"hover": ["a"]}, "hover must have one text for each of the 3 points"),
        ({"hover": {"word": ["a"]}}, r"hover\['word'\] must have one entry for each of the 3 points, got 1"),
        (
            {"columns": {"age": [1, 2]}},
            r"columns\['age'\] must have one entry for each of the 3 points, got 2",
        ),
        ({"images": np.zeros((2, 8, 8))}, "one picture for each of the 3 points"),
        ({"images": np.zeros((3, 8, 8, 2))}, "images must have shape"),
        ({"images": np.full((3, 8, 8), np.nan)}, "images hold NaN"),
        ({"captions": {"b": "text"}}, "captions name maps that are not shown"),
        ({"neighbors": "auto"}, "neighbors='auto' needs a fitted model"),
        ({"neighbors": [[1], [2], [3]]}, "neighbors has ids 1 to 3, but points are 0 to 2"),
        ({"neighbors": [[1.5], [2], [0]]}, "neighbors must be whole numbers"),
        ({"distortion": "auto"}, "distortion='auto' needs neighbors"),
        ({"distortion": [1.0]}, "distortion must have one number for each of the 3 points"),
        ({"distortion": {"b": [1, 2, 3]}}, "distortion names maps that are not shown"),
    ],
)
def test_rejected_values(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        write_page(tmp_path / "page.html", **({"maps": {"a": np.zeros((3, 2))}} | options))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hover": "abc"}, "hover='abc' is a text: give one text per point"),
        ({"clusters": [0, 1, 0]}, "clusters must be what actup.find_clusters returns"),
        ({"columns": [1, 2, 3]}, "columns must be a mapping of names to columns or a data frame"),
        ({"info": "text"}, "info must be a mapping"),
        ({"info": {"quality": 0.9}}, r"info\['quality'\] must be a mapping"),
    ],
)
def test_rejected_types(tmp_path, options, message):
    with pytest.raises(TypeError, match=message):
        write_page(tmp_path / "page.html", np.zeros((3, 2)), **options)


def test_a_former_page_stays_if_the_new_one_fails(tmp_path, monkeypatch):
    path = write_page(tmp_path / "page.html", np.eye(2))
    former = path.read_bytes()

    def fail(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises(OSError, match="No space left"):
        write_page(path, np.zeros((5, 2)))
    assert path.read_bytes() == former and list(tmp_path.iterdir()) == [path]


def test_every_script_is_part_of_the_page():
    names = {file.name for file in PAGE.iterdir() if file.name.endswith(".js")}
    assert names == set(SCRIPTS)


def test_program_cannot_end_its_own_element():
    for file in PAGE.iterdir():
        if file.name.endswith((".js", ".css")):
            assert not re.search(r"(?i)</(script|style)|<!--", file.read_text(encoding="utf-8")), file.name


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to parse the program")
def test_program_is_valid(tmp_path):
    program = tmp_path / "program.js"
    program.write_text(page_of(tmp_path, random_maps()).parts["script", None], encoding="utf-8")
    subprocess.run(["node", "--check", str(program)], check=True, capture_output=True, timeout=60)
