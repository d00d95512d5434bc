"""Read files of many kinds into one record: ``read_tables``."""

from actup._cli.files.formats import FORMATS, ReadingHints, read_tables
from actup._cli.files.table import Table

__all__ = ["FORMATS", "ReadingHints", "Table", "read_tables"]
