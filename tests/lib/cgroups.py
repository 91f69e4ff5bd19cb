"""The cgroups of the virtual host, and who is the manager of the test's own user there."""

import contextlib
import os
from pathlib import Path

TREE = Path("/sys/fs/cgroup")
ROOT = os.geteuid() == 0
MANAGER = [] if ROOT else ["--user"]  # options of systemctl and systemd-run


def tree():
    """({pid}, {folder}) of all cgroups: every process is in one, and the kernel's are in the root."""
    pids, folders = set(), set()
    for folder, _, _ in os.walk(TREE):
        folders.add(folder)
        if folder != str(TREE):
            with contextlib.suppress(OSError):
                pids |= set(Path(folder, "cgroup.procs").read_text().split())
    return pids, folders
