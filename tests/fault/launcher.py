#!/usr/bin/python3
"""Every kernel call of the launcher fails once, or claims success and does nothing.

Whichever it is: the launch ends by itself, with a word of why; or the payload runs, and then everything
that was to be closed is closed. Nothing in between, and nothing is left.
"""

import os
import select
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import SLOWNESS, case, children, main  # noqa: E402

DRIVE = os.path.abspath(sys.argv.pop(1))
SH = os.path.realpath("/bin/sh")
LONG = bool(os.environ.get("BERM_TEST_LONG"))
ERRNOS = ["EIO", "ENOSYS", "EPERM", "ENOENT", "EAGAIN"] if LONG else ["EIO"]
SILENT_S = 1 * SLOWNESS
AFTER_THE_LOG = 260  # calls after its descriptor is closed: capabilities are the most of them
# What stands between the payload and the host: if all such calls do nothing, none of them is believed.
GUARDS = ["mount", "open_tree", "move_mount", "mount_setattr", "unshare", "capset", "prctl", "mkdirat",
          "openat2", "fstatfs", "statx", "newfstatat", "openat", "prlimit64", "close_range", "setsid", "seccomp"]
CLOSED = """
exec 3>&2
for place in "$1/closed/x" "$1/covered/x" /run/x /run/berm/x /run/berm/private/x /dev/x /home/x /usr/x \
             /proc/sys/kernel/x; do
    if true >"$place"; then echo "open: $place" >&3; fi
done 2>/dev/null
for folder in /tmp /var/tmp /dev/shm; do # SB-8
    ln -s / $folder/link && [ -e $folder/link/. ] && echo "open: $folder/link" >&3
done
if [ -e "$1/../beside" ]; then echo "open: ${1%/*}" >&3; fi
while read -r name value; do
    case $name in
        CapInh:|CapPrm:|CapEff:|CapBnd:|CapAmb:) [ "$value" = 0000000000000000 ] || echo "has $name" >&3 ;;
        NoNewPrivs:) [ "$value" = 1 ] || echo "has $name" >&3 ;;
        Seccomp:) [ "$value" = 2 ] || echo "has no filter" >&3 ;;
        SigBlk:) [ "$value" = 0000000000000000 ] || echo "has $name" >&3 ;;
        NSsid:) [ "$value" = $$ ] || echo "has $name" >&3 ;;
    esac
done </proc/self/status
[ "$(ulimit -c)" = 0 ] || echo "has a core" >&3
for fd in /proc/self/fd/*; do
    case ${fd##*/} in
        [0123]) ;;
        *) if [ -e "$fd" ]; then echo "has $fd" >&3; fi ;;
    esac
done
echo ran >&3
"""


def drive(t, fault=None, log=None):
    """(words, output) of one launch; the drive ends when bubblewrap did."""
    root = t.dir / "root"
    options = ["--release", "--filter", "--no-links", "--bind", root, "--item", "keep", root, "--item", "writable", root,
               "--item", "close", root / "closed", "--item", "mask", root / "covered",
               "--item", "pin", root / "pinned", "--item", "expect", root]
    options += ["--log", log] if log else []
    env = t.env | ({"BERM_FAULT": fault} if fault else {})
    child = subprocess.Popen([DRIVE, *map(str, options), "--", SH, "-c", CLOSED, "x", root], env=env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.started.append(child)
    words, rest = [], b""
    # A launcher that is silent, because its word or its wait failed, is ended at its deadline.
    while not any(w.startswith(("ended", "failed", "not-executed", "gone")) for w in words):
        if not select.select([child.stdout], [], [], SILENT_S)[0]:
            words.append("silent")
            break
        rest += os.read(child.stdout.fileno(), 4096)
        words = rest.decode(errors="replace").splitlines()
    output = child.communicate(b"kill\nhang-up\n", timeout=30 * SLOWNESS)[1]
    t.started.remove(child)
    # The drive is gone, and with it whoever it had started: the kernel ends them, in its own time.
    t.wait_until(lambda: not children(), f"{fault}: the sandbox ends with its drive")
    return words, output.decode(errors="replace")


def folders(t):
    for name in ("closed", "covered", "pinned"):
        (t.dir / "root" / name).mkdir(parents=True)
    (t.dir / "beside").touch()


def judge(t, fault, words, output):
    ran = "ran" in output.split()
    t.true("open:" not in output and "has " not in output, f"{fault}: {words} {output}")
    t.true(ran or any(word.startswith(("failed", "not-executed", "ready")) for word in words)
           or not any(word.startswith("executed") for word in words), f"{fault}: {words} {output}")
    t.true(ran or not any(word.startswith("ended 0 0") for word in words),
           f"{fault}: a success of what did not run: {words} {output}")
    return ran


@case("each call of the launcher fails once", deadline_s=3000)
def _(t):
    folders(t)
    log = t.dir / "log"
    words, output = drive(t, log=log)
    t.true("ran" in output, f"{words} {output}")
    calls = sum(line.startswith("launcher ") for line in log.read_text().splitlines())
    t.true(calls > 100, f"only {calls} calls are in the log")
    for errno in [*ERRNOS, "noop"]:
        ran = 0
        for number in range(1, calls + AFTER_THE_LOG):
            fault = f"launcher:{number}:{errno}"
            ran += judge(t, fault, *drive(t, fault))
        print(f"# {errno}: {calls + AFTER_THE_LOG} calls, {ran} times the payload ran all the same")


@case("a guard that claims to have done its work is asked again", deadline_s=300)
def _(t):
    folders(t)
    words, output = drive(t)
    t.true(judge(t, "none", words, output), f"{words} {output}")
    print(f"# {words[0]}")
    abi = next(int(word.split()[1]) for word in words if word.startswith("ready"))
    for name in [*GUARDS, *["landlock_restrict_self"] * (abi >= 2)]:
        fault = f"launcher:{name}:noop"
        words, output = drive(t, fault)
        t.true(not judge(t, fault, words, output), f"{fault}: {words} {output}")


main()
