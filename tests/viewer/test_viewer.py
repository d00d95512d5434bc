"""The interactive page: one file that needs nothing else, data that decode back, hostile text stays text."""

import base64
import hashlib
import io
import json
import re
import shutil
import subprocess
import time
from html.parser import HTMLParser
from importlib.resources import files

import matplotlib.image
import numpy as np
import pytest

from actup.viewer import align_maps, write_page
from actup.viewer._images import pack_images

PAGE = files("actup.viewer").joinpath("page")
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- <script> -->",
    "\"quoted\" & 'single' &lt;",
    "line\u2028separator\ud800",
    "$title ${data}",
]


class Page(HTMLParser):
    """Every tag with its attributes, and the text of scripts, styles, title and heading."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.parts, self.open = [], {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open = (tag, dict(attributes).get("type")) if tag in ("script", "style", "title", "h1") else None
        if self.open:
            self.parts[self.open] = ""

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, text):
        if self.open:
            self.parts[self.open] += text

    @property
    def data(self):
        return json.loads(self.parts["script", "application/json"])

    def policy(self):
        metas = [attributes for tag, attributes in self.tags if tag == "meta"]
        (content,) = [
            meta["content"] for meta in metas if meta.get("http-equiv") == "Content-Security-Policy"
        ]
        return dict(rule.strip().split(" ", 1) for rule in content.split(";"))


def page_of(tmp_path, *arguments, **options):
    return Page(write_page(tmp_path / "page.html", *arguments, **options).read_text(encoding="utf-8"))


def decode(packed):
    steps = np.frombuffer(base64.b64decode(packed["packed"]), "<u2").reshape(-1, 2)
    return np.array(packed["low"]) + steps / 65535.0 * np.array(packed["size"])


def random_maps(n=300):
    generator = np.random.default_rng(0)
    Y = generator.normal(size=(n, 2)) * (5, 1)
    return {"first": Y, "second": Y[:, ::-1] * (-2, 3) + 100 + 0.1 * generator.normal(size=(n, 2))}


def test_positions_decode_back_to_the_aligned_maps(tmp_path):
    maps = random_maps()
    page = page_of(tmp_path, maps)
    aligned = align_maps(maps)
    assert [packed["name"] for packed in page.data["maps"]] == list(maps)
    for packed in page.data["maps"]:
        expected = aligned[packed["name"]]
        half_step = np.ptp(expected, axis=0) / 65535 / 2
        assert (np.abs(decode(packed) - expected) <= half_step * 1.001).all()


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
    maps = random_maps()
    images = np.arange(300 * 4).reshape(300, 2, 2)
    path = write_page(
        tmp_path / "new" / "page.html", maps, np.arange(300) % 3, images=images, hover=range(300)
    )
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert not re.search(r"(?i)(https?:)?//[a-z0-9-]+\.[a-z]", text)
    assert not re.search(r"(?i)@import|url\(|fetch\(|XMLHttpRequest|WebSocket|import\(", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    for tag, attributes in page.tags:
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
    maps = dict.fromkeys(HOSTILE, Y)
    hostile = page_of(
        tmp_path, maps, HOSTILE, dict(zip(HOSTILE, HOSTILE, strict=True)), HOSTILE, title=HOSTILE[0]
    )
    harmless = page_of(tmp_path, {str(k): Y for k in range(n)}, [str(k) for k in range(n)], title="title")
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in harmless.tags]
    assert hostile.parts["script", None] == harmless.parts["script", None]
    assert hostile.parts["title", None] == hostile.parts["h1", None] == HOSTILE[0]
    readable = [text.replace("\ud800", "?") for text in HOSTILE]
    data = hostile.data
    assert data["hover"] == readable
    assert data["classes"]["names"] == sorted(readable)
    assert [packed["name"] for packed in data["maps"]] == readable
    assert [packed["caption"] for packed in data["maps"]] == readable
    assert not set("<>&") & set(hostile.parts["script", "application/json"])


def test_classes_and_missing_labels(tmp_path):
    labels = np.array(["b", None, "a", "b"], dtype=object)
    classes = page_of(tmp_path, {"map": np.eye(4)[:, :2]}, labels).data["classes"]
    codes = np.frombuffer(base64.b64decode(classes["codes"]), "<u2")
    assert [classes["names"][code] for code in codes] == ["b", "missing", "a", "b"]
    assert len(classes["colors"]) == 3


def test_values(tmp_path):
    labels = np.array([0.25, np.nan, 3.5, -1.5])
    data = page_of(tmp_path, {"map": np.eye(4)[:, :2]}, labels).data
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(data["values"]["values"]), "<f4"), labels)
    assert data["classes"] is None and data["values"]["clipped"] == [True, True]


def test_names_anchor_on_points_of_their_class(tmp_path):
    maps = random_maps()
    labels = np.arange(300) % 7
    data = page_of(tmp_path, maps, labels).data
    for packed, Y in zip(data["maps"], align_maps(maps).values(), strict=True):
        for code, spot in enumerate(packed["anchors"]):
            assert np.abs(Y[labels == code] - spot).sum(axis=1).min() < 1e-9


@pytest.mark.parametrize("channels", [(), (3,), (4,)])
def test_images_decode_back(channels):
    images = np.random.default_rng(0).integers(0, 256, (2500, 20, 30, *channels), dtype=np.uint8)
    packed = pack_images(images, 2500)
    assert len(packed["sheets"]) == 2
    for index in (0, 1, packed["per_sheet"] - 1, packed["per_sheet"], 2499):
        sheet = base64.b64decode(packed["sheets"][index // packed["per_sheet"]])
        pixels = np.rint(255 * matplotlib.image.imread(io.BytesIO(sheet), format="png")).astype(np.uint8)
        row, column = divmod(index % packed["per_sheet"], packed["columns"])
        tile = pixels[20 * row : 20 * (row + 1), 30 * column : 30 * (column + 1)]
        np.testing.assert_array_equal(tile, images[index])


def test_images_of_other_dtypes_are_scaled():
    packed = pack_images(np.array([[[0.0, 16.0]], [[8.0, 4.0]]]), 2)
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(packed["sheets"][0])), format="png")
    np.testing.assert_allclose(255 * pixels[0, :4], [0, 255, 128, 64], atol=1e-3)


def test_sixty_thousand_points_take_a_few_megabytes(tmp_path):
    Y = np.random.default_rng(0).normal(size=(60_000, 2))
    start = time.process_time()
    path = write_page(tmp_path / "page.html", {"a": Y, "b": -Y, "c": Y**3}, np.arange(60_000) % 10)
    assert time.process_time() - start < 8
    assert path.stat().st_size < 1.5e6


@pytest.mark.parametrize("n", [1, 2])
def test_few_and_identical_points(tmp_path, n):
    for Y in (np.ones((n, 2)), np.arange(n)):
        data = page_of(tmp_path, {"map": Y}, ["x"] * n).data
        assert data["count"] == n
        assert np.isfinite(decode(data["maps"][0])).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maps": {"a": np.zeros((3, 2)), "b": np.zeros((4, 2))}}, "different numbers"),
        ({"maps": {"a": np.zeros((3, 3))}}, r"maps\['a'\] has 3 dimensions"),
        ({"maps": {"a": [[np.inf, 0]]}}, "NaN or infinite"),
        ({"maps": {}}, "empty"),
        ({"maps": {"1": np.zeros((3, 2)), 1: np.zeros((3, 2))}}, "the same as text"),
        ({"labels": [1, 2]}, "labels must have one entry for each of the 3 points"),
        ({"hover": ["a"]}, "hover must have one text for each of the 3 points"),
        ({"hover": "abc"}, "hover must have"),
        ({"images": np.zeros((2, 8, 8))}, "one picture for each of the 3 points"),
        ({"images": np.zeros((3, 8, 8, 2))}, "images must have shape"),
        ({"images": np.full((3, 8, 8), np.nan)}, "images hold NaN"),
        ({"captions": {"b": "text"}}, "captions name maps that are not shown"),
    ],
)
def test_rejected_arguments(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        write_page(tmp_path / "page.html", **({"maps": {"a": np.zeros((3, 2))}} | options))
    assert not (tmp_path / "page.html").exists()


def test_program_cannot_end_its_own_element():
    for file in PAGE.iterdir():
        if file.name.endswith((".js", ".css")):
            assert not re.search(r"(?i)</(script|style)|<!--", file.read_text(encoding="utf-8")), file.name


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the program")


def run_node(program):
    return subprocess.run(
        ["node", "-"], input=program, check=True, capture_output=True, encoding="utf-8", timeout=60
    ).stdout


@needs_node
def test_program_unpacks_positions_and_finds_the_nearest_point(tmp_path):
    maps = random_maps()
    packed = page_of(tmp_path, maps).data["maps"][1]
    queries = np.random.default_rng(1).uniform(-1, 1, size=(100, 2))
    program = PAGE.joinpath("data.js").read_text(encoding="utf-8")
    positions, found = json.loads(
        run_node(
            f"""{program}
            const map = {json.dumps(packed | {"anchors": []})};
            const positions = mapPositions(map);
            const grid = new Grid(positions);
            const found = {queries.tolist()}.map(([x, y]) => grid.nearest(x, y, 0.2, (i) => i % 3 > 0));
            console.log(JSON.stringify([Array.from(positions), found]));"""
        )
    )
    Y = decode(packed)
    middle, half = (Y.min(axis=0) + Y.max(axis=0)) / 2, np.ptp(Y, axis=0).max() / 2
    positions = np.reshape(positions, (-1, 2))
    np.testing.assert_allclose(positions, (Y - middle) / half, atol=1e-6)
    distances = np.linalg.norm(queries[:, None] - positions[None], axis=2)
    distances[:, ::3] = np.inf
    expected = np.where(distances.min(axis=1) <= 0.2, distances.argmin(axis=1), -1)
    assert found == expected.tolist()
    assert -1 in found and max(found) > 0


@needs_node
def test_program_is_valid(tmp_path):
    page = page_of(tmp_path, random_maps())
    program = tmp_path / "program.js"
    program.write_text(page.parts["script", None], encoding="utf-8")
    subprocess.run(["node", "--check", str(program)], check=True, capture_output=True, timeout=60)


def many_labels(n, classes):
    """Labels of which the first half names this number of classes; all others are unique."""
    return np.array([f"class {i % classes}" if i < n // 2 else f"id {i}" for i in range(n)])


def test_many_classes_become_one_that_tooltips_name(tmp_path):
    Y = np.random.default_rng(0).normal(size=(60_000, 2))
    labels = many_labels(60_000, 50)
    start = time.process_time()
    with pytest.warns(UserWarning, match="30,050 classes: the 50 largest .* '30,000 other classes'"):
        data = page_of(tmp_path, {"map": Y}, labels, hover=["text"] * 60_000).data
    assert time.process_time() - start < 2
    classes = data["classes"]
    assert len(classes["names"]) == 51 and classes["names"][-1] == "30,000 other classes"
    codes = np.frombuffer(base64.b64decode(classes["codes"]), "<u2")
    assert [classes["names"][code] for code in codes[:30_000]] == labels[:30_000].tolist()
    assert (codes[30_000:] == 50).all()
    assert data["hover"][0] == "text" and data["hover"][-1] == "id 59999\ntext"
    assert len(data["maps"][0]["anchors"]) == 50


def test_at_most_a_thousand_classes_have_names(tmp_path):
    Y = np.random.default_rng(0).normal(size=(9000, 2))
    labels = np.array([f"class {i % 3000:04d}" for i in range(9000)], object)
    labels[:20] = "class 2999"
    labels[20] = None
    with pytest.warns(UserWarning, match="3,000 classes: the 1,000 largest"):
        data = page_of(tmp_path, {"map": Y}, labels).data
    assert len(data["classes"]["names"]) == 1002
    assert data["classes"]["names"][-3:] == ["class 2999", "2,000 other classes", "missing"]
    assert data["hover"][20] == "" and "class 1999" in data["hover"]
    exactly = page_of(tmp_path, {"map": Y}, np.arange(9000) % 1000, label_kind="classes").data
    assert len(exactly["classes"]["names"]) == 1000 and exactly["hover"] is None


def test_labels_that_all_differ_are_texts(tmp_path):
    Y = np.random.default_rng(0).normal(size=(60_000, 2))
    labels = [f"id {i}" for i in range(60_000)]
    start = time.process_time()
    with pytest.warns(UserWarning, match="60,000 classes of one point each"):
        data = page_of(tmp_path, {"a": Y, "b": -Y}, labels).data
    assert time.process_time() - start < 2
    assert data["classes"] is None and data["hover"] == labels
