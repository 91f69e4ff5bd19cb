"""The bubblewrap that the guest of tests/host holds pinned, as tests/host/pinned says."""

import os
from pathlib import Path

PINNED = "/opt/pinned/bwrap"
LINES = (Path(__file__).resolve().parent.parent / "host/pinned").read_text().splitlines()
DIGEST = {name: digest for digest, name in (line.split() for line in LINES if line[:1] != "#")}["bwrap"]
PIN = {"BERM_BWRAP_PATH": PINNED, "BERM_BWRAP_SHA256": DIGEST}
IS_THERE = os.path.exists(PINNED)
