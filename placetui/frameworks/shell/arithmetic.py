"""`$(( … ))`: whole numbers as a shell computes them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Tree: TypeAlias = tuple[Any, ...]
LookUp: TypeAlias = Callable[[str, int | None], str | None]
Assign: TypeAlias = Callable[[str, int | None, str], None]

_TOKEN = re.compile(
    r"\s*(?:(\d+#\w+|0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)"
    r"|(\*\*|<<=|>>=|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^]=|[<>=!]=|[-+*/%<>=!~?:(),&|^\[\]]))"
)
_MOST_DEPTH = 60
_MOST_BITS = 63


class NotKnownError(Exception):
    """A name in an expression has no known value; its argument is the name."""


def _divide(left: int, right: int) -> int:
    """As C does: towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _power(left: int, right: int) -> int:
    if right < 0 or right > _MOST_BITS:
        raise ValueError
    return int(left**right)


def _shift(left: int, right: int) -> int:
    if not 0 <= right < _MOST_BITS:
        raise ValueError
    return left << right


def _shift_right(left: int, right: int) -> int:
    if not 0 <= right < _MOST_BITS:
        raise ValueError
    return left >> right


_BINARY: Mapping[str, tuple[int, Callable[[int, int], int]]] = {
    "|": (3, operator.or_),
    "^": (4, operator.xor),
    "&": (5, operator.and_),
    "==": (6, operator.eq),
    "!=": (6, operator.ne),
    "<": (7, operator.lt),
    "<=": (7, operator.le),
    ">": (7, operator.gt),
    ">=": (7, operator.ge),
    "<<": (8, _shift),
    ">>": (8, _shift_right),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, _divide),
    "%": (10, lambda left, right: left - right * _divide(left, right)),
    "**": (12, _power),
}
"""How tightly each binds, and what it computes."""

_LOGICAL = {"||": 1, "&&": 2}
_UNARY: Mapping[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "!": lambda number: int(not number),
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
        ValueError, ArithmeticError: it is no expression that has a value.
    """
    return _Evaluation(look_up, assign).value(_Parser(text).whole())


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise ValueError(text)
            number, name, sign = found.groups()
            self._tokens.append(("number", number) if number else ("name", name) if name else ("sign", sign))
            position = found.end()
        self._index = 0
        self._depth = 0

    def whole(self) -> Tree:
        if not self._tokens:
            return ("number", 0)
        tree = self._comma()
        if self._index < len(self._tokens):
            raise ValueError
        return tree

    def _sign(self) -> str | None:
        kind, text = self._tokens[self._index] if self._index < len(self._tokens) else ("", "")
        return text if kind == "sign" else None

    def _take(self, sign: str) -> None:
        if self._sign() != sign:
            raise ValueError
        self._index += 1

    def _comma(self) -> Tree:
        tree = self._assignment()
        while self._sign() == ",":
            self._index += 1
            tree = ("then", tree, self._assignment())
        return tree

    def _assignment(self) -> Tree:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise ValueError
        left = self._choice()
        sign = self._sign()
        if sign is not None and sign.endswith("=") and sign not in ("==", "!=", "<=", ">="):
            if left[0] != "name":
                raise ValueError
            self._index += 1
            right = self._assignment()
            left = ("assign", left, right if sign == "=" else ("binary", sign[:-1], left, right))
        self._depth -= 1
        return left

    def _choice(self) -> Tree:
        condition = self._binary(1)
        if self._sign() != "?":
            return condition
        self._index += 1
        first = self._assignment()
        self._take(":")
        return ("choose", condition, first, self._assignment())

    def _binary(self, least: int) -> Tree:
        left = self._unary()
        while (sign := self._sign()) is not None:
            strength = _LOGICAL.get(sign) or (_BINARY[sign][0] if sign in _BINARY else 0)
            if not strength or strength < least:
                break
            self._index += 1
            right = self._binary(strength if sign == "**" else strength + 1)
            left = ("logical" if sign in _LOGICAL else "binary", sign, left, right)
        return left

    def _unary(self) -> Tree:
        self._depth += 1
        if self._depth > _MOST_DEPTH or self._index >= len(self._tokens):
            raise ValueError
        kind, text = self._tokens[self._index]
        self._index += 1
        tree: Tree
        if kind == "number":
            tree = ("number", _number(text))
        elif kind == "name":
            tree = ("name", text, self._element())
            if self._sign() in ("++", "--"):
                tree = ("after", tree, 1 if self._sign() == "++" else -1)
                self._index += 1
        elif text in ("++", "--"):
            target = self._unary()
            if target[0] != "name":
                raise ValueError
            tree = ("assign", target, ("binary", text[0], target, ("number", 1)))
        elif text == "(":
            tree = self._comma()
            self._take(")")
        elif text in _UNARY:
            tree = ("unary", text, self._unary())
        else:
            raise ValueError
        self._depth -= 1
        return tree

    def _element(self) -> Tree | None:
        """The position in brackets behind the name of an array."""
        if self._sign() != "[":
            return None
        self._index += 1
        tree = self._comma()
        self._take("]")
        return tree


class _Evaluation:
    def __init__(self, look_up: LookUp, assign: Assign) -> None:
        self._look_up = look_up
        self._assign = assign
        self._depth = 0

    def value(self, tree: Tree) -> int:
        kind = tree[0]
        if kind == "number":
            return int(tree[1])
        if kind == "name":
            return self._variable(tree)
        if kind in ("assign", "after"):
            found = self.value(tree[2]) if kind == "assign" else self._variable(tree[1])
            _, name, index = tree[1]
            position = None if index is None else self.value(index)
            self._assign(name, position, str(found + (tree[2] if kind == "after" else 0)))
            return found
        if kind == "unary":
            return _UNARY[tree[1]](self.value(tree[2]))
        if kind == "choose":
            return self.value(tree[2] if self.value(tree[1]) else tree[3])
        if kind == "then":
            self.value(tree[1])
            return self.value(tree[2])
        left = self.value(tree[2])
        if kind == "logical":
            if bool(left) is (tree[1] == "||"):
                return int(bool(left))
            return int(bool(self.value(tree[3])))
        found = int(_BINARY[tree[1]][1](left, self.value(tree[3])))
        if found.bit_length() > _MOST_BITS:
            raise OverflowError
        return found

    def _variable(self, tree: Tree) -> int:
        _, name, index = tree
        text = self._look_up(name, None if index is None else self.value(index))
        if text is None:
            raise NotKnownError(name)
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise ValueError
        found = self.value(_Parser(text).whole())
        self._depth -= 1
        return found


def _number(text: str) -> int:
    if len(text) > _MOST_BITS:
        raise ValueError
    base, sign, digits = text.partition("#")
    if sign:
        return int(digits, int(base))
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    return int(text, 8) if len(text) > 1 and text[0] == "0" else int(text)
