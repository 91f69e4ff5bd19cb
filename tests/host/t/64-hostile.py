#!/usr/bin/python3
# run as: user root
# long: root
"""What turns against a managed run, from inside and from outside: the report says what ended it, berm comes
to an end, and nothing is left. Each attack on memory succeeds where no limit holds it.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "lib"))
from cgroups import ROOT, tree  # noqa: E402
from duel import ATTACK, LONG  # noqa: E402
from hung_fuse import HungFuse  # noqa: E402
from managed import (AS, DELEGATED, delegated, figure_of, leaf_of, left, own_scope,  # noqa: E402
                     record_of, run, start)
from tap import berm_path, case, cases, main, state_of  # noqa: E402

PYTHON = "/usr/bin/python3"
TINY_ROUNDS = 100 if LONG else 5
HOG = "x = bytearray({} << 20)"


def limited_by_memory(t, done, record):
    report = record["report"]
    t.equal((done.status, report["outcome"], report["termination"]["limit"]),
            (120, "safety_limit_exceeded", "memory"), str(done))
    t.true(report["termination"]["cgroup_events"]["memory_oom"] > 0, report["termination"])
    clean(t, record)


def clean(t, record):
    cleanup = record["report"]["cleanup"]
    t.equal((cleanup["scope_removed"], cleanup["descendants_remaining"], cleanup["errors"]),
            (True, [], []))
    t.equal(left(), ([], []))


# -- memory

MANY = """
import os, time
for i in range(16):
    if os.fork() == 0:
        x = bytearray(8 << 20)
        time.sleep({})
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
LOCKED = """
import ctypes, mmap, resource
hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
libc, kept = ctypes.CDLL(None), []
for i in range(200):
    kept.append(mmap.mmap(-1, 1 << 20))
    libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(kept[-1]))), 1 << 20)
    kept[-1].write(b"x" * (1 << 20))
"""
SHARED = "import os\nfd = os.memfd_create('m')\nfor i in range(200): os.write(fd, bytes(1 << 20))"
HOGS = {"M2 many small children": MANY, "M3 memory that is a file without a name": SHARED,
        "M5 memory that is locked": LOCKED}


def hog(name, script):
    @case(f"{name}: the limit of the whole tree holds it")
    def _(t):
        done, record = run(t, "--memory", "48M", "--", PYTHON, "-c", script.format(60))
        limited_by_memory(t, done, record)
        t.equal(t.run(PYTHON, "-c", script.format(0)).status, 0, "undefended, it has its memory")


for kind, text in HOGS.items():
    hog(kind, text)


@case("M8 R29 the kernel kills in the run's cgroup: also bubblewrap dies, and the caller's shell does not")
def _(t):
    shell = 'for i in 1 2; do "$@" || echo "said $?"; done; echo alive'
    done, record = run(t, "--sandbox", *AS, "--memory", "48M", "--", PYTHON, "-c", HOG.format(200),
                       before=[*own_scope(), "sh", "-c", shell, "sh"])
    t.equal(done.status, 0, str(done))
    t.contains(done.out, b"said 120\nsaid 120\nalive")
    report = record["report"]
    t.equal((report["outcome"], report["termination"]["limit"]), ("safety_limit_exceeded", "memory"))
    clean(t, record)


@case(f"M10 R2 R22 a limit in which nothing can start: {TINY_ROUNDS} of {TINY_ROUNDS} are the limit, never 127",
      deadline_s=1200)
def _(t):
    seen = []
    for number in range(TINY_ROUNDS):
        done, record = run(t, "--memory", "1M", "--", PYTHON, "-c", "pass")
        seen.append((done.status, record["report"]["termination"]["limit"]))
    print(f"# {TINY_ROUNDS} rounds: {sorted(set(seen))}")
    t.equal(set(seen), {(120, "memory")})
    done = t.berm("run", "--memory", "512K", "--", "true")
    t.equal(done.status, 125)
    t.contains(done.err, b"512K is outside its range, 1M to")


