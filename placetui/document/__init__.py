"""The file: YAML text with positions. The only part of placetui that knows YAML."""

from __future__ import annotations

from .document import Document, read_mapping
from .files import FileText, read_text
from .planning import PlanRequest, load, plan_document
from .report import DocumentError

__all__ = [
    "Document",
    "DocumentError",
    "FileText",
    "PlanRequest",
    "load",
    "plan_document",
    "read_mapping",
    "read_text",
]
