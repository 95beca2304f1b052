"""Exit codes are an interface."""

from __future__ import annotations

FINE = 0
PROBLEMS = 1
"""Problems found, or differences, or drift."""

USAGE = 2
"""Wrong usage or a file that cannot be read."""

CLUSTER = 3
"""The cluster or its hardware failed."""

INTERRUPTED = 130
