"""Changing entries of a YAML text by splices, so that every other byte stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import yaml

from placetui.placement.edit_types import Refused
from placetui.placement.problems import Path, dotted

from . import nodes
from .compose import C_LOADER
from .document import Document
from .quoting import Plain, written
from .scalars import TAG_PREFIX, kind_of
from .splice import Splice

Written: TypeAlias = Plain | dict[str, Any]
"""A value to write: a scalar, or a small mapping, which is written between braces."""

_ANCHOR = re.compile(r"&(\S+)")
_HEADER = re.compile(r"[|>][-+0-9]*(?P<comment>[ \t]+#[^\r\n]*)?")
_BY_HAND = "change it in the text"


class Draft:
    """A document on its way to another one. After each step the text is read again and must say what was meant."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.splices: list[Splice] = []
        """What was done so far, each counted in the text that the one before left."""

    # What can be done

    def put(self, path: Path, value: Written) -> None:
        """Set a value, with the sections above it if they are missing.

        Raises:
            Refused: it cannot be written without changing something else.
        """
        found = self.document.walk(path)
        if not found:
            raise Refused("the file is broken", "correct its text first")
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
        self._commit(splices, path[0], lambda config: _set(config, path, value))

    def insert_after(self, path: Path, name: str, value: Written) -> None:
        """A new entry right behind another one of the same mapping."""
        found = self._existing(path)
        splice = self._insert(found[:-1], name, value, found[-1][1])
        self._commit([splice], path[0], lambda config: _set(config, (*path[:-1], name), value))

    def rename(self, path: Path, name: str) -> None:
        """Another key for a value."""
        found = self._existing(path)
        key, parent = found[-1][0], nodes.resolve(found[-2][1])
        if not isinstance(key, nodes.Scalar) or not isinstance(parent, nodes.Mapping):
            raise Refused(f"the key `{path[-1]}` is an alias", _BY_HAND)
        style = key.style if key.style in ("'", '"') else ""
        text = written(name, style=style, flow=parent.flow, key=True)
        splice = Splice(key.content, key.end, text)
        self._commit([splice], path[0], lambda config: _rename(config, path, name), gone=path)

    def remove(self, path: Path) -> None:
        """Remove an entry: its line or lines with the comment behind it, or its part of a flow mapping."""
        found = self._existing(path)
        parent = nodes.resolve(found[-2][1])
        if not isinstance(parent, nodes.Mapping):
            raise Refused(f"`{dotted(path)}` is no entry of a mapping", _BY_HAND)
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
        self._commit(splices, path[0], lambda config: _delete(config, path), gone=path)

    # Looking

    @property
    def text(self) -> str:
        return self.document.text

    def _existing(self, path: Path) -> Sequence[tuple[nodes.Node | None, nodes.Node]]:
        found = self.document.walk(path)
        if len(found) <= len(path):
            raise Refused(f"there is no `{dotted(path)}` in the file")
        if not self._is_own(found[-2][1], found[-1]):
            raise Refused(f"a merge key brings `{dotted(path)}` in from elsewhere", _BY_HAND)
        self._guard(path, found[:-1])
        return found

    def _is_own(self, parent: nodes.Node, pair: tuple[nodes.Node | None, nodes.Node]) -> bool:
        """Whether an entry stands in the mapping itself, and not in one that it merges."""
        key = pair[0]
        mapping = nodes.resolve(parent)
        if key is None or not isinstance(mapping, nodes.Mapping):
            return True
        if mapping is self.document.walk(())[0][1]:  # sections are composed one by one: compare places
            return any(own.start == key.start for own in mapping.items[::2])
        return any(own is key for own in mapping.items[::2])

    def _guard(self, path: Path, above: Sequence[tuple[nodes.Node | None, nodes.Node]]) -> None:
        """Refuse to edit inside of something that stands for more than this path."""
        for depth, pair in enumerate(above):
            node, name = pair[1], dotted(path[:depth])
            if isinstance(node, nodes.Alias):
                raise Refused(f"`{name}` is an alias: editing it would change what it refers to, too", _BY_HAND)
            if depth and not self._is_own(above[depth - 1][1], pair):
                raise Refused(f"a merge key brings `{name}` in from elsewhere", _BY_HAND)
            anchor = self._anchor(node)
            if anchor and self._aliases(anchor):
                raise Refused(f"`{name}` is used elsewhere as `*{anchor}`, which would change, too", _BY_HAND)

    def _anchor(self, node: nodes.Node) -> str | None:
        match = _ANCHOR.search(self.text[node.start : node.content]) if node.content > node.start else None
        return match[1] if match else None

    def _aliases(self, anchor: str) -> list[tuple[int, int]]:
        """Where `*anchor` stands."""
        if f"*{anchor}" not in self.text:
            return []
        found: list[Any] = [
            event
            for event in yaml.parse(self.text, Loader=C_LOADER or yaml.SafeLoader)
            if isinstance(event, yaml.AliasEvent) and event.anchor == anchor
        ]
        return [(event.start_mark.index, event.end_mark.index) for event in found]

    # Writing

    def _replace(
        self, path: Path, found: Sequence[tuple[nodes.Node | None, nodes.Node]], value: Written
    ) -> list[Splice]:
        key, node = found[-1]
        parent = nodes.resolve(found[-2][1])
        flow = isinstance(parent, nodes.Collection) and parent.flow
        if isinstance(node, nodes.Alias):
            return [Splice(node.start, node.end, _rendered(value, flow))]
        anchor = self._anchor(node)
        aliases = self._aliases(anchor) if anchor else []
        passed_on = [self._pass_on(path, node, aliases[0])] if aliases else []
        if not isinstance(node, nodes.Scalar):
            if isinstance(node, nodes.Collection) and node.flow:
                return [Splice(node.content, node.end, _rendered(value, flow))]
            raise Refused(f"`{dotted(path)}` is not a single value", _BY_HAND)
        if node.content == node.end and not aliases:
            return [self._fill(key, node, _rendered(value, flow))]
        style = node.style if node.style in ("'", '"') and isinstance(value, str) else ""
        text = _rendered(value, flow, style)
        if node.style in ("|", ">"):
            text = _for_block(self.text[node.content : node.end], text)
        tagged_as_text = node.tag in (None, f"{TAG_PREFIX}str")
        if not aliases and tagged_as_text and not isinstance(value, dict):
            return [Splice(node.content, node.end, text)]
        properties = self._tag(node) if tagged_as_text and not isinstance(value, dict) else ""
        kept = f"&{anchor} " if anchor and not aliases else ""
        return [*passed_on, Splice(node.start, node.end, kept + properties + text)]

    def _pass_on(self, path: Path, node: nodes.Node, alias: tuple[int, int]) -> Splice:
        """What refers to a value that goes keeps it: the anchor goes to the first alias, with the value."""
        anchor, raw = self._anchor(node), self.text[node.content : node.end]
        if not isinstance(node, nodes.Scalar) or node.style in ("|", ">") or "\n" in raw:
            raise Refused(f"`{dotted(path)}` is used elsewhere as `*{anchor}`, which would change, too", _BY_HAND)
        if node.style == "" and kind_of(node.text) == "str":
            raw = written(node.text, flow=True)
        return Splice(*alias, f"&{anchor} {self._tag(node)}{raw}".rstrip())

    def _tag(self, node: nodes.Node) -> str:
        tag = _ANCHOR.sub("", self.text[node.start : node.content]).strip()
        return f"{tag} " if tag else ""

    def _fill(self, key: nodes.Node | None, node: nodes.Scalar, text: str) -> Splice:
        """A value where there was none."""
        at = node.content
        before = "" if self.text[at - 1 : at].isspace() else " "
        if key is not None and ":" not in self.text[key.end : at]:
            before = ": "
        after = "" if self.text[at : at + 1] in ("", " ", "\t", "\r", "\n", ",", "}", "]") else " "
        return Splice(at, at, before + text + after)

    def _insert(
        self,
        found: Sequence[tuple[nodes.Node | None, nodes.Node]],
        name: str | int,
        value: Written,
        after: nodes.Node | None,
    ) -> Splice:
        """A new entry: behind `after`, or as the last one of the mapping that `found` leads to."""
        key, node = found[-1]
        if isinstance(node, nodes.Mapping) and node.flow:
            entry = f"{written(str(name), flow=True, key=True)}: {_rendered(value, True)}"
            if not node.items:
                return Splice(node.content + 1, node.content + 1, entry)
            at = (after or node.items[-1]).end
            return Splice(at, at, f", {entry}")
        if isinstance(node, nodes.Mapping):
            margin = " " * self._column(node.content)
            last = after or node.items[-1]
            at_end = after is None and len(found) == 1
            return self._insert_lines(last, self._entry(margin, str(name), value, block=at_end), at_end)
        if isinstance(node, nodes.Scalar) and node.tag is None and kind_of(node.text) == "null" and not node.style:
            if node.content < node.end or key is None:
                return Splice(node.content, node.end, _rendered({str(name): value}, False))
            margin = " " * (self._column(key.start) + 2)
            return self._insert_lines(node, self._entry(margin, str(name), value, block=False), False)
        raise Refused(f"there is no mapping to write `{name}` into", _BY_HAND)

    def _entry(self, margin: str, name: str, value: Written, *, block: bool) -> list[str]:
        head = f"{margin}{written(name, key=True)}:"
        if block and isinstance(value, dict):
            inner = [f"{margin}  {written(str(key), key=True)}: {_rendered(one, False)}" for key, one in value.items()]
            return [head, *inner]
        return [f"{head} {_rendered(value, False)}"]

    def _insert_lines(self, last: nodes.Node, lines: list[str], at_end: bool) -> Splice:
        """Lines behind the line that `last` ends in; at the end of the file with a blank line before them."""
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

    def _lines(self, key: nodes.Node, value: nodes.Node) -> Splice:
        """The lines of an entry."""
        text = self.text
        start = text.rfind("\n", 0, key.start) + 1
        if text[start : key.start].strip():
            raise Refused("the entry does not begin its line", _BY_HAND)
        if value.end > value.start and text[value.end - 1] == "\n":
            return Splice(start, value.end, "")
        end = _line_end(text, max(value.end, key.end))
        if end < len(text):
            return Splice(start, text.index("\n", end) + 1, "")
        before = start - 1 if start and text[start - 1] == "\n" else start
        return Splice(before - 1 if text[before - 1 : before] == "\r" else before, end, "")

    def _empty(
        self, owner: tuple[nodes.Node | None, nodes.Node], parent: nodes.Mapping, key: nodes.Node, value: nodes.Node
    ) -> list[Splice]:
        """Remove the only entry of a mapping: `{}` is left."""
        if parent.flow:
            end = parent.end - 1
            return [Splice(parent.content + 1, end, "")]
        if owner[0] is None:
            raise Refused("nothing would be left of the file", _BY_HAND)
        lines = self._lines(key, value)
        colon = self.text.index(":", owner[0].end) + 1
        return [lines, Splice(colon, colon, " {}")]

    def _column(self, index: int) -> int:
        return index - self.text.rfind("\n", 0, index) - 1

    # Making sure

    def _commit(
        self, splices: list[Splice], section: str | int, change: Callable[[dict[str, Any]], None], gone: Path = ()
    ) -> None:
        """Apply splices that are counted in one text, last place first; refuse what the text then does not say."""
        before = self.document
        ordered = sorted(splices, key=lambda splice: splice.start, reverse=True)
        after = before.change(ordered)
        name = str(section)
        expected = {name: before.config[name]} if name in before.config else {}
        change(expected)
        kept = [one for one in before.config if one != name]
        known = {(problem.rule, problem.message) for problem in before.problems}
        fresh = [one for one in after.problems if one.blocking and (one.rule, one.message) not in known]
        says = {name: after.config[name]} if name in after.config else {}
        if fresh or [one for one in after.config if one != name] != kept or _tidy(expected) != _tidy(says):
            if gone and len(after.walk(gone)) > len(gone):
                raise Refused(f"a merge key would bring `{gone[-1]}` in again", _BY_HAND)
            raise Refused("this cannot be written here without changing something else", _BY_HAND)
        self.document = after
        self.splices += ordered


