#!/usr/bin/python3
# run as: user
# long
"""Whoever asks to stop while systemd does not answer is heard, and nothing is left when it answers after all."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "lib"))
from scopes import NothingLeft  # noqa: E402
from tap import case, main  # noqa: E402

AGAIN_S = 0.2  # between two keys of somebody who has no patience


def manager_pid(t):
    shown = t.run("systemctl", "show", f"user@{os.getuid()}.service", "-p", "MainPID", "--value")
    return int(shown.out)


def helpers():
    """The arguments of berm's helper processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == b"berm-helper":
            found.append(words[1].decode())
    return found


@case("LC-3 R19 Ctrl-C while systemd does not answer: berm ends, and says that it was asked to", deadline_s=120)
def _(t):
    manager = manager_pid(t)
    with NothingLeft(t):
        os.kill(manager, signal.SIGSTOP)
        try:
            child = t.start_berm("run", "--report", "r.json", "--", "/bin/sh", "-c", "echo ran",
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            t.wait_until(lambda: "anchor" in helpers(), "berm to ask for a scope")
            while child.poll() is None:
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(AGAIN_S)
                except subprocess.TimeoutExpired:
                    pass
            t.equal((child.returncode, child.stdout.read()), (-signal.SIGINT, b""))
            t.started.remove(child)
        finally:
            os.kill(manager, signal.SIGCONT)
    report = json.loads((t.dir / "r.json").read_text())
    # The anchor stays as long as systemd may look for its number, and that is told as well.
    t.equal((report["termination"]["limit"], report["termination"]["reason"]), ("signal", "cleanup_incomplete"))
    t.contains(report["error"]["message"], "the scope of the run could not be removed: the anchor")
    t.equal(t.berm("validate-report", "--file", "r.json").status, 0)


main()
