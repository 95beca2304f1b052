"""What a user sets for the whole application, and what it remembers from one run to the next."""

from __future__ import annotations

from placetui.settings.config_file import AppSettings, commented, read_settings
from placetui.settings.state import State

__all__ = ["AppSettings", "State", "commented", "read_settings"]
