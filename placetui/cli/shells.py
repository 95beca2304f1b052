"""Completion scripts. They are complete in themselves: pressing tab never starts Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from placetui.cli.grammar import Command, Word


def bash(commands: Mapping[str, Command]) -> str:
    """For bash."""
    names = " ".join(name for name in commands if name)
    options = _cases((name, _words(command)) for name, command in commands.items())
    lists = _cases((name, _places(command)) for name, command in commands.items())
    files = " ".join(f'"{name}"' for name, command in commands.items() if command.takes_files)
    values = "\n".join(
        f"    {key}) {_bash_value(word)} ;;" for key, word in _values(commands) if word.is_file or word.choices
    )
    free = "|".join(key for key, word in _values(commands) if not (word.is_file or word.choices))
    return f"""\
# Completion of placetui for bash: put it where bash looks, or `source` it.
_placetui_files() {{
  local IFS=$'\\n'
  COMPREPLY+=($(compgen -f -- "$1"))
}}
_placetui() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command="" options="" words="" name
  COMPREPLY=()
  for name in {names}; do
    if [[ ${{COMP_WORDS[1]}} == "$name" && $COMP_CWORD -gt 1 ]]; then command=$name; fi
  done
  case "$command $before" in
{values}
    {free}) return ;;
  esac
  case "$command" in
{_indent("options", options)}
  esac
  case "$command" in
{_indent("words", lists)}
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then words="$words {names}"; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  for name in {files}; do
    if [[ $command == "$name" ]]; then _placetui_files "$word"; fi
  done
}}
complete -o filenames -o bashdefault -F _placetui placetui
"""


def zsh(commands: Mapping[str, Command]) -> str:
    """For zsh."""
    described = "\n".join(
        f"    {shlex.quote(f'{name}:{_zsh_text(command.summary)}')}" for name, command in commands.items() if name
    )
    cases = "\n".join(
        f"    {name}) _arguments -s -S {' '.join(_zsh_word(word) for word in (*command.options, *command.places))} ;;"
        for name, command in commands.items()
        if name
    )
    own = " ".join(_zsh_word(word) for word in commands[""].options)
    return f"""\
#compdef placetui
# Completion of placetui for zsh: a file named _placetui in a directory of $fpath.
_placetui() {{
  local -a commands
  commands=(
{described}
  )
  if (( CURRENT == 2 )) && [[ ${{words[2]}} != -* ]]; then
    _describe -t commands command commands
    _files
    return
  fi
  local command=${{words[2]}}
  if (( $+commands[(r)$command:*] )); then
    shift words
    (( CURRENT-- ))
  else
    command=""
  fi
  case $command in
{cases}
    *) _arguments -s -S {own} '*:FILE:_files' ;;
  esac
}}
# Found in $fpath it is this function itself; sourced it is a script.
if [[ $funcstack[1] == _placetui ]]; then _placetui "$@"; else compdef _placetui placetui; fi
"""


def fish(commands: Mapping[str, Command]) -> str:
    """For fish."""
    names = " ".join(name for name in commands if name)
    lines = ["# Completion of placetui for fish: a file in ~/.config/fish/completions.", "complete -c placetui -f"]
    nobody = f"not __fish_seen_subcommand_from {names}"
    for name, command in commands.items():
        when = f"__fish_seen_subcommand_from {name}" if name else nobody
        if name:
            lines.append(f"complete -c placetui -n {_fish(nobody)} -a {name} -d {_fish(command.summary)}")
        lines += [f"complete -c placetui -n {_fish(when)} {_fish_word(word)}" for word in command.options]
        for word in command.places:
            if word.choices:
                lines.append(f"complete -c placetui -n {_fish(when)} -a {_fish(' '.join(word.choices))}")
            elif word.is_file:
                lines.append(f"complete -c placetui -n {_fish(when)} -F")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _values(commands: Mapping[str, Command]) -> Iterator[tuple[str, Word]]:
    """Every option that takes a value, as bash sees it: the command, and the word before."""
    for name, command in commands.items():
        for word in command.options:
            if word.value:
                yield "|".join(f'"{name} {option}"' for option in word.names), word


def _bash_value(word: Word) -> str:
    if not word.choices:
        return '_placetui_files "$word"; return'
    return f'COMPREPLY=($(compgen -W "{" ".join(word.choices)}" -- "$word")); return'


def _cases(lists: Iterator[tuple[str, str]]) -> str:
    return "\n".join(f'"{name}") {text}' for name, text in lists if text)


def _indent(variable: str, cases: str) -> str:
    return re.sub(r'^("[^"]*"\)) (.*)$', rf'    \1 {variable}="\2" ;;', cases, flags=re.MULTILINE)


def _words(command: Command) -> str:
    return " ".join(name for word in command.options for name in word.names)


def _places(command: Command) -> str:
    return " ".join(choice for word in command.places for choice in word.choices)


def _zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _zsh_word(word: Word) -> str:
    action = f"({' '.join(word.choices)})" if word.choices else "_files" if word.is_file else " "
    value = f":{_zsh_text(word.value)}:{action}" if word.value else ""
    if not word.names:
        return shlex.quote(f"{'*' if word.many else ''}{value}")
    text = f"[{_zsh_text(word.help)}]{value}"
    return " ".join(shlex.quote(f"{'*' if word.many else ''}{name}{text}") for name in word.names)


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_word(word: Word) -> str:
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in word.names]
    if word.choices:
        parts.append(f"-x -a {_fish(' '.join(word.choices))}")
    elif word.value:
        parts.append("-r -F" if word.is_file else "-x")
    return " ".join([*parts, f"-d {_fish(word.help)}"])
