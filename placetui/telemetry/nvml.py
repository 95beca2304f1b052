"""`Nvml`: the few calls that are needed, through pynvml, the same for old and new drivers.

The binding is imported when it is first used: on a node of a cluster it may be missing, and the code shipped there must
arrive all the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, TypeAlias

Handle: TypeAlias = Any
"""A device, as NVML hands it out."""

UNINITIALIZED = 1
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
LIB_RM_VERSION_MISMATCH = 18
ARGUMENT_VERSION_MISMATCH = 25
GPU_NOT_FOUND = 28
UNKNOWN = 999
NO_BINDING = -1
"""Not a code of NVML: there is no pynvml."""

LOST = frozenset({UNINITIALIZED, NOT_FOUND, DRIVER_NOT_LOADED, GPU_IS_LOST, RESET_REQUIRED, GPU_NOT_FOUND, UNKNOWN})
"""Codes after which nothing can be read from a device until NVML is opened again, or the device comes back."""

REASONS = {
    UNINITIALIZED: "NVML was shut down",
    NOT_SUPPORTED: "not supported here",
    NO_PERMISSION: "no permission to read it",
    NOT_FOUND: "the GPU is no longer there",
    DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    LIBRARY_NOT_FOUND: "there is no NVIDIA driver here (no libnvidia-ml.so.1)",
    FUNCTION_NOT_FOUND: "the NVIDIA driver is too old for it",
    GPU_IS_LOST: "the GPU is lost",
    RESET_REQUIRED: "the GPU needs a reset",
    LIB_RM_VERSION_MISMATCH: "the NVIDIA driver was updated and not loaded again (driver and library differ)",
    GPU_NOT_FOUND: "the GPU is no longer there",
    UNKNOWN: "NVML reports an unknown error",
    NO_BINDING: "the Python package nvidia-ml-py is not installed here",
}

_PROCESS_ROOM = 32
"""Processes for which there is room at once: the list is the dearest of all calls, and asking twice doubles it."""

_NO_VALUE = 2**64 - 1
_TEMPERATURE_GPU = 0
_MEMORY_V2 = 0x2000028
"""Version 2 of a structure of 40 bytes: version, total, reserved, free, used."""


class NvmlFailure(Exception):
    """A call failed."""

    def __init__(self, code: int) -> None:
        super().__init__(REASONS.get(code, f"NVML error {code}"))
        self.code = code


def _process_lists() -> tuple[tuple[str, Any], ...]:
    """Versions of the process lists, the newest first: how the function's name ends, and what an entry looks like.

    Made when needed: such classes cannot be shipped to another node.
    """

    class Process(ctypes.Structure):
        _fields_ = (
            ("pid", ctypes.c_uint),
            ("memory", ctypes.c_ulonglong),
            ("gpu_instance", ctypes.c_uint),
            ("compute_instance", ctypes.c_uint),
        )

    class OldProcess(ctypes.Structure):
        _fields_ = (("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong))

    return ("_v3", Process), ("_v2", Process), ("", OldProcess)


def installed_binding() -> ModuleType:
    """The package nvidia-ml-py."""
    return import_module("pynvml")


class Nvml:
    """The library; loaded when it is first opened. Used by several threads."""

    def __init__(self, find_binding: Callable[[], ModuleType] = installed_binding) -> None:
        self._find_binding = find_binding
        self._binding: ModuleType | None = None
        self._new_memory = True
        self._new_temperature = True
        self._process_lists: tuple[tuple[str, Any], ...] = ()
        self._process_list = 0
        """Place of the newest version of them that this driver has."""

    def open(self) -> None:
        if self._binding is None:
            try:
                self._binding = self._find_binding()
            except ImportError as problem:
                raise NvmlFailure(NO_BINDING) from problem
            self._process_lists = _process_lists()
        self._call("nvmlInit")

    def close(self) -> None:
        self._call("nvmlShutdown")

    def driver_version(self) -> str:
        return _text(self._call("nvmlSystemGetDriverVersion"))

    def library_version(self) -> str:
        return _text(self._call("nvmlSystemGetNVMLVersion"))

    def count(self) -> int:
        return int(self._call("nvmlDeviceGetCount"))

    def by_index(self, index: int) -> Handle:
        return self._call("nvmlDeviceGetHandleByIndex", index)

    def by_uuid(self, uuid: str) -> Handle:
        return self._call("nvmlDeviceGetHandleByUUID", uuid.encode())

    def uuid(self, device: Handle) -> str:
        return _text(self._call("nvmlDeviceGetUUID", device))

    def name(self, device: Handle) -> str:
        return _text(self._call("nvmlDeviceGetName", device))

    def instances(self, device: Handle) -> list[Handle] | None:
        """The MIG instances of a GPU; None if it is not divided."""
        try:
            if not self._call("nvmlDeviceGetMigMode", device)[0]:
                return None
            most = self._call("nvmlDeviceGetMaxMigDeviceCount", device)
        except NvmlFailure as failure:
            if failure.code in (NOT_SUPPORTED, FUNCTION_NOT_FOUND):
                return None
            raise
        found = []
        for place in range(most):
            try:
                found.append(self._call("nvmlDeviceGetMigDeviceHandleByIndex", device, place))
            except NvmlFailure as failure:
                # A place that no instance takes.
                if failure.code != NOT_FOUND:
                    raise
        return found

    def memory(self, device: Handle) -> tuple[int, int]:
        """Bytes used and in all. What the driver keeps for itself counts as used by old drivers only."""
        if self._new_memory:
            try:
                return _memory(self._pointer("nvmlDeviceGetMemoryInfo_v2"), device)
            except NvmlFailure as failure:
                if failure.code not in (FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH):
                    raise
                self._new_memory = False
        info = self._call("nvmlDeviceGetMemoryInfo", device)
        return int(info.used), int(info.total)

    def utilization(self, device: Handle) -> int:
        """Percent of time with a kernel running."""
        return int(self._call("nvmlDeviceGetUtilizationRates", device).gpu)

    def temperature(self, device: Handle) -> int:
        """Degrees Celsius."""
        if self._new_temperature:
            try:
                return int(self._call("nvmlDeviceGetTemperatureV", device, _TEMPERATURE_GPU))
            except NvmlFailure as failure:
                if failure.code not in (FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH):
                    raise
                self._new_temperature = False
        return int(self._call("nvmlDeviceGetTemperature", device, _TEMPERATURE_GPU))

    def power(self, device: Handle) -> int:
        """Watts."""
        return round(int(self._call("nvmlDeviceGetPowerUsage", device)) / 1000)

    def compute_processes(self, device: Handle) -> dict[int, int | None]:
        """Bytes by process id; None where not reported by the driver."""
        return self._processes("nvmlDeviceGetComputeRunningProcesses", device)

    def graphics_processes(self, device: Handle) -> dict[int, int | None]:
        return self._processes("nvmlDeviceGetGraphicsRunningProcesses", device)

    def _processes(self, function: str, device: Handle) -> dict[int, int | None]:
        while True:
            tried = self._process_list
            suffix, layout = self._process_lists[tried]
            try:
                return _listed(self._pointer(function + suffix), device, layout)
            except NvmlFailure as failure:
                if failure.code != FUNCTION_NOT_FOUND or tried == len(self._process_lists) - 1:
                    raise
                # Another thread may have found out meanwhile.
                self._process_list = max(self._process_list, tried + 1)

    def _pointer(self, name: str) -> Callable[..., int]:
        """The C function: for what wrappers of pynvml (or of the copy in Ray) call twice or know one version of."""
        assert self._binding is not None
        try:
            pointer: Callable[..., int] = self._binding._nvmlGetFunctionPointer(name)
        except self._binding.NVMLError as error:
            raise NvmlFailure(error.value) from None
        return pointer

    def _call(self, name: str, *arguments: Any) -> Any:
        binding = self._binding
        assert binding is not None
        function = getattr(binding, name, None)
        if function is None:
            raise NvmlFailure(FUNCTION_NOT_FOUND)
        try:
            return function(*arguments)
        except binding.NVMLError as error:
            raise NvmlFailure(error.value) from None


def _memory(function: Callable[..., int], device: Handle) -> tuple[int, int]:
    """Bytes used and in all, of the second version: the first number is padded to the size of the others."""
    info = (ctypes.c_ulonglong * 5)(_MEMORY_V2)
    if code := function(device, ctypes.byref(info)):
        raise NvmlFailure(code)
    _version, total, _reserved, _free, used = info
    return used, total


def _listed(function: Callable[..., int], device: Handle, layout: Any) -> dict[int, int | None]:
    room = _PROCESS_ROOM
    while True:
        count = ctypes.c_uint(room)
        entries = (layout * room)()
        code = function(device, ctypes.byref(count), entries)
        if code == 0:
            break
        if code != INSUFFICIENT_SIZE:
            raise NvmlFailure(code)
        # More may begin until the next call.
        room = 2 * max(room, count.value)
    return {entry.pid: None if entry.memory == _NO_VALUE else entry.memory for entry in entries[: count.value]}


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
