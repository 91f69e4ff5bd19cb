#!/usr/bin/python3
# run as: user
"""What a sandbox can promise on Linux 6.1: Landlock is there, its scopes are not."""

import json
import socket
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from tap import case, main

CLOSED = {"filesystem", "writable-roots", "descendants", "temp-bytes", "temp-inodes", "syscalls"}
HELD = {"memory", "pids", "swap"}  # by the scope
CONNECT = "import socket; socket.socket(socket.AF_UNIX).connect('\\0berm-host')"


def sandboxed(t, *options):
    """The levels of a run that connects to an abstract socket of this process, and whether it could."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0berm-host")
        server.listen()
        done = t.berm("run", "--json=record.json", "--sandbox", *options, "--cwd", "/", "--",
                      "/usr/bin/python3", "-c", CONNECT)
    return json.loads((t.dir / "record.json").read_text())["guarantees"], done.status == 0


@case("SB-5 CT-1 control-sockets is what the kernel's Landlock can keep, and said to be")
def _(t):
    levels, connected = sandboxed(t)
    t.equal({name for name, one in levels.items() if one["level"] == "enforced"},
            CLOSED | HELD | {"network", "control-sockets"})
    t.true(not connected, "a network of its own closes abstract sockets")
    levels, connected = sandboxed(t, "--network", "host")
    t.equal({name for name, one in levels.items() if one["level"] == "enforced"}, CLOSED | HELD)
    t.equal(levels["control-sockets"]["level"], "none")
    t.contains(levels["control-sockets"]["why"], "Landlock does not close abstract sockets")
    t.true(connected, "and it is true: that socket could be reached")


@case("EN-1 the envelope foresees it")
def _(t):
    could = t.berm("envelope", "--json").json()["adapter"]["with_sandbox"]
    t.equal(set(could["enforced"]), CLOSED | HELD | {"network", "control-sockets"})


main()