# The run's scope lies in a box whose limit is lowered beneath what the payload holds.
BOXED = """
own=/sys/fs/cgroup/$(sed s,^0::/,, /proc/self/cgroup)
box=$own/box
mkdir "$box" "$own/caller"; echo $$ >"$own/caller/cgroup.procs"
echo "+memory +pids" >"$own/cgroup.subtree_control"
berm=$1; shift; verb=$1; shift
"$berm" "$verb" --cgroup-parent "$box" "$@" & berm=$!
read go; echo 0 >"$box/memory.swap.max"; echo 64M >"$box/memory.max"
wait $berm
"""


@case("M9 R3 an ancestor's limit kills in the run: no limit of the run is claimed")
def _(t):
    child = start(t, "--", PYTHON, "-c", f"{HOG.format(100)}; import time; time.sleep(1000)",
                  stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                  before=delegated(script=BOXED))
    t.wait_until(lambda: figure_of("memory.current") > 100 << 20, "the payload to have its memory")
    said = child.communicate(b"go\n", timeout=120)[1].decode()
    t.started.remove(child)
    t.equal(child.returncode, 128 + signal.SIGKILL, said)
    record = record_of(t)
    report = record["report"]
    t.equal((report["outcome"], report["termination"]["limit"], report["termination"]["child_signal"]),
            ("command_failed", None, "SIGKILL"), said)
    t.equal(report["termination"]["cgroup_events"]["memory_oom"], 0)
    clean(t, record)


# -- the tree

@case("R4 T6 a payload that freezes itself: the time limit ends it, and the grace is not waited for in vain")
def _(t):
    freeze = 'echo 1 >"/sys/fs/cgroup$(sed s,^0::,, /proc/self/cgroup)/cgroup.freeze"; exit 7'
    done, record = run(t, "--timeout", "1s", "--grace-ms", "200", "--", "sh", "-c", freeze)
    report = record["report"]
    t.equal((done.status, report["termination"]["limit"]), (124, "timeout"), str(done))
    clean(t, record)


