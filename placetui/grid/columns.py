"""How the columns of a drawing are divided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

GUTTER_GAP = 2
"""Blank columns between the names and the devices."""

MOST_COLUMNS = 1024
"""No drawing is wider than this many devices."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Node names first, then devices at equal distances."""

    gutter: int
    """Columns of the node names, the gap included."""

    name: int
    """Columns of the node names without the gap."""

    pitch: int
    """Distance from one device to the next."""

    devices: int
    """Devices of the largest node."""

    body: int
    """Columns after the gutter."""

    @property
    def cell(self) -> int:
        """Columns that a device has to itself."""
        return self.pitch - (2 if self.pitch >= 12 else 1)

    @property
    def width(self) -> int:
        return self.gutter + self.body

    def x(self, device: int) -> int:
        """First column of a device."""
        return self.gutter + device * self.pitch

    def device_at(self, x: int) -> int | None:
        """Device at a column; None left of the devices and right of the last."""
        device = (x - self.gutter) // self.pitch
        return device if x >= self.gutter and device < self.devices else None


def columns(
    *,
    names: Iterable[int],
    devices: int,
    width: int | None,
    natural: int,
    least: int,
    most: int,
    narrowest_name: int = 7,
    widest_name: int = 22,
    least_devices: int = 1,
    extra: int = 0,
) -> Columns:
    """Divide `width` columns, or take what is natural.

    Args:
        names: Widths of what stands in the node column.
        devices: Devices of the largest node.
        width: Columns to fill as well as `least` and `most` allow; None for the natural size.
        natural: Distance between devices without a width.
        least: Smallest distance; what does not fit then goes beyond the width.
        most: Largest distance.
        narrowest_name: The node column never gets narrower, even where names are cut.
        widest_name: Longer names are cut.
        least_devices: The body is at least as wide as this many devices.
        extra: Columns after the devices.
    """
    devices = min(devices, MOST_COLUMNS)
    across = max(devices, least_devices)
    name = min(widest_name, max((*names, 4)))
    pitch = natural
    if width is not None:
        # The last device needs no gap after it.
        fits = (width - extra - name - GUTTER_GAP + 1) // across
        if fits < least:
            name = min(name, max(narrowest_name, width - extra - least * across))
        pitch = max(least, min(most, fits))
    gap = 2 if pitch >= 12 else 1
    gutter = name + (1 if width is not None and pitch == least else GUTTER_GAP)
    return Columns(gutter, name, pitch, devices, across * pitch - gap + extra)
