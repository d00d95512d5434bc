"""``python -m actup``: the command line."""

import sys

from actup.cli import main

sys.exit(main())