@case("R27 a process of 500 MiB is killed: its cgroup is removed all the same")
def _(t):
    child = start(t, "--grace-ms", "0", "--", PYTHON, "-c", f"{HOG.format(500)}; import time; time.sleep(1000)",
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    t.wait_until(lambda: figure_of("memory.current") > 500 << 20, "the payload to have its memory")
    child.terminate()
    t.equal(child.wait(120), -signal.SIGTERM)
    t.started.remove(child)
    clean(t, record_of(t))


@case("R28 a cgroup that cannot be removed: berm ends, says so, and does not call it a success")
def _(t):
    child = start(t, "--stdin", "inherit", "--", "cat", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                  stderr=subprocess.PIPE)
    t.wait_until(lambda: leaf_of() and (leaf_of() / "cgroup.procs").read_text(), "the payload")
    leaf = leaf_of()
    (leaf / "cgroup.max.descendants").write_text("max")
    (leaf / "held").mkdir()
    said = child.communicate(timeout=120)[1].decode()
    t.started.remove(child)
    report = record_of(t)["report"]
    t.equal((child.returncode, report["outcome"]), (125, "internal_error"), said)
    t.contains(said, str(leaf.parent))
    t.equal(report["cleanup"]["scope_removed"], False)
    for folder in (leaf / "held", leaf, leaf.parent / "anchor", leaf.parent):
        with contextlib.suppress(FileNotFoundError):
            folder.rmdir()
    t.wait_until(lambda: left() == ([], []), "what the test held to be gone")


@case("R26 the same work twice at the same time: each has a unit of its own")
def _(t):
    for place in ("a", "b"):
        (t.dir / place).mkdir(mode=0o755)
    both = [t.start(berm_path(), "run", "--json=record.json", "--stdin", "inherit", "--", "cat", cwd=t.dir / place,
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for place in ("a", "b")]
    t.wait_until(lambda: sum(folder.endswith("/payload") and "berm-" in folder for folder in tree()[1]) == 2,
                 "both to run")
    for child in both:
        said = child.communicate(timeout=120)[1]
        t.started.remove(child)
        t.equal(child.returncode, 0, said)
    t.equal(left(), ([], []))


@case("R30 a run asks systemd for two units at most, and for none in a delegated cgroup")
def _(t):
    trace = ["strace", "-f", "--seccomp-bpf", "-s", "4096", "-e", "trace=sendmsg,sendto,write,writev",
             "-o", str(t.dir / "trace")]
    inside = DELEGATED.replace('exec "$berm"', f'exec {shlex.join(trace)} "$berm"')
    for before, most in ((trace, 2), (delegated(script=inside), 0)):
        done, _ = run(t, "--", "true", before=before)
        t.equal(done.status, 0, str(done))
        calls = (t.dir / "trace").read_text(errors="replace").count("StartTransientUnit")
        print(f"# {calls} calls of StartTransientUnit")
        t.true(calls <= most, calls)
        t.true(calls > 0 or most == 0, "it would have been seen")


@case("R25 systemctl stop of the run's unit: it is no success, and nothing lives on")
def _(t):
    child = start(t, "--", ATTACK, "stubborn-grandchild", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()
    unit = leaf_of().parent.name
    manager = [] if ROOT else ["--user"]
    t.equal(t.run("systemctl", *manager, "stop", unit).status, 0)
    child.communicate(timeout=120)
    t.started.remove(child)
    t.true(child.returncode != 0, child.returncode)
    outcome = record_of(t)["report"]["outcome"]
    t.true(outcome != "success", outcome)
    t.wait_until(lambda: left() == ([], []), "all of it to be gone")


# -- what only root can arrange

if ROOT:
    @case("M6 a run does not swap, though the host can", deadline_s=120)
    def _(t):
        swap = t.dir / "swap"
        with swap.open("wb") as file:
            for _ in range(96):
                file.write(bytes(1 << 20))
        swap.chmod(0o600)
        t.equal(t.run("mkswap", swap).status, 0)
        t.equal(t.run("swapon", swap).status, 0)
        try:
            loose = t.run(*own_scope("MemoryMax=32M"), PYTHON, "-c", HOG.format(64))
            t.equal(loose.status, 0, f"undefended, it swaps: {loose}")
            done, record = run(t, "--memory", "32M", "--", PYTHON, "-c", HOG.format(64))
            limited_by_memory(t, done, record)
        finally:
            t.equal(t.run("swapoff", swap).status, 0)


    def is_cat(pid):
        return Path(f"/proc/{pid}/comm").read_text() == "cat\n"

    @case("T11 a process that no signal ends, since a FUSE server hangs: berm gives up, and says who is left",
          deadline_s=120)
    def _(t):
        t.equal(t.run("modprobe", "fuse").status, 0)
        mount = t.dir / "mount"
        mount.mkdir(mode=0o755)
        with HungFuse(mount) as fuse:
            loose = t.start("cat", str(mount / "x"))
            t.equal(fuse.hang(is_cat), loose.pid)
            loose.kill()
            t.wait_until(lambda: state_of(loose.pid) == "D", "it to wait on, undefended, in spite of SIGKILL")
            child = start(t, "--timeout", "20s", "--", "cat", str(mount / "y"), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
            prey = fuse.hang(is_cat)
            leaf = leaf_of()
            said = child.communicate(timeout=200)[1].decode()
            t.started.remove(child)
            report = record_of(t)["report"]
            t.equal((child.returncode, report["outcome"]), (125, "internal_error"), said)
            t.equal((state_of(prey), report["cleanup"]["scope_removed"]), ("D", False), said)
            t.contains(report["cleanup"]["descendants_remaining"], prey)
            t.contains(said, str(prey))
            t.true(str(prey) in (leaf / "cgroup.procs").read_text(), leaf)
        t.wait_until(lambda: state_of(prey) in "-Z", "the kernel to let go of it")
        t.berm("recover", "--runs")
        t.wait_until(lambda: left() == ([], []), "what was left to be gone")


ONLY_ROOT = ("M6 ", "T11 ")
if ROOT and not LONG:  # all else is the same for both
    cases[:] = [one for one in cases if one[0].startswith(ONLY_ROOT)]
os.umask(0o022)
main()
