"""What NVML is asked for, and how often: its calls hold locks that whoever computes needs too."""

from __future__ import annotations

from collections import Counter

from tests.telemetry.standin import StandIn

GPUS = 8

EVERY_SECOND = {"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetUtilizationRates"}
EVERY_FIVE_SECONDS = {
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetPowerUsage",
}

BUSY = "[gpu 0-7]\nproc = 4000001 10G\nproc = 4000002 10G\n"


def test_calls_of_a_minute(standin: StandIn) -> None:
    standin.configure(BUSY)
    with standin.reader() as reader:
        reader.read()
        start = standin.calls()
        most = 0
        for _ in range(60):
            before = standin.calls()
            reader.tick()
            most = max(most, (standin.calls() - before).total())
        made = standin.calls() - start
    assert set(made) == EVERY_SECOND | EVERY_FIVE_SECONDS
    assert {made[name] for name in EVERY_SECOND} == {60 * GPUS}
    # The real time between looks counts too, so that one more may fall due.
    assert all(60 / 5 * GPUS - GPUS <= made[name] <= 60 / 5 * GPUS + GPUS for name in EVERY_FIVE_SECONDS)
    # The GPUs take turns with what is dear.
    assert most <= 2 * GPUS + 3 * len(EVERY_FIVE_SECONDS)


def test_what_never_changes_is_asked_once(standin: StandIn) -> None:
    standin.configure(BUSY)
    with standin.reader() as reader:
        reader.read()
        first = standin.calls()
        for _ in range(3):
            reader.tick()
        later = standin.calls()
    once = {"nvmlInitWithFlags", "nvmlDeviceGetCount_v2"}
    per_gpu = {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetMigMode"}
    assert {first[name] for name in once} == {1}
    assert {first[name] for name in per_gpu} == {GPUS}
    assert all(first[name] == later[name] for name in once | per_gpu)


def test_processes_are_read_at_once_when_memory_moves(standin: StandIn) -> None:
    with standin.reader() as reader:
        reader.read()
        before = standin.calls()
        standin.configure("[gpu 7]\nproc = 4000001 2G\n")
        device = reader.tick()["devices"][7]
        made = standin.calls() - before
        assert [process["pid"] for process in device["processes"]] == [4000001]
        # GPU 0 had its turn as well.
        assert made["nvmlDeviceGetComputeRunningProcesses_v3"] <= 3
        before = standin.calls()
        standin.configure("[gpu 7]\nproc = 4000001 2100M\n")
        reader.look()
        assert standin.calls() - before == Counter(dict.fromkeys(EVERY_SECOND, GPUS))


def test_nothing_is_ever_set(standin: StandIn) -> None:
    with standin.reader() as reader:
        reader.read()
        reader.tick()
    assert [name for name in standin.calls() if "Set" in name] == []
