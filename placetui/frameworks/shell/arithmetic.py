"""`$(( … ))`: whole numbers, as far as launch scripts compute with them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

LookUp: TypeAlias = Callable[[str], str | None]
Assign: TypeAlias = Callable[[str, str], None]

_MOST_BITS = 63
_MOST_CHARACTERS = 500
_MOST_CHAIN = 20
"""Variables that hold the name of another one."""

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\s*([-+*/%]?)=(?!=)(.+)", re.DOTALL)
_STEP = re.compile(r"(\+\+|--)?\s*([A-Za-z_]\w*)\s*(\+\+|--)?")
_EXPRESSION = re.compile(r"(?:[A-Za-z_]\w*|(?:0|[1-9]\d*)\b|&&|\|\||[<>=!]=|[-+*/%<>()]|[ \t\r\n])*", re.ASCII)
_NO_OPERATOR = re.compile(r"//|\+\+|--|\*\*")
"""What Python reads in another way."""


class NotKnownError(Exception):
    """A name in an expression has no known value; its argument is the name."""


def _divide(left: int, right: int) -> int:
    """As C does: towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_OPERATORS: Mapping[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.Mod: lambda left, right: left - right * _divide(left, right),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(text: str, look_up: LookUp, assign: Assign) -> int:
    """The value of an expression.

    Args:
        text: the expression, `$` already expanded.
        look_up: gives the value of a variable, None if it is not known.
        assign: is called for `X=1`, `X+=1`, `X++`.

    Raises:
        NotKnownError: a variable has no known value.
        ValueError, ArithmeticError, RecursionError: it is no expression that has a value, or one that no launch script
            has.
    """
    text = text.strip()
    if found := _ASSIGNMENT.fullmatch(text):
        name, sign, right = found.groups()
        value = _value(f"{name} {sign} ({right})" if sign else right, look_up)
        assign(name, str(value))
        return value
    found = _STEP.fullmatch(text)
    if found is None or not (found[1] or found[3]):
        return _value(text, look_up)
    before = _value(found[2], look_up)
    after = before + (1 if "++" in (found[1], found[3]) else -1)
    assign(found[2], str(after))
    return after if found[1] else before


def _value(text: str, look_up: LookUp, chain: int = 0) -> int:
    if not text.strip():
        return 0
    if chain > _MOST_CHAIN or len(text) > _MOST_CHARACTERS:
        raise ValueError(text)
    if not _EXPRESSION.fullmatch(text) or _NO_OPERATOR.search(text):
        raise ValueError(text)
    python = " ".join(text.replace("&&", " and ").replace("||", " or ").split())

    def value(node: ast.AST) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            held = look_up(node.id)
            if held is None:
                raise NotKnownError(node.id)
            return _value(held, look_up, chain + 1)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return -value(node.operand) if isinstance(node.op, ast.USub) else value(node.operand)
        if isinstance(node, ast.BoolOp):
            whole = all if isinstance(node.op, ast.And) else any
            return int(whole(value(one) for one in node.values))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            found = _OPERATORS[type(node.op)](value(node.left), value(node.right))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
            found = int(_OPERATORS[type(node.ops[0])](value(node.left), value(node.comparators[0])))
        else:
            raise ValueError(text)
        if found.bit_length() > _MOST_BITS:
            raise OverflowError
        return found

    try:
        return value(ast.parse(python, mode="eval").body)
    except (SyntaxError, MemoryError):
        raise ValueError(text) from None
