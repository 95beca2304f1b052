"""`Worker`, the base of workers that a program starts in groups. Shipped by value: nodes need not have placetui."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placetui.runtime.api.worker_group import WorkerGroup


class Worker:
    """One rank of a group. A subclass calls `super().__init__()`.

    It runs in its own process, with the variables that RLinf sets: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
    CUDA_VISIBLE_DEVICES and the others.
    """

    def __init__(self) -> None:
        self._rank = int(os.environ.get("RANK", "0"))
        self._world_size = int(os.environ.get("WORLD_SIZE", "1"))
        self._logger = _logger(os.environ.get("WORKER_NAME", type(self).__name__))

    @classmethod
    def create_group(cls, *args: Any, **kwargs: Any) -> WorkerGroup:
        """A group of these workers, each to be built with these arguments; `launch` starts it."""
        from placetui.runtime.api.worker_group import WorkerGroup

        return WorkerGroup(cls, args, kwargs)

    def log_info(self, message: str) -> None:
        """Say something under the rank's name; Ray shows it where the program runs."""
        self._logger.info(message, stacklevel=2)

    def log_warning(self, message: str) -> None:
        self._logger.warning(message, stacklevel=2)

    def log_error(self, message: str) -> None:
        self._logger.error(message, stacklevel=2)


def _logger(name: str) -> logging.Logger:
    logger = logging.getLogger(name)
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("[%(levelname)s %(asctime)s %(name)s] %(message)s", "%H:%M:%S"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    return logger
