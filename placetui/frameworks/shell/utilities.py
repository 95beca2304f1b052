"""What small programs would print: those whose output follows from their arguments and their input alone."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

_MOST_NUMBERS = 1_000


def printed(name: str, arguments: Sequence[str], given: str) -> str | None:
    """The output of a program, `given` its standard input; None if that is not known."""
    program = _PROGRAMS.get(name)
    return None if program is None else program(list(arguments), given)


def formatted(arguments: Sequence[str]) -> str | None:
    """What `printf` makes of a format and its values."""
    if not arguments:
        return None
    pattern, values = arguments[0], list(arguments[1:])
    pattern = pattern.replace("\\n", "\n").replace("\\t", "\t")
    fields = re.findall(r"%[^%]", pattern)
    if set(fields) - {"%s", "%d"} or (not fields and values):
        return None
    text = ""
    while True:
        text += re.sub(r"%[sd]", lambda _: values.pop(0) if values else "", pattern).replace("%%", "%")
        if not values:
            return text


def _echo(arguments: list[str], given: str) -> str | None:
    options = re.compile(r"-[neE]+")
    flags = ""
    while arguments and options.fullmatch(arguments[0]):
        flags += arguments.pop(0)
    text = " ".join(arguments)
    if "e" in flags:
        text = text.replace("\\n", "\n").replace("\\t", "\t")
    return text + ("" if "n" in flags else "\n")


def _dirname(arguments: list[str], given: str) -> str | None:
    paths = [one for one in arguments if one != "--"]
    if len(paths) != 1 or paths[0].startswith("-"):
        return None
    path = paths[0].rstrip("/") or paths[0][:1]
    return (posixpath.dirname(path).rstrip("/") or ("/" if path.startswith("/") else ".")) + "\n"


def _basename(arguments: list[str], given: str) -> str | None:
    words = [one for one in arguments if one != "--"]
    if not 1 <= len(words) <= 2 or words[0].startswith("-"):
        return None
    name = posixpath.basename(words[0].rstrip("/"))
    return (name.removesuffix(words[1]) if len(words) == 2 else name) + "\n"


def _real_path(arguments: list[str], given: str) -> str | None:
    paths = [one for one in arguments if not one.startswith("-")]
    return posixpath.normpath(paths[0]) + "\n" if len(paths) == 1 and paths[0].startswith("/") else None


def _translate(arguments: list[str], given: str) -> str | None:
    words = [one.replace("\\n", "\n").replace("\\t", "\t") for one in arguments]
    if words[:1] == ["-d"] and len(words) == 2:
        return None if re.search(r"\[|[^\s]-[^\s]", words[1]) else "".join(one for one in given if one not in words[1])
    if len(words) != 2 or any(len(one) != 1 for one in words):
        return None
    return given.replace(words[0], words[1])


def _count(arguments: list[str], given: str) -> str | None:
    if arguments == ["-l"]:
        return f"{given.count(chr(10))}\n"
    return f"{len(given.split())}\n" if arguments == ["-w"] else None


def _sequence(arguments: list[str], given: str) -> str | None:
    if not 1 <= len(arguments) <= 3 or not all(re.fullmatch(r"-?\d{1,9}", one) for one in arguments):
        return None
    numbers = [int(one) for one in arguments]
    begin = numbers[0] if len(numbers) > 1 else 1
    by = numbers[1] if len(numbers) == 3 else 1
    last = numbers[-1]
    if not by or abs(last - begin) // abs(by) > _MOST_NUMBERS:
        return None
    return "".join(f"{number}\n" for number in range(begin, last + (1 if by > 0 else -1), by))


_PROGRAMS: Mapping[str, Callable[[list[str], str], str | None]] = {
    "echo": _echo,
    "printf": lambda arguments, _: formatted(arguments),
    "dirname": _dirname,
    "basename": _basename,
    "realpath": _real_path,
    "readlink": _real_path,
    "tr": _translate,
    "wc": _count,
    "seq": _sequence,
    "cat": lambda arguments, given: given if not arguments else None,
}
