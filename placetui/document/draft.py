"""Entry-level edits of a YAML text as splices that leave every other byte untouched."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from placetui.document.document import Document
from placetui.document.reading.parsing import AliasNode, CollectionNode, MappingNode, Node, ScalarNode, resolve
from placetui.document.reading.values import TAG_PREFIX
from placetui.document.splice import Splice
from placetui.placement.edits import EditRefused
from placetui.placement.problems import Path
from placetui.placement.wording import dotted
from placetui.placement.yaml_text import kind_of, written

Written: TypeAlias = str | int | float | bool | list[str] | dict[str, Any]
"""A value to write: a scalar, or a small list or mapping, which is written between brackets."""

Step: TypeAlias = tuple[Node | None, Node]
"""Key and value on the way to an entry."""

_ANCHOR = re.compile(r"&(\S+)")
_HEADER = re.compile(r"[|>][-+0-9]*(?P<comment>[ \t]+#[^\r\n]*)?")
_BY_HAND = "edit the text instead"


class Draft:
    """Edits a document step by step. Each step is parsed and compared with the intended values before it counts."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.splices: list[Splice] = []
        """All steps so far; positions refer to the text after the previous splice."""

    # What can be done

    def put(self, path: Path, value: Written) -> None:
        """Set a value, and create missing parents; `EditRefused` where that would change something else."""
        found = self.document.walk(path)
        if not found:
            raise EditRefused("the file has errors", "fix them first")
        if len(found) > len(path) and (len(path) < 2 or self._is_own(found[-2][1], found[-1])):
            self._guard(path, found[:-1])
            splices = self._replace(path, found, value)
        elif len(found) > len(path):  # a merge key brings it in; an entry of its own wins over that
            self._guard(path, found[:-1])
            splices = [self._insert(found[:-1], path[-1], value, None)]
        else:
            self._guard(path, found)
            inner: Written = value
            for part in reversed(path[len(found) :]):
                inner = {str(part): inner}
            splices = [self._insert(found, path[len(found) - 1], inner, None)]
        self._commit(splices, path, lambda holder: holder.__setitem__(path[-1], _expected(value)))

    def insert_after(self, path: Path, name: str, value: Written) -> None:
        found = self._existing(path)
        splice = self._insert(found[:-1], name, value, found[-1][1])
        self._commit([splice], path, lambda holder: holder.__setitem__(name, _expected(value)))

    def rename(self, path: Path, name: str) -> None:
        """Change the key of an entry."""
        found = self._existing(path)
        key, parent = found[-1][0], resolve(found[-2][1])
        if not isinstance(key, ScalarNode) or not isinstance(parent, MappingNode):
            raise EditRefused(f"the key `{path[-1]}` is an alias", _BY_HAND)
        style = key.style if key.style in ("'", '"') else ""
        text = written(name, style=style, flow=parent.flow, key=True)
        splice = Splice(key.content, key.end, text)
        self._commit([splice], path, lambda holder: holder.__setitem__(name, holder.pop(path[-1])), gone=True)

    def remove(self, path: Path) -> None:
        """Remove an entry: its line or lines with the comment behind it, or its part of a flow mapping."""
        found = self._existing(path)
        parent = resolve(found[-2][1])
        if not isinstance(parent, MappingNode):
            raise EditRefused(f"`{dotted(path)}` is not an entry of a mapping", _BY_HAND)
        key, value = found[-1]
        assert key is not None
        if len(parent.items) == 2:
            splices = self._empty(found[-2], parent, key, value)
        elif parent.flow:
            splices = [_out_of_flow(parent, key, value)]
        else:
            splices = [self._lines(key, value)]
        anchor = self._anchor(value)
        aliases = self._aliases(anchor) if anchor else []
        splices += [self._pass_on(path, value, aliases[0])] if aliases else []
        self._commit(splices, path, lambda holder: holder.pop(path[-1]), gone=True)

    # Looking

    @property
    def text(self) -> str:
        return self.document.text

    def _existing(self, path: Path) -> Sequence[Step]:
        found = self.document.walk(path)
        if len(found) <= len(path):
            raise EditRefused(f"there is no `{dotted(path)}` in the file")
        if not self._is_own(found[-2][1], found[-1]):
            raise EditRefused(f"`{dotted(path)}` comes from a merge key", _BY_HAND)
        self._guard(path, found[:-1])
        return found

    def _is_own(self, parent: Node, pair: Step) -> bool:
        """Whether an entry is written in the mapping itself rather than merged into it."""
        key = pair[0]
        mapping = resolve(parent)
        if key is None or not isinstance(mapping, MappingNode):
            return True
        return any(own is key for own in mapping.items[::2])

    def _guard(self, path: Path, above: Sequence[Step]) -> None:
        """Refuse to edit inside a value that other paths share."""
        for depth, pair in enumerate(above):
            node, name = pair[1], dotted(path[:depth])
            if isinstance(node, AliasNode):
                raise EditRefused(f"`{name}` is an alias: an edit would also change the value it refers to", _BY_HAND)
            if depth and not self._is_own(above[depth - 1][1], pair):
                raise EditRefused(f"`{name}` comes from a merge key", _BY_HAND)
            anchor = self._anchor(node)
            if anchor and self._aliases(anchor):
                raise EditRefused(f"`{name}` is also used as `*{anchor}`, which would change with it", _BY_HAND)

    def _anchor(self, node: Node) -> str | None:
        match = _ANCHOR.search(self.text[node.start : node.content]) if node.content > node.start else None
        return match[1] if match else None

    def _aliases(self, anchor: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        waiting: list[Node] = [self.document.walk(())[0][1]]
        while waiting:
            node = waiting.pop()
            if isinstance(node, CollectionNode):
                waiting += reversed(node.items)
            elif isinstance(node, AliasNode) and node.name == anchor:
                found.append((node.start, node.end))
        return found

    # Writing

    def _replace(self, path: Path, found: Sequence[Step], value: Written) -> list[Splice]:
        key, node = found[-1]
        parent = resolve(found[-2][1])
        flow = isinstance(parent, CollectionNode) and parent.flow
        if isinstance(node, AliasNode):
            return [Splice(node.start, node.end, written(value, flow=flow))]
        anchor = self._anchor(node)
        aliases = self._aliases(anchor) if anchor else []
        passed_on = [self._pass_on(path, node, aliases[0])] if aliases else []
        if not isinstance(node, ScalarNode):
            if node.flow:
                return [Splice(node.content, node.end, written(value, flow=flow))]
            raise EditRefused(f"`{dotted(path)}` is not a single value", _BY_HAND)
        if node.content == node.end and not aliases:
            return [self._fill(key, node, written(value, flow=flow))]
        style = node.style if node.style in ("'", '"') and isinstance(value, str) else ""
        text = written(value, flow=flow, style=style)
        if node.style in ("|", ">"):
            text = _for_block(self.text[node.content : node.end], text)
        tagged_as_text = node.tag in (None, f"{TAG_PREFIX}str")
        if not aliases and tagged_as_text and not isinstance(value, dict | list):
            return [Splice(node.content, node.end, text)]
        properties = self._tag(node) if tagged_as_text and not isinstance(value, dict | list) else ""
        kept = f"&{anchor} " if anchor and not aliases else ""
        return [*passed_on, Splice(node.start, node.end, kept + properties + text)]

    def _pass_on(self, path: Path, node: Node, alias: tuple[int, int]) -> Splice:
        """Move the anchor and its value to the first alias, so that other aliases keep the value."""
        anchor, raw = self._anchor(node), self.text[node.content : node.end]
        if not isinstance(node, ScalarNode) or node.style in ("|", ">") or "\n" in raw:
            raise EditRefused(f"`{dotted(path)}` is also used as `*{anchor}`, which would change with it", _BY_HAND)
        if node.style == "" and kind_of(node.text) == "str":
            raw = written(node.text, flow=True)
        return Splice(*alias, f"&{anchor} {self._tag(node)}{raw}".rstrip())

    def _tag(self, node: Node) -> str:
        tag = _ANCHOR.sub("", self.text[node.start : node.content]).strip()
        return f"{tag} " if tag else ""

    def _fill(self, key: Node | None, node: ScalarNode, text: str) -> Splice:
        at = node.content
        before = "" if self.text[at - 1 : at].isspace() else " "
        if key is not None and ":" not in self.text[key.end : at]:
            before = ": "
        after = "" if self.text[at : at + 1] in ("", " ", "\t", "\r", "\n", ",", "}", "]") else " "
        return Splice(at, at, before + text + after)

    def _insert(self, found: Sequence[Step], name: str | int, value: Written, after: Node | None) -> Splice:
        """Insert an entry after `after`, or at the end of the mapping at the end of `found`."""
        key, node = found[-1]
        if isinstance(node, MappingNode) and node.flow:
            entry = f"{written(str(name), flow=True, key=True)}: {written(value, flow=True)}"
            if not node.items:
                return Splice(node.content + 1, node.content + 1, entry)
            at = (after or node.items[-1]).end
            return Splice(at, at, f", {entry}")
        if isinstance(node, MappingNode):
            margin = " " * self._column(node.content)
            last = after or node.items[-1]
            at_end = after is None and len(found) == 1
            return self._insert_lines(last, self._entry(margin, str(name), value, block=at_end), at_end)
        if isinstance(node, ScalarNode) and node.tag is None and kind_of(node.text) == "null" and not node.style:
            if node.content < node.end or key is None:
                return Splice(node.content, node.end, written({str(name): value}))
            margin = " " * (self._column(key.start) + 2)
            return self._insert_lines(node, self._entry(margin, str(name), value, block=False), False)
        raise EditRefused(f"there is no mapping to write `{name}` into", _BY_HAND)

    def _entry(self, margin: str, name: str, value: Written, *, block: bool) -> list[str]:
        head = f"{margin}{written(name, key=True)}:"
        if block and isinstance(value, dict):
            inner = [f"{margin}  {written(str(key), key=True)}: {written(one)}" for key, one in value.items()]
            return [head, *inner]
        return [f"{head} {written(value)}"]

    def _insert_lines(self, last: Node, lines: list[str], at_end: bool) -> Splice:
        """Insert lines after the line in which `last` ends; at the end of the file, after a blank line."""
        text = self.text
        newline = _newline(text, last.end)
        body = newline.join(lines)
        if at_end:
            at = len(text)
            ended = text.endswith("\n")
            blank = "" if text.endswith(("\n\n", "\n\r\n")) else newline
            if not re.search(r"(?m)^(?:\.\.\.|---)\s*\Z", text[last.end :]):
                return Splice(at, at, blank + ("" if ended else newline) + body + (newline if ended else ""))
        if last.end > last.start and text[last.end - 1] == "\n":
            return Splice(last.end, last.end, body + newline)
        at = _line_end(text, last.end)
        return Splice(at, at, newline + body)

    def _lines(self, key: Node, value: Node) -> Splice:
        """Remove the lines of an entry."""
        text = self.text
        start = text.rfind("\n", 0, key.start) + 1
        if text[start : key.start].strip():
            raise EditRefused("the entry shares its line with other text", _BY_HAND)
        if value.end > value.start and text[value.end - 1] == "\n":
            return Splice(start, value.end, "")
        end = _line_end(text, max(value.end, key.end))
        if end < len(text):
            return Splice(start, text.index("\n", end) + 1, "")
        before = start - 1 if start and text[start - 1] == "\n" else start
        return Splice(before - 1 if text[before - 1 : before] == "\r" else before, end, "")

    def _empty(self, owner: Step, parent: MappingNode, key: Node, value: Node) -> list[Splice]:
        """Remove the only entry of a mapping: `{}` is left."""
        if parent.flow:
            end = parent.end - 1
            return [Splice(parent.content + 1, end, "")]
        if owner[0] is None:
            raise EditRefused("the file would become empty", _BY_HAND)
        lines = self._lines(key, value)
        colon = self.text.index(":", owner[0].end) + 1
        return [lines, Splice(colon, colon, " {}")]

    def _column(self, index: int) -> int:
        return index - self.text.rfind("\n", 0, index) - 1

    # Making sure

    def _commit(
        self, splices: list[Splice], path: Path, change: Callable[[Any], object], *, gone: bool = False
    ) -> None:
        """Apply splices of one text, last first, if the new text then has exactly the intended values: those of before,
        with a change of the mapping or list that holds the end of the path. That itself may be `gone` then.
        """
        before = self.document
        ordered = sorted(splices, key=lambda splice: splice.start, reverse=True)
        after = before.change(ordered)
        name = str(path[0])
        expected = {name: before.config[name]} if name in before.config else {}
        change(_holder(expected, path))
        kept = [one for one in before.config if one != name]
        known = {(problem.rule, problem.message) for problem in before.problems_in([name])}
        fresh = any(one.blocking and (one.rule, one.message) not in known for one in after.problems_in([name]))
        says = {name: after.config[name]} if name in after.config else {}
        if fresh or [one for one in after.config if one != name] != kept or _tidy(expected) != _tidy(says):
            if gone and len(after.walk(path)) > len(path):
                raise EditRefused(f"a merge key would supply `{path[-1]}` again", _BY_HAND)
            raise EditRefused("this cannot be written here without changing something else", _BY_HAND)
        self.document = after
        self.splices += ordered


class _Reads:
    """Equal to any value that prints as this text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __eq__(self, other: object) -> bool:
        return str(other) == self._text


def _expected(value: Written) -> Any:
    if isinstance(value, dict):
        return {name: _expected(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_expected(one) for one in value]
    return _Reads(value) if isinstance(value, str) else value


def _holder(config: dict[str, Any], path: Path) -> Any:
    """A copy of the container that holds the end of a path, in its place; missing ones are made."""
    holder: Any = config
    for part in path[:-1]:
        inner: Any = None
        with suppress(KeyError):
            inner = holder[part]
        holder[part] = list(inner) if isinstance(inner, list) else dict(inner or {})
        holder = holder[part]
    return holder


def _tidy(value: Any) -> Any:
    """Without empty mappings: removing the last entry may leave one or not."""
    if not isinstance(value, dict):
        return value
    return {name: _tidy(one) for name, one in value.items() if one not in (None, {})}


def _for_block(raw: str, text: str) -> str:
    """Replace a block scalar by a plain value; keep its comment and trailing line breaks."""
    header = _HEADER.match(raw)
    comment = header["comment"] if header else None
    return text + (comment or "") + raw[len(raw.rstrip()) :]


def _out_of_flow(parent: MappingNode, key: Node, value: Node) -> Splice:
    """Remove an entry of a flow mapping with its comma."""
    position = next(index for index, item in enumerate(parent.items) if item is key)
    if position + 2 < len(parent.items):
        return Splice(key.start, parent.items[position + 2].start, "")
    return Splice(parent.items[position - 1].end, value.end, "")


def _newline(text: str, index: int) -> str:
    end = text.find("\n", index)
    end = text.rfind("\n", 0, index) if end < 0 else end
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _line_end(text: str, index: int) -> int:
    """End of the line that contains `index`, without the line break."""
    end = text.find("\n", index)
    if end < 0:
        return len(text)
    return end - 1 if end > index and text[end - 1] == "\r" else end
