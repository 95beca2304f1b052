"""`python -m placetui` is the `placetui` command."""

from __future__ import annotations

import sys

from placetui.cli import main

if __name__ == "__main__":
    sys.exit(main())
