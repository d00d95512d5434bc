"""Run the command line with ``python -m actup``."""

import sys

from actup._cli import program

sys.exit(program())
