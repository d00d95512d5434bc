"""``python -m actup``: the command line."""

import sys

from actup._cli import main

sys.exit(main())
