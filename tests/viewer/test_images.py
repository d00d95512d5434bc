"""Pictures of the points: sheets decode back to the images."""

import base64
import io

import matplotlib.image
import numpy as np
import pytest

from actup.viewer._images import pack_images
from page_file import page_of


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


def test_sheets_are_carried_by_the_page(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (3, 8, 8), dtype=np.uint8)
    page = page_of(tmp_path, np.eye(3)[:, :2], images=images)
    assert page.data["images"]["width"] == 8
    assert base64.b64decode(page.parts["script", "sheet-0"]).startswith(b"\x89PNG")
