"""Declared work: a repository of it, what holds its turn, and what a death leaves of it."""

import os
from pathlib import Path

CLAIM = Path(f"/run/lock/berm-production-{os.geteuid()}")  # of whoever has the turn
YAML = "schema: 1\nentrypoint:\n  work: { argv: [bench/work] }\n"

# What a death at a boundary leaves of a run at a tier, besides its slot: (fences, promotions).
LEFT = {"SNAPSHOT_TAKEN": (0, 0), "LOCK_CLAIMED": (0, 0), "FENCE_WRITTEN": (1, 0), "FENCE_CLEARED": (0, 0), "PROMOTED": (0, 1)}


def repository(top, script=""):
    """Made there, or changed: one whose entrypoint is that script of the shell; its folder."""
    for folder in (".git", "bench"):
        (top / folder).mkdir(parents=True, exist_ok=True)
    (top / "berm.yaml").write_text(YAML)
    work = top / "bench/work"
    work.write_text("#!/bin/sh\n" + script)
    work.chmod(0o755)
    return top
