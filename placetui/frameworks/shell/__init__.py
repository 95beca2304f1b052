"""Reads command lines and launch scripts as a shell would, and runs nothing."""

from placetui.frameworks.shell.evaluate import Command, Script, read_script
from placetui.frameworks.shell.syntax import ShellSyntaxError
from placetui.frameworks.shell.values import SETTING, ScriptLine, Traced, Undecided, Unknown

__all__ = [
    "SETTING",
    "Command",
    "Script",
    "ScriptLine",
    "ShellSyntaxError",
    "Traced",
    "Undecided",
    "Unknown",
    "read_script",
]
