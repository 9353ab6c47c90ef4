"""`python -m sentencode` is the command `sentencode`."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main())
