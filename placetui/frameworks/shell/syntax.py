"""The grammar of shell scripts, as far as launch scripts use it: text in, a tree out."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

_BLANKS = re.compile(r"(?:[ \t\r]|\\\r?\n|#[^\n]*)*")
"""Also continued lines and comments."""

_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[|;&()\n]")
_LINE = re.compile(r"([^\n]*)\n?")
_ENDS_WORD = frozenset(" \t\r\n|&;()<>")
_REDIRECT = re.compile(r"\d*(?:&>>|&>|>>|>&|>\||<>|<<<|<<-|<<|<&|>|<)")
_PLAIN = {end: re.compile(rf"(?s:.)[^ \t\r\n|&;()<>'\"\\$`{end}]*") for end in ("", "}", "/}")}
"""Text of a word without quotes and expansions; inside of `${ … }`, also up to what ends an operand."""

_PLAIN_QUOTED = {end: re.compile(rf"(?s:.)[^\"\\$`{end}]*") for end in ("", "}")}
_SINGLE_QUOTED = re.compile(r"'([^']*)'")
_DOUBLE_QUOTE = re.compile(r'\$?"')
_BACKSLASH = re.compile(r"\\(?:\r?\n|(.?))", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_EQUALS = re.compile(r"(\+?)=")
_PARAMETER = re.compile(r"((?:(?!#[}:])[#!])?)(\w+|[@*#?$!-])")
_SIGN = re.compile(r":?[-=+?]|##?|%%?|//?|\^\^?|,,?|:")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")
_BACKTICKS = re.compile(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_FUNCTION = re.compile(r"([\w.:-]+)[ \t]*\([ \t]*\)")
_CONDITIONAL_OPERATOR = re.compile(r"&&|\|\||[()<>]")
_WITH_ESCAPES = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
"""Commands whose arguments are assignments."""

_MOST_NESTING = 40


class ShellSyntaxError(ValueError):
    """The text is no script: a quote or a block is opened and never closed."""


@dataclass(frozen=True, slots=True)
class WordPart:
    """A piece of a word."""

    kind: Literal["text", "variable", "command", "arithmetic"]
    text: str
    """Literal text without its quotes; the source of an expansion, `${X:-8}`."""

    quoted: bool
    parameter: Parameter | None = None
    """What a variable stands for, if that can be followed."""

    body: Block | None = None
    """The commands of `$( … )`, if they can be followed."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written, in parts."""

    parts: tuple[WordPart, ...]
    line: int = 0
    """Where it begins; 0 for one inside another."""

    @property
    def source(self) -> str:
        """Its text with expansions as written, without quotes."""
        return "".join(part.text for part in self.parts)

    @property
    def bare(self) -> str | None:
        """Its text if nothing in it is quoted or expanded: only then it can be a keyword."""
        return self.source if all(part.kind == "text" and not part.quoted for part in self.parts) else None


@dataclass(frozen=True, slots=True)
class Parameter:
    """What stands in `${ … }`."""

    name: str
    mark: str = ""
    """`#` for a length, `!` for another variable that is named."""

    index: str | None = None
    sign: str = ""
    """What happens to the value: `:-`, `%%`, `/`, `:` for a slice, `@` for what cannot be followed."""

    operand: Word = Word(())
    replacement: Word = Word(())
    """Of `${X/operand/replacement}`."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value`, `NAME+=value`, `NAME=(a b)` or `NAME[0]=value`."""

    name: str
    value: Word | tuple[Word, ...]
    append: bool
    index: str | None = None


