"""`$(( … ))`: whole numbers as a shell computes them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Number: TypeAlias = Callable[[], int]
"""A part of an expression: computes its value when it is called, so that a part can be left out."""

LookUp: TypeAlias = Callable[[str, int | None], str | None]
Assign: TypeAlias = Callable[[str, int | None, str], None]

_TOKEN = re.compile(
    r"\s*(\d+#\w+|0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*"
    r"|\*\*|<<=|>>=|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^]=|[<>=!]=|[-+*/%<>=!~?:(),&|^\[\]])"
)
_MOST_BITS = 63


class NotKnownError(Exception):
    """A name in an expression has no known value; its argument is the name."""


def _divide(left: int, right: int) -> int:
    """As C does: towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _limited(compute: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """A power or a shift, which could take all memory."""

    def value(left: int, right: int) -> int:
        if not 0 <= right <= _MOST_BITS:
            raise ValueError
        return compute(left, right)

    return value


_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %", "**")
_STRENGTH = {sign: strength for strength, signs in enumerate(_LEVELS, 1) for sign in signs.split()}
"""How tightly each operator binds."""

_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<<": _limited(operator.lshift),
    ">>": _limited(operator.rshift),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": lambda left, right: left - right * _divide(left, right),
    "**": _limited(operator.pow),
}
_UNARY: Mapping[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "!": operator.not_,
    "~": operator.invert,
}


def evaluate(text: str, look_up: LookUp, assign: Assign) -> int:
    """The value of an expression.

    Args:
        text: the expression, `$` already expanded.
        look_up: gives the value of a variable or of an element of it, None if it is not known.
        assign: is called for `X=1`, `X+=1`, `X++`, `A[1]=2`.

    Raises:
        NotKnownError: a variable has no known value.
        ValueError, ArithmeticError, RecursionError: it is no expression that has a value.
    """
    return _Parser(text, look_up, assign).whole()()


def _computed(sign: str, left: Number, right: Number) -> Number:
    if sign == "&&":
        return lambda: int(bool(left() and right()))
    if sign == "||":
        return lambda: int(bool(left() or right()))

    def value() -> int:
        found = int(_BINARY[sign](left(), right()))
        if found.bit_length() > _MOST_BITS:
            raise OverflowError
        return found

    return value


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable, or an element of an array."""

    name: str
    index: Number | None
    look_up: LookUp
    assign: Assign

    def __call__(self) -> int:
        text = self.look_up(self.name, self._position())
        if text is None:
            raise NotKnownError(self.name)
        return evaluate(text, self.look_up, self.assign)

    def assigned(self, number: Number, *, then_add: int = 0) -> Number:
        """An assignment; its value is the number, the variable may get one more or less."""

        def value() -> int:
            found = number()
            self.assign(self.name, self._position(), str(found + then_add))
            return found

        return value

    def _position(self) -> int | None:
        return None if self.index is None else self.index()


class _Parser:
    def __init__(self, text: str, look_up: LookUp, assign: Assign) -> None:
        self._tokens: list[str] = []
        self._variables = look_up, assign
        position = 0
        text = text.rstrip()
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise ValueError(text)
            self._tokens.append(found[1])
            position = found.end()
        self._tokens.reverse()

    def whole(self) -> Number:
        found = self._comma() if self._tokens else lambda: 0
        if self._tokens:
            raise ValueError
        return found

    @property
    def _next(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _takes(self, *signs: str) -> str:
        """The next sign if it is one of these, which is then read."""
        return self._tokens.pop() if self._next in signs else ""

    def _inside(self, closes: str) -> Number:
        found = self._comma()
        if not self._takes(closes):
            raise ValueError
        return found

    def _comma(self) -> Number:
        parts = [self._assignment()]
        while self._takes(","):
            parts.append(self._assignment())
        return lambda: [part() for part in parts][-1]

    def _assignment(self) -> Number:
        left = self._choice()
        sign = self._next
        if not sign.endswith("=") or sign in _BINARY:
            return left
        if not isinstance(left, _Variable):
            raise ValueError
        self._tokens.pop()
        right = self._assignment()
        return left.assigned(right if sign == "=" else _computed(sign[:-1], left, right))

    def _choice(self) -> Number:
        condition = self._binary(1)
        if not self._takes("?"):
            return condition
        first = self._assignment()
        if not self._takes(":"):
            raise ValueError
        other = self._assignment()
        return lambda: first() if condition() else other()

    def _binary(self, least: int) -> Number:
        left = self._unary()
        while (strength := _STRENGTH.get(self._next, 0)) >= least:
            sign = self._tokens.pop()
            left = _computed(sign, left, self._binary(strength + (sign != "**")))
        return left

    def _unary(self) -> Number:
        token = self._tokens.pop() if self._tokens else ""
        if token[:1].isdecimal():
            number = _number(token)
            return lambda: number
        if token.isidentifier():
            variable = _Variable(token, self._inside("]") if self._takes("[") else None, *self._variables)
            step = self._takes("++", "--")
            return variable.assigned(variable, then_add=1 if step == "++" else -1) if step else variable
        if token == "(":
            return self._inside(")")
        operand = self._unary() if token in ("++", "--") or token in _UNARY else None
        if isinstance(operand, _Variable) and token in ("++", "--"):
            return operand.assigned(_computed(token[0], operand, lambda: 1))
        if operand is None or token not in _UNARY:
            raise ValueError
        return lambda: int(_UNARY[token](operand()))


def _number(text: str) -> int:
    if len(text) > _MOST_BITS:
        raise ValueError
    base, sign, digits = text.partition("#")
    if sign:
        return int(digits, int(base))
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    return int(text, 8) if len(text) > 1 and text[0] == "0" else int(text)
