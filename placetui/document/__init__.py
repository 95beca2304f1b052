"""The file: YAML text with positions. The only part of placetui that knows YAML."""

from __future__ import annotations

from .document import Document, read_mapping
from .errors import DocumentError
from .files import FileText, read_text
from .overrides import parse_override, with_overrides
from .planning import Wishes, load, plan_document, read_cluster_option

__all__ = [
    "Document",
    "DocumentError",
    "FileText",
    "Wishes",
    "load",
    "parse_override",
    "plan_document",
    "read_cluster_option",
    "read_mapping",
    "read_text",
    "with_overrides",
]
