#!/usr/bin/python3
# run as: user root
# long
"""Scopes of runs: in units of systemd, from a service and a login session, and in cgroups of one's own. What a
scope says of itself is compared with what the kernel says to this test.
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from cgroups import MANAGER, ROOT, TREE  # noqa: E402
from duel import ATTACK  # noqa: E402
from scopes import (DELEGATED, DRIVE, MIB, PARENT, SYSTEMD, Drive, NothingLeft,  # noqa: E402
                    check_limits, has, scope, stands_in)
from tap import case, children, main  # noqa: E402

SESSION = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", "--property=User=tester",
           "--property=PAMName=login"]


def check_place(t, adapter, *options, before=(), where=""):
    with NothingLeft(t):
        drive = Drive(t, "--memory", 67109000, "--high", 50000000, "--pids", 30, *options,
                      before=before).made()
        t.equal(drive.adapter, adapter)
        t.contains(str(drive.scope), where)
        check_limits(t, drive, 67109000, 50000000, 30)
        if drive.watchdog:
            t.contains(stands_in(drive.watchdog), drive.unit.replace(".scope", "-watchdog.scope"))
        if adapter == SYSTEMD:
            shown = t.run("systemctl", *(MANAGER if where != "user@1000" or not ROOT else
                                         ["--user", "--machine=tester@"]), "show", drive.unit, "-p",
                          "OOMPolicy,TimeoutStopUSec,Delegate")
            t.equal(sorted(shown.out.decode().split()),
                    ["Delegate=yes", "OOMPolicy=continue", "TimeoutStopUSec=5s"], str(shown))
        counters = drive.values("counters")
        t.equal((counters["pids_current"], counters["io_read_bytes"]), (1, -1))
        t.true(0 < counters["memory_current_bytes"] <= counters["memory_peak_bytes"], counters)
        drive.order("kill", "empty")
        counters = drive.values("counters")
        t.true(counters["memory_peak_bytes"] > 0 and counters["cpu_us"] > 0 and counters["pids_peak"] == 1,
               f"after the last process: {counters}")
        drive.leave()


@case("CT-2 in a unit of systemd, from a service: the limits are the kernel's, and nothing is left")
def _(t):
    check_place(t, SYSTEMD, "--watchdog", where="system.slice" if ROOT else "user@1000.service")


if not ROOT:
    @case("CT-2 without XDG_RUNTIME_DIR the user's manager is found all the same")
    def _(t):
        check_place(t, SYSTEMD, "--runtime-dir", "", where="user@1000.service")

if ROOT:
    @case("CT-2 from a login session, which may place no process in the manager's tree by itself")
    def _(t):
        check_place(t, SYSTEMD, "--watchdog", before=SESSION, where="user@1000")


@case("CT-2 in a delegated cgroup that is named")
def _(t):
    check_place(t, DELEGATED, "--parent", PARENT, where=".service/berm-")


# Without systemd's own traces, as in a container: what is left is the cgroup that one stands in.
ALONE = 'mount -t tmpfs none /run && exec "$@"'
HIDDEN = ["unshare", "--mount", *([] if ROOT else ["--map-root-user"]), "sh", "-ec", ALONE, "-"]


@case("CT-2 in a delegated cgroup that is owned, where there is no systemd")
def _(t):
    check_place(t, DELEGATED, before=HIDDEN, where=".service/berm-")


# -- refusals

def refused(t, *options, before=(), adapter="none"):
    """{code: text} of what kept the adapter from being had."""
    done = t.run(*before, DRIVE, "--probe", *options)
    lines = done.out.decode().splitlines()
    t.equal(lines[0].split(" ")[:2], ["offer", adapter], str(done))
    return {line.split(" ")[1]: line for line in lines[1:]}


IN_UNIT = 'cd /sys/fs/cgroup/$(sed s,^0::/,, /proc/self/cgroup); exec "$0" --probe --parent "$PWD"'
WITHOUT_PIDS = """cd /sys/fs/cgroup/$(sed s,^0::/,, /proc/self/cgroup); mkdir own bare; echo $$ >own/cgroup.procs
echo +memory >cgroup.subtree_control; exec "$0" --probe --parent "$PWD/bare" """


@case("R12 CT-3 what a cgroup lacks is named, with the file and what helps")
def _(t):
    with NothingLeft(t):
        done = t.run(*scope("Delegate=yes"), "sh", "-ec", IN_UNIT, DRIVE)
        t.contains(done.out.decode(), "obstacle processes '/sys/fs/cgroup/")
        t.contains(done.out.decode(), "/cgroup.procs' is not empty")
        t.contains(done.out.decode(), "| move them one cgroup down")
        done = t.run(*scope("Delegate=yes"), "sh", "-ec", WITHOUT_PIDS, DRIVE)
        t.contains(done.out.decode(), "/bare/cgroup.controllers' has only 'memory'")
        t.contains(done.out.decode(), "echo '+memory +pids' >cgroup.subtree_control")
    for folder in ("/tmp", "/sys/fs/cgroup/berm-missing", "/sys/fs/cgroup/../../../tmp"):
        t.equal(set(refused(t, "--parent", folder)), {"no_cgroup"}, folder)
    if not ROOT:
        for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/system.slice"):
            text = refused(t, "--parent", folder)["not_writable"]
            t.contains(text, f"'{folder}")


if ROOT:
    # A session's cgroup is root's.
    @case("CT-3 in a login session without its manager: no socket, and no cgroup of one's own")
    def _(t):
        hide = "mount -t tmpfs none /run/user && exec setpriv --reuid=1000 --regid=1000 --clear-groups \"$@\""
        inside = ["unshare", "--mount", "sh", "-ec", hide, "-"]
        told = refused(t, before=inside)
        t.contains(told["no_manager"], "/run/user/1000")
        t.contains(told["no_manager"], "loginctl enable-linger")
        t.contains(told["not_writable"], "may not be written")

    @case("CT-3 without libsystemd, and with a manager that does not answer, it is said so")
    def _(t):
        found = next(Path("/usr/lib/x86_64-linux-gnu").glob("libsystemd.so.0.*"))
        hide = f"mount --bind /dev/null {found} && exec \"$@\""
        without = ["unshare", "--mount", "sh", "-ec", hide, "-"]
        told = refused(t, "--ask", before=[*scope(), *without])
        t.contains(told["no_library"], "libsystemd")
        t.contains(told["no_library"], "install libsystemd")
        t.contains(told["not_writable"], "belongs to systemd, which delegated nothing there")
        told = refused(t, "--ask", before=[*scope("Delegate=yes"), *without])
        t.contains(told["processes"], "no internal processes")
        told = refused(t, "--ask", before=without, adapter=DELEGATED)
        t.equal(set(told), {"no_library", "processes"}, "the own unit has a leaf for its processes")
        deaf = """import os, socket, subprocess, sys
