"""Reads a page back: its tags, texts and security policy, and its data as the browser unpacks them."""

import base64
import json
import zlib
from html.parser import HTMLParser

import numpy as np

from actup.viewer import write_page


class PageFile(HTMLParser):
    """Every tag with its attributes, the text of title, heading, style and program, and the data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.parts, self.open = [], {}, None
        self.feed(text)
        self.close()
        self.data = json.loads(self.parts["script", "data"])

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.open = (tag, attributes.get("id")) if tag in ("script", "style", "title", "h1") else None
        if self.open:
            self.parts[self.open] = ""

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, text):
        if self.open:
            self.parts[self.open] += text

    def policy(self):
        metas = [attributes for tag, attributes in self.tags if tag == "meta"]
        (content,) = [
            meta["content"] for meta in metas if meta.get("http-equiv") == "Content-Security-Policy"
        ]
        return dict(rule.strip().split(" ", 1) for rule in content.split(";"))

    def blob(self, number):
        return zlib.decompress(base64.b64decode(self.parts["script", f"blob-{number}"]), -zlib.MAX_WBITS)

    def array(self, reference):
        planes = np.frombuffer(self.blob(reference["blob"]), np.uint8)
        dtype = np.dtype(f"<{reference['type']}")
        return np.ascontiguousarray(planes.reshape(dtype.itemsize, -1).T).view(dtype)[:, 0]

    def map(self, number=0):
        packed = self.data["maps"][number]
        axes = [
            step_values(knots)[self.array(packed[axis])]
            for knots, axis in zip(packed["knots"], "xy", strict=True)
        ]
        return np.stack(axes, axis=1)

    def column(self, number=0):
        return self.data["columns"][number]

    def class_names(self, number=0):
        """The class of every point, by name."""
        column = self.column(number)
        return [column["names"][code] for code in self.array(column["codes"])]

    def texts(self, number=0):
        packed = self.data["texts"][number]
        whole = self.blob(packed["text"]["blob"]).decode("utf-8").encode("utf-16-le")
        ends = 2 * np.cumsum(self.array(packed["lengths"]), dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]])
        return [whole[start:end].decode("utf-16-le") for start, end in zip(starts, ends, strict=True)]


def step_values(knots):
    """The value of each of the 65,536 steps: even within the bulk, and on either side of it."""
    lowest, low, high, highest = knots
    first, last = 4096 * (lowest < low), 65535 - 4096 * (highest > high)
    parts = [np.linspace(lowest, low, first + 1)[:-1], np.linspace(low, high, last - first + 1)]
    return np.concatenate([*parts, np.linspace(high, highest, 65535 - last + 1)[1:]])


def page_of(tmp_path, *arguments, **options):
    """Write a page and read it back."""
    return PageFile(write_page(tmp_path / "page.html", *arguments, **options).read_text(encoding="utf-8"))
