"""The file: YAML text with positions. The only part of placetui that knows YAML."""

from __future__ import annotations

from placetui.document.document import Document
from placetui.document.planning import PlanRequest, load, plan_document
from placetui.document.report import DocumentError
from placetui.document.storage.files import FileText, read_text

__all__ = ["Document", "DocumentError", "FileText", "PlanRequest", "load", "plan_document", "read_text"]