class _Reads:
    """Equal to whatever YAML makes of a text, as long as it shows the same."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __eq__(self, other: object) -> bool:
        return str(other) == self._text


def _expected(value: Written) -> Any:
    if isinstance(value, dict):
        return {name: _expected(one) for name, one in value.items()}
    return _Reads(value) if isinstance(value, str) else value


def _change(config: dict[str, Any], path: Path, change: Callable[[Any], None]) -> None:
    """Change a copy of the container that holds the end of a path."""
    holder: Any = config
    for part in path[:-1]:
        inner: Any = None
        with suppress(KeyError):
            inner = holder[part]
        holder[part] = list(inner) if isinstance(inner, list) else dict(inner or {})
        holder = holder[part]
    change(holder)


def _set(config: dict[str, Any], path: Path, value: Written) -> None:
    def change(holder: Any) -> None:
        holder[path[-1]] = _expected(value)

    _change(config, path, change)


def _rename(config: dict[str, Any], path: Path, name: str) -> None:
    _change(config, path, lambda holder: holder.__setitem__(name, holder.pop(path[-1])))


def _delete(config: dict[str, Any], path: Path) -> None:
    _change(config, path, lambda holder: holder.pop(path[-1]))


def _tidy(value: Any) -> Any:
    """Without empty mappings: removing the last entry may leave one or not."""
    if not isinstance(value, dict):
        return value
    return {name: _tidy(one) for name, one in value.items() if one not in (None, {})}


def _rendered(value: Written, flow: bool, style: str = "") -> str:
    if not isinstance(value, dict):
        return written(value, style=style, flow=flow)
    inner = (f"{written(str(name), flow=True, key=True)}: {_rendered(one, True)}" for name, one in value.items())
    return "{" + ", ".join(inner) + "}"


def _for_block(raw: str, text: str) -> str:
    """A plain value instead of a block scalar, with its comment and the line breaks at its end."""
    header = _HEADER.match(raw)
    comment = header["comment"] if header else None
    return text + (comment or "") + raw[len(raw.rstrip()) :]


def _out_of_flow(parent: nodes.Mapping, key: nodes.Node, value: nodes.Node) -> Splice:
    """An entry of a flow mapping with the comma that goes with it."""
    position = next(index for index, item in enumerate(parent.items) if item is key)
    if position + 2 < len(parent.items):
        return Splice(key.start, parent.items[position + 2].start, "")
    return Splice(parent.items[position - 1].end, value.end, "")


def _newline(text: str, index: int) -> str:
    """The line break that is used around `index`."""
    end = text.find("\n", index)
    end = text.rfind("\n", 0, index) if end < 0 else end
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _line_end(text: str, index: int) -> int:
    """Where the line ends that holds `index`, its line break not included."""
    end = text.find("\n", index)
    if end < 0:
        return len(text)
    return end - 1 if end > index and text[end - 1] == "\r" else end
