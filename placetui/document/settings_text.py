"""Settings as text: a complete file with every option explained."""

from __future__ import annotations

from collections.abc import Mapping

from .settings_file import KEYS_HELP, OPTIONS, AppSettings, value_of, written


def commented(settings: AppSettings, actions: Mapping[str, tuple[str, str]] | None = None) -> str:
    """A complete settings file: every option with its explanation, and the values of `settings`.

    Args:
        settings: What to write.
        actions: Action id → its own keys and what it does; those that keep their keys are written as comments.
    """
    lines: list[str] = []
    for option in OPTIONS:
        lines += [f"# {line}" for line in option.help]
        lines += [f"{option.name}: {value_of(settings, option)}", ""]
    lines += [f"# {line}" for line in KEYS_HELP]
    lines.append("keys:")
    listed = dict(actions or {})
    for action, keys in settings.keys.items():
        about = f"  # {listed[action][1]}" if action in listed else ""
        lines.append(f"  {written(action)}: {written(keys.split(','))}{about}")
    rest = {action: entry for action, entry in listed.items() if action not in settings.keys}
    lines += [f"  # {action}: {written(keys.split(','))}  # {about}" for action, (keys, about) in rest.items()]
    return "\n".join(lines) + "\n"
