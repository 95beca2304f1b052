"""Words as a command gets them: variables, arithmetic and the output of commands filled in, then split.

What only running the script would tell is `Unknown`, as is what depends on it. A variable that the script does not set
counts as unset where the script provides for that: `${GPUS:-8}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from placetui.frameworks.shell.arithmetic import NotKnownError, evaluate
from placetui.frameworks.shell.patterns import Pattern
from placetui.frameworks.shell.state import ShellState
from placetui.frameworks.shell.syntax import Parameter, ShellSyntaxError, Word, WordPart, parse_word
from placetui.frameworks.shell.values import (
    Origin,
    ScriptLine,
    Traced,
    Undecided,
    Unknown,
    is_unknown,
    joined,
    placed,
)

_MOST_CHARACTERS = 1_000_000
"""Of all words that expansions make: a few lines can ask for billions."""

_BLANKS = " \t\n"
_NAME = re.compile(r"[A-Za-z_]\w*")
_NAMED = re.compile(r"[A-Za-z_]\w*=")
_TILDE = re.compile(r"~(?:[a-z_][a-z0-9_-]*(?=/)|(?=[/:]|$))")
_HOME = parse_word("$HOME", quoted=True).parts[0]
_BRACES = re.compile(r"\{[^}]*(?:,|\.\.).*\}", re.DOTALL)
_CHANGED = re.compile(
    r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:(?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
_OF_THE_SHELL = frozenset(
    "BASH BASHOPTS BASHPID BASH_VERSION BASH_VERSINFO DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HOME "
    "HOSTNAME HOSTTYPE LINENO MACHTYPE OLDPWD OPTIND OSTYPE PATH PIPESTATUS PPID PWD RANDOM SECONDS SHELL SHELLOPTS "
    "SHLVL SRANDOM TERM UID USER".split()
)
"""Variables that are set in every shell, to values that are not known here."""


Mode: TypeAlias = Literal["quoted", "split"]
"""How an expansion stands in its word."""


class Piece(NamedTuple):
    """A part of a word, filled in."""

    text: str
    mode: Literal["literal"] | Mode
    """Whether it is split at blanks; only what is not quoted can name files."""


Pieces: TypeAlias = list[Piece | None]
"""None: one word ends here, and the next begins."""


@dataclass
class Expander:
    """Fills in words; owns the state of the shell."""

    fixed: Mapping[str, str]
    """Variables that keep their value, whatever the script assigns."""

    output_of: Callable[[WordPart], str]
    """What a command inside of `$( … )` prints."""

    state: ShellState = field(default_factory=ShellState)
    undecided: dict[str, Undecided] = field(default_factory=dict)
    script: str = ""
    """Path of the script, for `$0`."""

    file: str = ""
    """The sourced file that is being followed."""

    inline_at: int = 0
    """Line of a text that is a script itself: `bash -c`."""

    blockers: list[str] = field(default_factory=list)
    """Variables that conditions would have to know."""

    _word_line: int = 0
    _characters: int = 0

    # Words

    def text(self, word: Word, *, assigned: bool = False) -> str:
        """A word as one text: nothing is split."""
        pieces, origins, place = self._filled(word, assigned=assigned)
        made = joined([" " if piece is None else piece.text for piece in pieces])
        return placed(self._checked([made])[0], place, origins)

    def expand(self, words: Iterable[Word]) -> list[str]:
        """Words as a command gets them."""
        found: list[str] = []
        for word in words:
            pieces, origins, place = self._filled(word)
            for texts, names_files in _Fields(self._separators()).of(pieces):
                # A whole element of an array keeps its own place.
                kept = len(texts) == 1 and _is_array(word) and isinstance(texts[0], Traced) and texts[0].place.line
                made = texts[0] if kept else placed(joined(texts), place, origins)
                several = names_files or _has_braces(word)
                found.append(Unknown(made, (), None, place, origins) if several else made)
        return self._checked(found)

    def _filled(self, word: Word, *, assigned: bool = False) -> tuple[Pieces, list[Origin], ScriptLine]:
        """The pieces of a word, the variables in them, and where it stands."""
        outer, self._word_line = self._word_line, word.line or self._word_line
        place = self.place(self._word_line)
        pieces: Pieces = []
        origins: list[Origin] = []
        for part in self._with_home(word.parts, assigned=assigned):
            found = self._pieces(part)
            origins += self._origins(part, found)
            pieces += found
        self._word_line = outer
        return pieces, origins, place

    def place(self, line: int) -> ScriptLine:
        return ScriptLine(self.file, self.inline_at or line)

    def _origins(self, part: WordPart, pieces: Pieces) -> list[Origin]:
        """The variables of an expansion, and where each was set."""
        if part.kind == "arithmetic":
            names = _NAME.findall(part.text)
            found = [(name, self.state.variables[name][0]) for name in names if self.state.variables.get(name)]
        else:
            name = re.match(r"\$\{?(\w+)", part.text) if part.kind == "variable" else None
            found = [(name[1], one.text) for one in pieces[:1] if one is not None] if name else []
        origins: list[Origin] = []
        for one, value in found:
            if isinstance(value, Traced):
                elsewhere = value.place != self.place(self._word_line) and any(value.place)
                origins += [(one, value.place)] if elsewhere else []
                origins += value.origins
        return origins

    def _checked(self, made: list[str]) -> list[str]:
        self._characters += sum(map(len, made))
        if self._characters > _MOST_CHARACTERS:
            raise ShellSyntaxError("the script makes more text than can be followed")
        return made

    def _with_home(self, parts: Sequence[WordPart], *, assigned: bool = False) -> Iterator[WordPart]:
        """Parts of a word in which `~` stands for a home directory, also behind `=` and `:` of an assignment."""
        for index, part in enumerate(parts):
            if not _is_plain(part) or "~" not in part.text:
                yield part
                continue
            text, done = part.text, 0
            named = None if index or assigned else _NAMED.match(text)
            assigned = assigned or named is not None
            for found in _TILDE.finditer(text):
                start, end = found.span()
                behind_sign = assigned and (text[:start].endswith(":") or (named and start == named.end()))
                whole = text.startswith("/", end) or (assigned if end < len(text) else index == len(parts) - 1)
                if whole and (behind_sign or not (start or index)):
                    yield replace(part, text=text[done:start])
                    yield _HOME if found[0] == "~" else WordPart("command", found[0], True)  # of a user that may exist
                    done = end
            yield replace(part, text=text[done:])

    def _separators(self) -> str | None:
        """The characters of IFS; None if they are not known."""
        values = self.state.variables.get("IFS")
        if values is None or not values:
            return _BLANKS
        return None if isinstance(values[0], Unknown) else values[0]

    def split(self, text: str, most: int = 0) -> list[str]:
        """Fields of a text, at the characters of IFS; at most this many, the last with all the rest."""
        separators = self._separators()
        if separators is None or isinstance(text, Unknown):
            return [Unknown(text, ("IFS",))]
        blanks = "".join(one for one in separators if one in _BLANKS)
        text = text.strip(blanks) if blanks else text
        if not separators or not text:
            return [text] if text else []
        delimiter = _delimiter(separators)
        fields = delimiter.split(text, max(0, most - 1)) if most != 1 else [text]
        last = delimiter.split(fields[-1], 1)
        if len(last) == 2 and not last[1]:
            fields[-1] = last[0]
        return fields[:-1] if len(fields) > 1 and not fields[-1] else fields

    def _pieces(self, part: WordPart, *, operand: bool = False) -> Pieces:
        """What a part of a word stands for; text of an operand is split as well."""
        mode: Mode = "quoted" if part.quoted else "split"
        if part.kind == "text":
            return [Piece(part.text, "literal" if mode == "split" and not operand else mode)]
        if part.kind == "command":
            return [Piece(self.output_of(part), mode)]
        if part.kind == "arithmetic":
            value = self.arithmetic(part.text[2:-1] if part.text.startswith("$[") else part.text[3:-2])
            if isinstance(value, Unknown):
                value = Unknown(part.text, value.variables, value.reason)
            return [Piece(value, mode)]
        if part.parameter is None:
            return [Piece(Unknown(part.text), mode)]
        return self._parameter(part.parameter, part.text, mode)

    # Parameters

    def _parameter(self, one: Parameter, source: str, mode: Mode) -> Pieces:
        """The value of `$X`, `${X}`, `${X:-8}`, `${X[@]}` and the like."""
        name = one.name
        every = one.index if one.index in ("@", "*") else name if name in ("@", "*") else ""
        unknown = Unknown(source, (name,))
        if one.mark == "!":
            return [Piece(unknown, mode)]
        values = self.lookup(name, one.index)
        if one.mark == "#":
            unsure = values is None or is_unknown(values) or one.sign
            length = len(values or ()) if every else len((values or [""])[0])
            return [Piece(unknown if unsure else str(length), mode)]
        if one.sign:
            return self._substituted(one, source, every, values, mode)
        if values is None:
            return [Piece(Unknown(source, (name,)), mode)]
        if every:
            return self._spread(values, every, mode)
        value = values[0] if values else ""
        if isinstance(value, Unknown):
            value = Unknown(source, value.variables or (name,), value.reason)
        return [Piece(value, mode)]

    def _spread(self, values: Sequence[str], sign: str, mode: Mode) -> Pieces:
        """Several values, each a word of its own; or one word of all, for `"$*"`."""
        if sign == "*" and mode == "quoted":
            separators = self._separators()
            between = Unknown("$IFS", ("IFS",)) if separators is None else separators[:1]
            texts = [text for value in values for text in (between, value)][1:]
            return [Piece(joined(texts), mode)]
        return [piece for value in values for piece in (None, Piece(value, mode))][1:]

    def lookup(self, name: str, index: str | None = None) -> list[str] | None:
        """Values of a variable; None if it is not set here, nothing if it is known to be unset."""
        state = self.state
        if name in ("@", "*"):
            return state.parameters
        if name == "#":
            unsure = state.parameters is None or is_unknown(state.parameters)
            return None if unsure else [str(len(state.parameters or ()))]
        if name == "?":
            return None if state.status is None else [state.status]
        if name == "PWD" and state.folder is not None:
            return [state.folder]
        if name == "IFS" and name not in state.variables:
            return [_BLANKS]
        if name.isdecimal():
            number = int(name[:4])
            if not number:
                return [self.script] if self.script else [Unknown("$0", ("0",))]
            return None if state.parameters is None else _element(state.parameters, number - 1, f"${number}")
        values = state.variables.get(name)
        if name in state.opaque or (values is None and name in _OF_THE_SHELL):
            return [Unknown(f"${name}", (name,))]
        if values is None or index in (None, "@", "*"):
            return values
        position = self.arithmetic(index or "")
        if isinstance(position, Unknown):
            return [Unknown(f"${{{name}[{index}]}}", position.variables)]
        return _element(values, int(position), f"${{{name}[{index}]}}")

    def is_set(self, name: str) -> bool:
        """Whether a variable is set, as far as the script says."""
        return bool(self.state.variables.get(name)) or name in _OF_THE_SHELL

    def depends_on(self, value: Unknown) -> None:
        """A condition cannot be decided without knowing the value."""
        self.blockers += value.variables

    def _substituted(self, one: Parameter, source: str, every: str, values: list[str] | None, mode: Mode) -> Pieces:
        """`${X:-8}`, `${X:=8}`, `${X:+y}`, `${X%.*}` and their kin."""
        unknown = [value for value in values or () if isinstance(value, Unknown)]
        not_known: Pieces = [Piece(Unknown(source, (one.name,), unknown[0].reason if unknown else None), mode)]
        kind = one.sign[-1]
        if kind in "-=+?":
            if unknown and (kind == "+" or len(unknown) == len(values or ()) == 1):
                return not_known
            missing = not values or (one.sign.startswith(":") and values == [""])
            if missing is (kind == "+"):
                nothing: Pieces = [] if every == "@" else [Piece("", mode)]
                return nothing if missing else self._spread(values or [""], every, mode)
            return not_known if kind == "?" else self._default(one, mode)
        made: list[str] | None = None
        if values is not None and not unknown:
            held = values if every else values[:1] or [""]
            made = self._changed(held, one)
        return not_known if made is None else self._spread(made, every, mode)

    def _default(self, one: Parameter, mode: Mode) -> Pieces:
        if one.sign.endswith("="):
            value = self.text(one.operand)
            if one.index is not None:
                return [Piece(Unknown(one.operand.source, (one.name,)), mode)]
            self.set(one.name, [value], self.place(self._word_line), one.operand.source)
            return [Piece(value, mode)]
        parts = one.operand.parts if mode == "quoted" else tuple(self._with_home(one.operand.parts))
        return [piece for part in parts for piece in self._pieces(part, operand=True)]

    def _changed(self, values: Sequence[str], one: Parameter) -> list[str] | None:
        """Values without what a pattern matches, or with something in its place, or in other letters."""
        kind, word = one.sign, one.operand
        if kind in ("^", "^^", ",", ",,"):
            change = str.upper if kind[0] == "^" else str.lower
            if word.parts:
                return None
            return [change(value) if len(kind) == 2 else change(value[:1]) + value[1:] for value in values]
        new = self.text(one.replacement)
        if kind in ("@", ":") or isinstance(new, Unknown) or ("&" in new and "\\" in new):
            return None
        anchored = kind == "/" and word.source.startswith(("#", "%"))
        pattern = None if anchored else self.pattern(word)
        if pattern is None:
            return None
        if kind[0] != "/":
            made = [pattern.removed(value, kind) for value in values]
        else:
            made = [pattern.replaced(value, new, every=kind == "//") for value in values]
        return None if None in made else [text for text in made if text is not None]

    def pattern(self, word: Word) -> Pattern | None:
        """A word as a pattern, in which quoted parts stand for themselves; None if it is not known."""
        pieces: list[tuple[str, bool]] = []
        for part in self._with_home(word.parts):
            for piece in self._pieces(part):
                if piece is not None and isinstance(piece.text, Unknown):
                    self.depends_on(piece.text)
                    return None
                pieces.append((" ", True) if piece is None else (piece.text, piece.mode == "quoted"))
        if any(not quoted and "\\" in text for text, quoted in pieces):
            return None
        return Pattern(pieces)

    def matches(self, text: str, word: Word) -> bool | None:
        """Whether a word as a pattern matches all of a text; None if that is not known."""
        pattern = self.pattern(word)
        return None if pattern is None else pattern.matches(text)

    # Arithmetic

    def arithmetic(self, text: str) -> str:
        """The value of an expression over whole numbers."""
        expanded = self.text(parse_word(text, quoted=True))
        if isinstance(expanded, Unknown):
            self._forget_changed(expanded)
            return expanded
        reasons: list[Undecided] = []

        def look_up(name: str) -> str | None:
            values = self.lookup(name)
            if values is None or is_unknown(values[:1]):
                reasons.extend(filter(None, [self.undecided.get(name)]))
                return None
            return values[0] if values else "0"

        def assign(name: str, value: str) -> None:
            self.set(name, [value], self.place(self._word_line), value)

        try:
            return str(evaluate(expanded, look_up, assign))
        except NotKnownError as missing:
            reason: Exception = missing
        except (ValueError, ArithmeticError, RecursionError) as error:
            reason = error
        self._forget_changed(expanded)
        return Unknown(text, reason.args if isinstance(reason, NotKnownError) else (), next(iter(reasons), None))

    def _forget_changed(self, text: str) -> None:
        """After an expression without a known value, what it assigns is not known either."""
        for name in _CHANGED.findall(text):
            changed = name[0] or name[1]
            self.set(changed, [Unknown(f"${changed}", (changed,))], self.place(self._word_line), text)

    # Variables

    def set(self, name: str, values: list[str], place: ScriptLine, source: str) -> None:
        """Give a variable its values, unless it is fixed."""
        if name in self.fixed:
            return
        if name in self.state.opaque:
            values = [Unknown(f"${{{name}[@]}}", (name,))]
        kept = [one if isinstance(one, Traced) and one.place.line else placed(one, place, ()) for one in values]
        self.undecided.pop(name, None)
        if is_unknown(kept):
            reason = next((one.reason for one in kept if isinstance(one, Unknown) and one.reason), None)
            unsettled = [one for value in kept if isinstance(value, Unknown) for one in value.variables]
            self.undecided[name] = reason or Undecided(place.line, str(source), (), tuple(unsettled), place.file)
        self.state.variables[name] = kept

    def unset(self, name: str) -> None:
        """Remove a variable, an array, or one element of it."""
        array, bracket, _ = name.partition("[")
        if array in self.fixed:
            return
        if bracket:
            self.set(array, [Unknown(f"${{{array}[@]}}", (array,))], self.place(self._word_line), f"unset {name}")
        else:
            self.state.variables[array] = []


class _Fields:
    """Puts pieces together to words."""

    def __init__(self, separators: str | None) -> None:
        self._separators = separators
        self._done: list[tuple[list[str], bool]] = []
        self._texts: list[str] | None = None
        self._names_files = False

    def of(self, pieces: Pieces) -> list[tuple[list[str], bool]]:
        """Texts of each word, and whether it is a pattern for names of files."""
        for piece in pieces:
            if piece is None:
                self._end()
            elif piece.mode != "split":
                self._append(piece.text, names_files=piece.mode == "literal")
            elif isinstance(piece.text, Unknown) or self._separators is None:
                self._append(piece.text if isinstance(piece.text, Unknown) else Unknown(piece.text, ("IFS",)))
            elif self._separators:
                self._split(piece.text, _delimiter(self._separators))
            elif piece.text:
                self._append(piece.text, names_files=True)
        self._end()
        return self._done

    def _split(self, text: str, delimiter: re.Pattern[str]) -> None:
        end = 0
        for found in delimiter.finditer(text):
            if text[end : found.start()]:
                self._append(text[end : found.start()], names_files=True)
            if found[0].strip(_BLANKS) and self._texts is None:
                self._append("")
            self._end()
            end = found.end()
        if text[end:]:
            self._append(text if not end else text[end:], names_files=True)

    def _append(self, text: str, *, names_files: bool = False) -> None:
        self._texts = [*(self._texts or ()), text]
        self._names_files |= names_files and ("*" in text or "?" in text) and not isinstance(text, Unknown)

    def _end(self) -> None:
        if self._texts is not None:
            self._done.append((self._texts, self._names_files))
        self._texts, self._names_files = None, False


def _delimiter(separators: str) -> re.Pattern[str]:
    """What separates fields: blanks of IFS together, its other characters each with the blanks around it."""
    blanks = "".join(one for one in separators if one in _BLANKS)
    others = "".join(one for one in separators if one not in _BLANKS)
    around = f"[{blanks}]*" if blanks else ""
    choices = ([f"{around}[{re.escape(others)}]{around}"] if others else []) + ([f"[{blanks}]+"] if blanks else [])
    return re.compile("|".join(choices))


def _element(values: list[str], position: int, source: str) -> list[str]:
    """One of several values; what is not known before it may be more than one, or none."""
    around = values[: position + 1] if position >= 0 else values[position:]
    unknown = next((one for one in around if isinstance(one, Unknown)), None)
    if unknown is not None:
        return [Unknown(source, unknown.variables, unknown.reason)]
    return values[position:][:1] if -len(values) <= position else []


def _is_array(word: Word) -> bool:
    return len(word.parts) == 1 and word.parts[0].text.endswith(("[@]}", "[*]}"))


def _has_braces(word: Word) -> bool:
    """Whether `{1..4}` or `{a,b}` would make several words of it: which ones is not followed."""
    texts = (part.text if _is_plain(part) else "\0" for part in word.parts)
    return any(map(_is_plain, word.parts)) and _BRACES.search("".join(texts)) is not None


def _is_plain(part: WordPart) -> bool:
    return part.kind == "text" and not part.quoted
