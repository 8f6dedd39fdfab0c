"""The series of the process, from the operating system; read by the endpoint's thread, so that the event loop does not
wait."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path

from oncelog.broker.metrics.exposition import Exposition, labels
from oncelog.runtime import real_time

_STARTED_S = real_time.time()
_PROC = Path("/proc/self")


def add_process(page: Exposition) -> None:
    """Add the CPU time, memory, files and threads of this process."""
    times = os.times()
    page.add("process_cpu_seconds_total", times.user + times.system)
    page.add("process_start_time_seconds", _STARTED_S)
    page.add("jvm_threads_current", threading.active_count())
    if sys.platform != "win32":
        import resource

        page.add("process_max_fds", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        page.add("jvm_memory_bytes_max", memory, labels(area="heap"))
    if _PROC.exists():
        _add_proc(page)


def _add_proc(page: Exposition) -> None:
    virtual, resident = (int(pages) for pages in (_PROC / "statm").read_text().split()[:2])
    size = os.sysconf("SC_PAGE_SIZE")
    page.add("process_virtual_memory_bytes", virtual * size)
    page.add("process_resident_memory_bytes", resident * size)
    page.add("jvm_memory_used_bytes", resident * size, labels(area="heap"))
    page.add("process_open_fds", len(os.listdir(_PROC / "fd")))


def add_disk(page: Exposition, data: Path | None) -> None:
    """Add the bytes that this process has read and written, and the free space of the data folder's disk.

    :param data: the data folder, None for a broker in memory.
    """
    if data is not None and data.exists():
        usage = shutil.disk_usage(data)
        page.add("oncelog_data_available_bytes", usage.free)
        page.add("oncelog_data_capacity_bytes", usage.total)
    if not _PROC.exists():
        return
    try:
        counts = dict(line.split(": ") for line in (_PROC / "io").read_text().splitlines())
    except PermissionError:  # a container may forbid reading /proc/self/io
        return
    page.add("kafka_server_kafkaserver_linux_disk_read_bytes", int(counts["read_bytes"]))
    page.add("kafka_server_kafkaserver_linux_disk_write_bytes", int(counts["write_bytes"]))