os.makedirs("/run/dbus"); os.makedirs("/run/systemd/system")
s = socket.socket(socket.AF_UNIX); s.bind("/run/dbus/system_bus_socket"); s.listen()
sys.exit(subprocess.call(sys.argv[1:]))"""
        told = refused(t, "--ask", before=[*scope(), *HIDDEN, sys.executable, "-c", deaf])
        t.contains(told["no_answer"], "'/run/dbus/system_bus_socket': systemd did not answer in time")


@case("CT-3 a name that is taken, and a manager that takes too long: an error, and nothing is left")
def _(t):
    with NothingLeft(t):
        first = Drive(t).made()
        second = Drive(t, "--name", first.unit)
        t.contains(second.until("error"), "org.freedesktop.systemd1.UnitExists")
        second.child.stdin.close()
        second.child.wait()
        t.equal(has(first.leaf, "cgroup.procs"), str(first.gate), "the first is untouched")
        first.end()
        late = Drive(t, "--deadline-ms", 1)
        t.contains(late.until("error"), "in time")
        late.child.stdin.close()
        late.child.wait()


# -- events and counters

@case("M1 M7 the leaf's own limit: oom counts in the leaf, all of it is killed, and the anchor lives")
def _(t):
    both = 'for i in 1 2 3; do sleep 1000 & done; exec "$0" memory 200'
    with NothingLeft(t):
        drive = Drive(t, "--memory", 40 * MIB, payload=("sh", "-c", both, ATTACK)).made()
        t.equal(drive.order("wait", "ended"), "2 9", "killed by SIGKILL")
        events = drive.values("events")
        # Each charge that found nothing to reclaim is counted: a second process of the group can come there as well
        # before it is killed.
        t.true(events["oom"] > 0 and events["oom_kill"] > 1 and events["memory_max"] > 0, events)
        t.wait_until(lambda: drive.values("events")["populated"] == 0, "the whole group to die")
        counters = drive.values("counters")
        t.equal(counters["memory_peak_bytes"], 40 * MIB)
        t.equal(stands_in(drive.anchor), "/" + str(drive.scope.relative_to(TREE)) + "/anchor")
        drive.leave()


@case("T4 M2 a fork bomb: refused forks are told by the kernel, and a kill leaves nothing", deadline_s=120)
def _(t):
    with NothingLeft(t):
        drive = Drive(t, "--pids", 64, payload=(ATTACK, "bomb", 1000)).made()
        while (events := drive.values("watch 1"))["pids_max"] < 1:
            pass
        t.true(events["pids_max"] > 0 and events["populated"] == 1, events)
        drive.order("kill", "empty")
        t.equal(drive.values("counters")["pids_peak"], 64)
        drive.leave()


@case("M4 page cache alone never kills: it is reclaimed at the limit")
def _(t):
    cache = "dd if=/dev/zero of=$0 bs=1M count=96 status=none; rm $0"
    with NothingLeft(t):
        drive = Drive(t, "--memory", 32 * MIB, payload=("sh", "-c", cache, "/var/tmp/berm-cache-%d" % os.getpid()))
        drive.made()
        t.equal(drive.order("wait", "ended"), "1 0")
        events, counters = drive.values("events"), drive.values("counters")
        t.equal((events["oom"], events["oom_kill"]), (0, 0), events)
        t.true(counters["memory_peak_bytes"] > 31 * MIB, counters)
        drive.leave()


@case("M1 the kernel tells of waiting for memory, in windows of two seconds")
def _(t):
    with NothingLeft(t):
        drive = Drive(t, "--memory", 64 * MIB, "--high", 16 * MIB, payload=(ATTACK, "memory", 60)).made()
        t.true(drive.order("pressure 100", "pressure").startswith("1 2"), drive.said[-1])
        t.true(drive.values("events")["memory_high"] > 0, drive.said[-1])
        t.true(drive.values("counters")["memory_some_us"] > 0, drive.said[-1])
        drive.end()


@case("CT-2 what was read and written is counted where io is handed down, and unknown elsewhere")
def _(t):
    write = "dd if=/dev/zero of=$0 bs=1M count=8 conv=fsync status=none; rm $0"
    with NothingLeft(t):
        drive = Drive(t, "--io", "--memory", 64 * MIB,
                      payload=("sh", "-c", write, "/var/tmp/berm-io-%d" % os.getpid())).made()
        t.equal(drive.order("wait", "ended"), "1 0")
        written = drive.values("counters")["io_written_bytes"]
        if "io" in has(drive.leaf, "cgroup.controllers").split():
            t.true(written >= 8 * MIB, drive.said[-1])
        else:
            t.equal((ROOT, written), (False, -1), "Debian hands io to no user")
        drive.leave()


@case("T6 the payload can make no cgroup beneath its own")
def _(t):
    deeper = "mkdir /sys/fs/cgroup$(sed s,^0::,, /proc/self/cgroup)/deeper && exit 7; exit 0"
    with NothingLeft(t):
        drive = Drive(t, payload=("sh", "-c", deeper)).made()
        t.equal(drive.order("wait", "ended"), "1 0")
        drive.leave()


# -- ends from outside

FAMILY = (ATTACK, "stubborn-grandchild")


def ends_by_anchor(t, *options, before=(), end=lambda drive: drive.child.kill()):
    """The driver dies without a word; the anchor is the last that can end its payload."""
    drive = Drive(t, *options, payload=FAMILY, before=before).made()
    t.wait_until(lambda: len(has(drive.leaf, "cgroup.procs").split()) == 3, "the payload's family")
    end(drive)
    t.wait_until(lambda: not drive.leaf.exists(), "the anchor to end the payload and remove the leaf")
    t.wait_until(lambda: drive.anchor not in dict(children()), "the anchor to leave")
    if drive.adapter == DELEGATED:
        (drive.scope / "anchor").rmdir()
        drive.scope.rmdir()
    t.wait_until(lambda: not drive.scope.exists(), "the scope to go")
    drive.child.wait()


@case("R15 the death of all who hold the anchor's channel ends the payload")
def _(t):
    with NothingLeft(t):
        ends_by_anchor(t)
        ends_by_anchor(t, "--parent", PARENT)
    with NothingLeft(t):
        drive = Drive(t, payload=FAMILY).made()
        drive.order("release", "released")
        t.wait_until(lambda: not drive.leaf.exists(), "the anchor to end the payload")
        t.equal(drive.values("events")["populated"], 0)
        drive.leave()


if ROOT:
    @case("R15 SIGKILL to everything in a login session: the anchor stands elsewhere, and ends the payload")
    def _(t):
        def kill_session(drive):
            # The driver is in the session's scope, and this process is not.
            pid = next(int(one) for one in os.listdir("/proc") if one.isdigit() and
                       Path(f"/proc/{one}/comm").read_text() == "scope-drive\n")
            unit = stands_in(pid).rsplit("/", 1)[1]
            t.contains(unit, "session-")
            t.equal(t.run("systemctl", "kill", "--signal=SIGKILL", unit).status, 0)
        with NothingLeft(t):
            ends_by_anchor(t, before=SESSION, end=kill_session)


@case("R15 systemctl stop of the unit: emptiness is proved by the leaf's absence, and counters are unknown",
      deadline_s=120)
def _(t):
    with NothingLeft(t):
        drive = Drive(t, payload=FAMILY).made()
        t.equal(t.run("systemctl", *MANAGER, "stop", drive.unit, deadline_s=30).status, 0)
        t.wait_until(lambda: not drive.scope.exists(), "systemd to remove the scope")
        t.equal(drive.values("events")["populated"], 0)
        t.equal(set(drive.values("counters").values()), {-1})
        t.contains(drive.order("kill", "empty"), "after 0 kills")
        drive.leave()


@case("R15 systemd ends the scope at its last time, whoever else is dead", deadline_s=120)
def _(t):
    with NothingLeft(t):
        drive = Drive(t, "--runtime-ms", 2000).made()
        t.wait_until(lambda: not drive.scope.exists(), "systemd to end it", deadline_s=30)
        t.equal(drive.values("events")["populated"], 0)
        drive.leave()


main()
