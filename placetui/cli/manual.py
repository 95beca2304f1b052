"""The man page, from the parsers of all commands: `make man`, or `python -m placetui.cli.manual`."""

from __future__ import annotations

from collections.abc import Iterator

from placetui import __version__
from placetui.cli.grammar import Command, Word, grammar

EXITS = (
    ("0", "fine"),
    ("1", "problems found, or differences, or drift"),
    ("2", "wrong usage, or a file that cannot be read; also if a confirmation is needed and there is no terminal"),
    ("3", "the cluster or its hardware failed"),
    ("130", "interrupted"),
)

ENVIRONMENT = (
    ("RAY_ADDRESS", "the cluster, where no --address names one; `local`: look for none"),
    ("NO_COLOR", "if it is set, nothing is coloured"),
    ("PYTHONPATH", "where the ranks that `up` starts look for worker classes, too"),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "where the files below are, instead of in your home directory"),
)

FILES = (
    ("~/.config/placetui/config.yaml", "your settings; `placetui config print` prints one to start from"),
    ("~/.config/placetui/themes/", "your own themes"),
    ("~/.local/state/placetui/", "what is remembered, recovery files, and logs of child processes"),
)


def page() -> str:
    """In the language of man."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    commands = grammar()
    yield f'.TH PLACETUI 1 "" "placetui {__version__}" "User Commands"'
    yield from (".SH NAME", "placetui \\- see, check and launch which process sits on which GPU of a Ray cluster")
    yield ".SH SYNOPSIS"
    yield "\n.PP\n".join("\n.br\n".join(map(_text, command.usage.splitlines())) for command in commands.values())
    yield ".SH DASHBOARD"
    yield from _command(commands[""])
    yield ".SH COMMANDS"
    for name, command in commands.items():
        if name:
            yield f'.SS "{name}"'
            yield from _command(command)
    yield ".SH EXIT STATUS"
    yield from _table(EXITS)
    yield ".SH ENVIRONMENT"
    yield from _table(ENVIRONMENT)
    yield ".SH FILES"
    yield from _table(FILES)


def _command(command: Command) -> Iterator[str]:
    yield _text(command.description)
    for word in (*command.places, *command.options):
        if word.names or word.help or word.choices:
            yield from (".TP", f"\\fB{_text(_heading(word))}\\fR", _text(word.help) or "\\&")


def _heading(word: Word) -> str:
    names = ", ".join(word.names)
    return f"{names} {word.value}".strip()


def _table(rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, text in rows:
        yield from (".TP", f"\\fB{_text(name)}\\fR", _text(text))


def _text(text: str) -> str:
    """Escaped: a backslash, a dash that is one, and a line that would begin with a command."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("`", "\\(ga")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    print(page(), end="")