@dataclass(slots=True)
class Redirect:
    """`> file`, `<<< text`, or a here-document, whose text follows after the line."""

    operator: str
    target: Word
    body: Word | None = None
    descriptor: str = ""

    @property
    def hides_output(self) -> bool:
        """Whether what a command prints goes elsewhere."""
        if self.descriptor not in ("", "1"):
            return False
        return self.operator in (">", ">>", ">|", "&>", "&>>") or (self.operator == ">&" and self.target.source != "1")


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments, then a command with its arguments; either may be missing."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`."""

    commands: tuple[Node, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines joined by `&&` and `||`."""

    first: Node
    rest: tuple[tuple[str, Node, str], ...]
    """The sign, what follows it, and what stands before it as written."""

    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """Commands one after the other; in a subshell their assignments are lost."""

    body: tuple[Node, ...]
    subshell: bool = False


@dataclass(frozen=True, slots=True)
class If:
    """`if`, with each `elif`; the last branch may have no condition."""

    branches: tuple[tuple[Block | None, Block], ...]
    source: tuple[str, ...]
    """The conditions as written."""

    line: int


@dataclass(frozen=True, slots=True)
class Case:
    """`case`: a word against patterns."""

    word: Word
    arms: tuple[tuple[tuple[Word, ...], Block], ...]
    """Patterns and commands."""

    line: int


@dataclass(frozen=True, slots=True)
class For:
    """`for NAME in words`; None: over the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Block
    line: int


@dataclass(frozen=True, slots=True)
class While:
    """`while` or `until`; or a `for` that counts, with a start and with a step after the body."""

    condition: Node
    body: Block
    source: str
    line: int
    until: bool = False
    start: str = ""
    step: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """The definition of a function."""

    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`(( … ))` as a command."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Redirected:
    """A block, a loop or a condition with redirections behind it."""

    body: Node
    redirects: tuple[Redirect, ...]


Node: TypeAlias = Simple | Pipeline | AndOr | Block | If | Case | For | While | Function | Arithmetic | Redirected


def parse(text: str) -> Block:
    """The tree of a script.

    Raises:
        ShellSyntaxError: a quote, an expansion or a block is not closed.
    """
    return Parser(text).script()


def parse_word(text: str, *, quoted: bool = False) -> Word:
    """All of a text as one word; with `quoted`, as between double quotes."""
    return Parser(text).whole_word(quoted)


@dataclass(slots=True)
class Parser:
    """Reads one text from its beginning to its end."""

    text: str
    position: int = 0
    _nesting: int = 0
    _line: int = 1
    _counted: int = 0
    """Up to where lines have been counted."""

    _documents: list[Redirect] = field(default_factory=list)
    """Here-documents whose text begins after this line."""

    # Commands

    def script(self) -> Block:
        body = self._list(())
        if self.position < len(self.text):  # a closing parenthesis without an opening one
            self._fail(f"`{self.text[self.position]}` closes nothing")
        return body

    def _list(self, ends: tuple[str, ...]) -> Block:
        """Commands up to one of the keywords or operators in `ends`, which is left to be read."""
        self._nesting += 1
        if self._nesting > _MOST_NESTING:
            self._fail("blocks are nested too deeply")
        found: list[Node] = []
        while True:
            self._skip_newlines()
            if self.position >= len(self.text) or self._keyword(ends) or self._operator() in (")", ";;", ";&", ";;&"):
                break
            found.append(self._and_or())
            self._accept(";", "&")
        self._nesting -= 1
        return Block(tuple(found))

    def _and_or(self) -> Node:
        self._skip_blanks()
        line, start = self.line, self.position
        first = self._pipeline()
        rest: list[tuple[str, Node, str]] = []
        while self._operator() in ("&&", "||"):
            before = self.text[start : self.position].strip()
            operator = self._accept("&&", "||")
            self._skip_newlines()
            rest.append((operator, self._pipeline(), before))
        return AndOr(first, tuple(rest), line) if rest else first

    def _pipeline(self) -> Node:
        negated = False
        while prefix := self._keyword(("!", "time")):
            self._word()
            negated ^= prefix == "!"
            if prefix == "time" and self._keyword(("-p",)):
                self._word()
        commands = [self._command()]
        while self._accept("|", "|&"):
            self._skip_newlines()
            commands.append(self._command())
        return Pipeline(tuple(commands), negated) if negated or len(commands) > 1 else commands[0]

    def _command(self) -> Node:
        self._skip_blanks()
        compound = self._compound()
        if compound is None:
            return self._simple()
        redirects = self._redirects()
        return Redirected(compound, tuple(redirects)) if redirects else compound

    def _compound(self) -> Node | None:
        if self._at("(("):
            line, start = self.line, self.position
            end = self._closing(start, "(", ")")
            if self.text.startswith("))", end - 2):
                self.position = end
                return Arithmetic(self.text[start + 2 : end - 2], line)
        if self._at("("):
            self.position += 1
            body = self._list(())
            self._expect(")")
            return Block(body.body, subshell=True)
        readers: dict[str, Callable[[], Node]] = {
            "{": self._braces,
            "if": self._if,
            "case": self._case,
            "for": self._for,
            "while": self._while,
            "until": self._while,
            "function": self._function,
        }
        if unsupported := self._keyword(("select", "coproc")):
            self._fail(f"`{unsupported}` cannot be followed")
        keyword = self._keyword(tuple(readers))
        if keyword is not None:
            return readers[keyword]()
        header = self._take(_FUNCTION)
        if header is None:
            return None
        self._skip_newlines()
        return Function(header[1], self._command())

    def _braces(self) -> Block:
        self._word()
        body = self._list(("}",))
        self._expect("}")
        return body

    def _if(self) -> If:
        line = self.line
        branches: list[tuple[Block | None, Block]] = []
        sources: list[str] = []
        keyword = "if"
        while keyword in ("if", "elif"):
            self._expect(keyword)
            start = self.position
            condition = self._list(("then",))
            sources.append(self.text[start : self.position].strip(" \t\r\n;"))
            self._expect("then")
            branches.append((condition, self._list(("elif", "else", "fi"))))
            keyword = self._keyword(("elif", "else", "fi")) or self._fail("`if` without `fi`")
        if keyword == "else":
            self._expect("else")
            branches.append((None, self._list(("fi",))))
        self._expect("fi")
        return If(tuple(branches), tuple(sources), line)

    def _case(self) -> Case:
        line = self.line
        self._expect("case")
        word = self._word()
        self._skip_newlines()
        self._expect("in")
        arms: list[tuple[tuple[Word, ...], Block]] = []
        self._skip_newlines()
        while not self._keyword(("esac",)):
            self._accept("(")
            patterns = [self._pattern()]
            while self._accept("|"):
                patterns.append(self._pattern())
            self._expect(")")
            arms.append((tuple(patterns), self._list(("esac",))))
            if not self._accept(";;") and self._operator():
                self._fail(f"`{self._operator()}` cannot be followed")
            self._skip_newlines()
        self._expect("esac")
        return Case(word, tuple(arms), line)

    def _for(self) -> Node:
        line = self.line
        self._expect("for")
        self._skip_blanks()
        if self._at("(("):
            start = self.position
            self.position = self._closing(start, "(", ")")
            source = self.text[start : self.position]
            first, condition, step = [*source[2:-2].split(";"), "", ""][:3]
            return While(Arithmetic(condition.strip() or "1", line), self._do(), source, line, start=first, step=step)
        name = self._word().source
        self._skip_newlines()
        words: list[Word] | None = None
        if self._keyword(("in",)):
            self._word()
            words = []
            while self._at_word():
                words.append(self._word())
        return For(name, None if words is None else tuple(words), self._do(), line)

    def _while(self) -> While:
        line = self.line
        until = self._word().source == "until"
        start = self.position
        condition = self._list(("do",))
        source = self.text[start : self.position].strip(" \t\r\n;")
        return While(condition, self._do(), source, line, until)

    def _do(self) -> Block:
        self._accept(";")
        self._skip_newlines()
        self._expect("do")
        body = self._list(("done",))
        self._expect("done")
        return body

    def _function(self) -> Function:
        self._word()
        name = self._word().source
        if self._accept("("):
            self._expect(")")
        self._skip_newlines()
        return Function(name, self._command())

    def _simple(self) -> Simple:
        line = self.line
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            redirects += self._redirects()
            declares = not words or words[0].bare in DECLARING
            if declares and (assignment := self._assignment()):
                assignments.append(assignment)
            elif self._at_word():
                words.append(self._word())
                if words[0].bare == "[[":
                    words += self._conditional()
            else:
                break
        if not assignments and not words and not redirects:
            self._fail(f"`{self.text[self.position]}` has no command before it" if self._rest() else "the text ends")
        return Simple(tuple(assignments), tuple(words), tuple(redirects), line)

    def _conditional(self) -> list[Word]:
        """The words of `[[ … ]]`, in which operators are words, too."""
        words: list[Word] = []
        while not words or words[-1].bare != "]]":
            self._skip_newlines()
            sign = words[-1].bare if words else None
            if sign in ("=", "==", "!=", "=~") and self._rest():
                words.append(self._pattern(expression=sign == "=~"))
            elif found := self._take(_CONDITIONAL_OPERATOR):
                words.append(Word((WordPart("text", found[0], False),)))
            elif self._at_word():
                words.append(self._word())
            else:
                self._fail("`[[` without `]]`")
        return words

    def _assignment(self) -> Assignment | None:
        self._skip_blanks()
        name = _NAME.match(self.text, self.position)
        if name is None:
            return None
        end, index = name.end(), None
        if self.text.startswith("[", end):
            try:
                end = self._closing(end, "[", "]")
            except ShellSyntaxError:
                return None  # a word with a bracket in it
            index = self.text[name.end() + 1 : end - 1]
        found = _EQUALS.match(self.text, end)
        if found is None:
            return None
        self.position = found.end()
        value: Word | tuple[Word, ...]
        if self._at("("):
            self.position += 1
            elements: list[Word] = []
            self._skip_newlines()
            while self._at_word():
                elements.append(self._word())
                self._skip_newlines()
            self._expect(")")
            value = tuple(elements)
        else:
            value = self._parts(lambda: self.text[self.position] in _ENDS_WORD, self.line)
        return Assignment(name[0], value, bool(found[1]), index)

    def _redirects(self) -> list[Redirect]:
        redirects: list[Redirect] = []
        while True:
            self._skip_blanks()
            found = _REDIRECT.match(self.text, self.position)
            if found is None or self._at("<(", ">("):
                return redirects
            self.position = found.end()
            self._skip_blanks()
            operator = found[0].lstrip("0123456789")
            target = self._word() if self._at_word() else Word(())
            redirect = Redirect(operator, target, descriptor=found[0].removesuffix(operator))
            redirects.append(redirect)
            if redirect.operator in ("<<", "<<-"):
                self._documents.append(redirect)

    # Tokens

    @property
    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self.position)
        self._counted = self.position
        return self._line

    def _rest(self) -> bool:
        return self.position < len(self.text)

    def _at(self, *texts: str) -> bool:
        return self.text.startswith(texts, self.position)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what a pattern matches here."""
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def _skip_blanks(self) -> None:
        self._take(_BLANKS)

    def _skip_newlines(self) -> None:
        while self._accept("\n"):
            pass

    def _operator(self) -> str:
        """The operator that comes next, which is not read yet."""
        self._skip_blanks()
        found = _OPERATOR.match(self.text, self.position)
        return found[0] if found else ""

    def _accept(self, *operators: str) -> str:
        """Read the next operator if it is one of these; here-documents follow after the line."""
        operator = self._operator()
        if operator not in operators:
            return ""
        self.position += len(operator)
        if operator == "\n":
            for document in self._documents:
                self._read_document(document)
            self._documents.clear()
        return operator

    def _read_document(self, document: Redirect) -> None:
        body = ""
        while self._rest() and (found := self._take(_LINE)):
            line = found[1].removesuffix("\r")
            line = line.lstrip("\t") if document.operator == "<<-" else line
            if line == document.target.source:
                break
            body += f"{line}\n"
        literal = any(part.quoted for part in document.target.parts)
        document.body = Word((WordPart("text", body, True),)) if literal else _document_word(body)

    def _keyword(self, words: tuple[str, ...]) -> str | None:
        """The keyword that comes next, if it is one of these; it is not read yet."""
        self._skip_blanks()
        for word in words:
            end = self.position + len(word)
            if self._at(word) and self.text[end : end + 1] in " \t\r\n;&|()<>":
                return word
        return None

    def _expect(self, token: str) -> None:
        self._skip_newlines()
        if not self._at(token):
            self._fail(f"`{token}` is missing")
        self.position += len(token)

    def _fail(self, reason: str) -> NoReturn:
        raise ShellSyntaxError(f"line {self.line}: {reason}")

    # Words

    def _at_word(self) -> bool:
        self._skip_blanks()
        if self._at("<(", ">("):
            return True
        return self._rest() and self.text[self.position] not in "\n|&;()<>"

    def _word(self) -> Word:
        self._skip_blanks()
        if not self._at_word():
            self._fail("a word is missing")
        line = self.line
        return self._parts(lambda: self.text[self.position] in _ENDS_WORD, line)

    def whole_word(self, quoted: bool) -> Word:
        """The whole text as one word."""
        return Word(tuple(self._double_quoted(""))) if quoted else self._parts(lambda: False)

    def _pattern(self, *, expression: bool = False) -> Word:
        """A pattern, in which parentheses may group alternatives; or a regular expression."""
        self._skip_blanks()
        depth = 0

        def ends() -> bool:
            nonlocal depth
            character = self.text[self.position]
            if character == "(" and (expression or self.text[self.position - 1] in "?*+@!"):
                depth += 1
            elif character == ")" and depth:
                depth -= 1
            else:
                return character in (" \t\r\n&;<>()" if expression else " \t\r\n|&;<>()") and not depth
            return False

        start, line = self.position, self.line
        word = self._parts(ends, line)
        return word if self.position > start else self._fail("a pattern is missing")

    def _parts(self, ends: Callable[[], bool], line: int = 0, end: Literal["", "}", "/}"] = "") -> Word:
        """A word up to where it ends; `end` are further characters at which it may."""
        parts: list[WordPart] = []
        text = self.text
        if self._at("<(", ">("):
            start = self.position
            self._substitution(start + 2)
            parts.append(WordPart("command", text[start : self.position], False))
        while self._rest() and not ends():
            start = self.position
            if text[start] == "'":
                quoted = self._take(_SINGLE_QUOTED)
                quoted = quoted or self._fail(f"a single quote is not closed: {text[start : start + 40]!r}")
                parts.append(WordPart("text", quoted[1], True))
            elif found := self._take(_WITH_ESCAPES):
                parts.append(_with_escapes(found))
            elif self._take(_DOUBLE_QUOTE):
                parts += self._double_quoted('"')
            elif found := self._take(_BACKSLASH):
                parts += [] if found[1] is None else [WordPart("text", found[1] or "\\", True)]
            elif text[start] in "$`" and (expansion := self._expansion(False)):
                parts.append(expansion)
            else:
                self._take(_PLAIN[end])
                parts.append(WordPart("text", text[start : self.position], False))
        return Word(tuple(parts), line)

    def _double_quoted(self, end: Literal['"', "}", ""]) -> list[WordPart]:
        """What stands between double quotes, up to a brace or to the end of the text; expansions in it stay."""
        brace: Literal["}", ""] = "}" if end == "}" else ""
        parts: list[WordPart] = []
        begin = self.position
        text = self.text
        while self._rest():
            start = self.position
            if text[start] == end:
                self.position += 1
                return parts or [WordPart("text", "", True)]
            if text[start] == "\\" and start + 1 < len(text):
                following = text[start + 1]
                escaped = following if following in f'"\\$`{brace}' else f"\\{following}"
                parts.append(WordPart("text", "" if following == "\n" else escaped, True))
                self.position += 2
            elif text[start] in "$`" and (expansion := self._expansion(True)):
                parts.append(expansion)
            elif text[start] == '"' and brace:  # quotes between quotes only vanish
                self.position += 1
                parts += self._double_quoted('"')
            else:
                self._take(_PLAIN_QUOTED[brace])
                parts.append(WordPart("text", text[start : self.position], True))
        if end:
            opened = "`{`" if brace else "a double quote"
            self._fail(f"{opened} is not closed: {text[begin - 1 : begin + 39]!r}")
        return parts

    def _expansion(self, quoted: bool) -> WordPart | None:
        """What begins with `$` or a backtick here; None for a `$` that is only a character."""
        text, start = self.text, self.position
        if text.startswith("${", start):
            parameter = self._parameter(quoted)
            return WordPart("variable", text[start : self.position], quoted, parameter)
        if text.startswith(("$[", "$((", "$("), start):
            opens, closes = ("[", "]") if text[start + 1] == "[" else ("(", ")")
            if opens == "[" or text.startswith("((", start + 1):
                self.position = self._closing(start + 1, opens, closes)
                if opens == "[" or text.startswith("))", self.position - 2):
                    return WordPart("arithmetic", text[start : self.position], quoted)
            body = self._substitution(start + 2)  # `$((` is also how a subshell inside `$( … )` begins
            return WordPart("command", text[start : self.position], quoted, body=body)
        if text[start] == "`":
            return self._backticks(quoted)
        found = self._take(_VARIABLE)
        return WordPart("variable", found[0], quoted, Parameter(found[0][1:])) if found else None

    def _backticks(self, quoted: bool) -> WordPart:
        found = self._take(_BACKTICKS) or self._fail("a backtick is not closed")
        inner = re.sub(r"\\([`\\$\"])" if quoted else r"\\([`\\$])", r"\1", found[0][1:-1])
        body = None
        with suppress(ShellSyntaxError):  # it is an error only when it is followed
            body = Parser(inner, _nesting=self._nesting + 1).script()
        return WordPart("command", f"`{inner}`", quoted, body=body)

    def _substitution(self, start: int) -> Block | None:
        """Read a command up to its closing bracket; it may hold comments, documents and patterns."""
        inner = Parser(self.text, start, self._nesting + 1, self.line, self.position)
        if self._nesting < _MOST_NESTING:
            with suppress(ShellSyntaxError):  # it is an error only when it is followed
                body = inner._list(())
                inner._expect(")")
                self.position = inner.position
                return body
        self.position = self._closing(start - 1, "(", ")")
        return None

    def _parameter(self, quoted: bool) -> Parameter | None:
        """What stands in `${ … }`: a plain `{` inside opens nothing."""
        self.position += 2
        start = self.position
        found = self._take(_PARAMETER)
        mark, name = found.groups() if found else ("", "")
        index = None
        if name and self._at("["):
            end = self._closing(self.position, "[", "]")
            index = self.text[self.position + 1 : end - 1]
            self.position = end
        found = self._take(_SIGN)
        sign = found[0] if found else "" if self._at("}") else "@"
        replacement = Word(())
        if quoted and sign[-1:] in ("-", "=", "+", "?"):
            operand = Word(tuple(self._double_quoted("}")))
        else:
            operand = self._operand("/}" if sign.startswith("/") else "}")
            if self._at("/"):
                self.position += 1
                replacement = self._operand("}")
            if not self._at("}"):
                self.position = start
                self._fail(f"`{{` is not closed: {self.text[start - 2 : start + 38]!r}")
            self.position += 1
        return Parameter(name, mark, index, sign, operand, replacement) if name else None

    def _operand(self, end: Literal["}", "/}"]) -> Word:
        """A word inside of `${ … }`, up to what ends it; a slash at its beginning does not."""
        start = self.position
        return self._parts(lambda: self.text[self.position] in end[-1 if self.position == start else 0 :], end=end)

    def _closing(self, position: int, opens: str, closes: str) -> int:
        """The place after the bracket that closes the one at `position`, quotes passed over."""
        start = position
        depth = 0
        quotes = False
        text = self.text
        while position < len(text):
            character = text[position]
            if character == "\\":
                position += 1
            elif character == '"':
                quotes = not quotes
            elif character == "'" and not quotes:
                position = text.find("'", position + 1)
                if position < 0:
                    break
            elif character == opens:
                depth += 1
            elif character == closes:
                depth -= 1
                if not depth:
                    return position + 1
            position += 1
        return self._fail(f"`{opens}` is not closed: {text[start : start + 40]!r}")


def _with_escapes(found: re.Match[str]) -> WordPart:
    """`$'…'`; one with rare escapes is not known, as the output of a command is not."""
    letters = re.findall(r"\\(.)", found[1], re.DOTALL)
    if set(letters) - _ESCAPES.keys():
        return WordPart("command", found[0], True)
    return WordPart("text", re.sub(r"(?s)\\(.)", lambda one: _ESCAPES[one[1]], found[1]), True)


def _document_word(body: str) -> Word:
    try:
        return parse_word(body, quoted=True)
    except ShellSyntaxError:
        return Word((WordPart("text", body, True),))
