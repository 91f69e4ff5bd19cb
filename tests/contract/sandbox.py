#!/usr/bin/python3
"""What `--sandbox` promises to whoever uses it: the same exits, limits with names, words that help.

Run by root, the payload is nobody's; what must belong to it is given to it.
"""

import json
import os
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import berm_path, case, main

ROOT = os.geteuid() == 0
USER = 65534 if ROOT else os.geteuid()
AS = ["--user", f"{USER}:{USER}"] if ROOT else []
BOX = ["run", "--report", "r.json", "--json=record.json", "--sandbox", *AS]


def folder(t, name):
    """A folder of the payload's in the test's own, which it may pass through."""
    t.dir.chmod(0o755)
    path = t.dir / name
    path.mkdir()
    if ROOT:
        os.chown(path, USER, USER)
    return path


def run(t, *words, **how):
    t.dir.chmod(0o755)
    done = t.berm(*BOX, *words, **how)
    record = json.loads((t.dir / "record.json").read_text())
    valid = t.berm("validate-report", "--file", "r.json")
    t.equal(valid.status, 0, str(valid))
    return done, record


def script(text):
    return ["--", "/bin/sh", "-c", text]


@case("R32 a working folder that the user may not enter is a refusal: folder, user and remedy")
def _(t):
    shut = t.dir / "shut"
    (shut / "below").mkdir(parents=True)
    shut.chmod(0)
    try:
        for wanted in [shut, shut / "below"] if ROOT else [shut]:
            done, _ = run(t, "--cwd", wanted, "--", "/bin/true")
            t.equal(done.status, 121, str(done))
            for word in (str(wanted), f"user {USER}:", "may not enter", "fix "):
                t.contains(done.err.decode(), word)
    finally:
        shut.chmod(0o700)


@case("T12 every way to end is told as without a sandbox: codes, signals, what cannot be executed")
def _(t):
    (t.dir / "text").write_text("no program\n")
    (t.dir / "text").chmod(0o755)
    for words, status, signalled in (
            (script("exit 0"), 0, None), (script("exit 3"), 3, None),
            (script("exit 137"), 137, None), (script("kill -KILL $$"), 137, "SIGKILL"),
            (script("kill -ABRT $$"), 134, "SIGABRT"), (["--", "./text"], 126, None),
            (["--", "/no/such"], 127, None)):
        done, record = run(t, *words)
        t.equal(done.status, status, str(done))
        t.equal(record["report"]["termination"]["child_signal"], signalled, words)


@case("X1 T3 SIGTERM reaches the payload and not bubblewrap: its grace is its own; then it is killed")
def _(t):
    # It waits for both: who has ended by the first is not sent the other.
    done, record = run(t, "--timeout", "300ms", "--grace-ms", 20000,
                       *script("trap 'echo told' TERM; trap 'exit 9' CONT; "
                               "while :; do sleep 0.01; done"))
    t.equal((done.status, done.out), (124, b"told\n"), str(done))
    t.equal(record["report"]["termination"]["requested_signals"], ["SIGTERM", "SIGCONT"])
    done, record = run(t, "--timeout", "300ms", "--grace-ms", 50,
                       *script("trap '' TERM; (trap '' TERM; sleep 100) & while :; do sleep 1; done"))
    t.equal(done.status, 124, str(done))
    t.equal(record["report"]["termination"]["requested_signals"], ["SIGTERM", "SIGCONT", "SIGKILL"])
    t.equal(record["report"]["cleanup"]["descendants_remaining"], [])
    # What was killed has used what it used: its time is not lost with its namespace.
    done, record = run(t, "--timeout", "500ms", "--grace-ms", 0, *script("while :; do :; done"))
    t.true(record["cpu"]["user_ns"] + record["cpu"]["system_ns"] > 50_000_000, record["cpu"])


@case("T1 T17 a daemon is ended with the sandbox, and counted")
def _(t):
    done, record = run(t, "--grace-ms", 50, *script("(setsid sleep 100 &); exit 5"))
    t.equal(done.status, 5, str(done))
    t.contains(done.err.decode(), "left   nothing (1 process ended")


HOST_WITHOUT = """
cp "$0" ./berm; mount -t tmpfs x /var; $1
shift; exec ./berm "$@"
"""


@case("SB-7 a host whose /var/tmp is a link, or that has none, runs a sandbox all the same")
def _(t):
    if not ROOT:
        t.skip("only root may mount everywhere; root runs it as well")
    t.dir.chmod(0o755)
    for made in (":", "ln -s ../tmp /var/tmp", "ln -s /nowhere /var/tmp", "touch /var/tmp"):
        done = t.run("unshare", "--mount", "--propagation", "private", "sh", "-euc", HOST_WITHOUT,
                     berm_path(), made, *BOX, *script("echo x >/tmp/x && stat -fc %T /tmp"))
        t.equal((done.status, done.out), (0, b"tmpfs\n"), f"{made}: {done}")


@case("I10 what has the name of a device on the host, and is another, is no device of a sandbox")
def _(t):
    if not ROOT:
        t.skip("only root may mount everywhere; root runs it as well")
    t.dir.chmod(0o755)
    for other in ("/etc/hostname", "/dev/kmsg"):
        done = t.run("unshare", "--mount", "--propagation", "private", "sh", "-euc",
                     'mount --bind "$1" /dev/zero; shift; exec "$@"', "sh", other,
                     berm_path(), *BOX, "--", "/bin/true")
        t.equal(done.status, 121, str(done))
        t.contains(done.err.decode(), "take the devices of its /dev: /dev/zero")


@case("D1 D2 R20 R21 bytes and files have a quota: ENOSPC for the payload, a limit with its name for you")
def _(t):
    for option, text, limit in (
            ("--temporary=2M", "dd if=/dev/zero of=/dev/shm/x bs=1M count=9 2>/dev/null", "temporary_disk"),
            ("--temporary=2M", "dd if=/dev/zero of=/var/tmp/x bs=1M count=9 2>&1; sleep 100", "temporary_disk"),
            ("--temporary-files=300", "i=0; while : >/tmp/$i; do i=$((i+1)); done", "temporary_inodes")):
        done, record = run(t, option, *script(text))
        t.equal(done.status, 120, str(done))
        report = record["report"]
        t.equal((report["outcome"], report["termination"]["limit"]),
                ("safety_limit_exceeded", limit))
        t.contains(done.err.decode(), f"(from {option.split('=')[0]})")
    done, record = run(t, "--temporary=8M", *script("echo x >/tmp/a; cat /tmp/a"))
    t.equal((done.status, done.out), (0, b"x\n"), str(done))
    limits = {one["name"]: one["value"] for one in record["limits"]}
    t.equal(limits["temporary"], 8 << 20)
    t.equal(limits["temporary files"], 131072)


@case("SB-2 R32 --writable opens a folder, and nothing is made in any other")
def _(t):
    out = folder(t, "out")
    before = sorted(str(path) for path in t.dir.rglob("*"))
    done, record = run(t, "--writable", "out", *script("echo made >out/file && ! echo >other"))
    t.equal(done.status, 0, str(done))
    t.equal((out / "file").read_text(), "made\n")
    (out / "file").unlink()
    for name in ("r.json", "record.json"):
        (t.dir / name).unlink()
    t.equal([p for p in sorted(str(path) for path in t.dir.rglob("*"))
             if "/state" not in p and "/home" not in p],
            [p for p in before if "/state" not in p and "/home" not in p], "R34")
    t.equal({name for name, one in record["guarantees"].items() if one["level"] == "enforced"},
            {"filesystem", "writable-roots", "network", "descendants", "temp-bytes", "temp-inodes",
             "control-sockets", "syscalls"})
    t.equal(record["containment"], "partial")


@case("SB-4 RS-1 what must not be opened is refused, all reasons at once, and nothing is run")
def _(t):
    folder(t, "out")
    done, record = run(t, "--writable", "missing", "--writable", "/tmp", "--writable", "/",
                       "--writable", "out", *script("echo ran"))
    t.equal((done.status, done.out), (121, b""), str(done))
    failed = [check for check in record["report"]["preflight"]["checks"] if not check["ok"]]
    t.equal([check["code"] for check in failed], ["preflight.roots"] * 3, failed)
    for word in ("missing", "/tmp", "as a whole"):
        t.contains(done.err.decode(), word)


@case("options that mean something only in a sandbox are refused without one")
def _(t):
    for words in (["--writable", "."], ["--readable", "."], ["--network", "host"],
                  ["--user", "65534"], ["--gpu"], ["--temporary", "8M"], ["--temporary-files", "500"]):
        done = t.berm("run", *words, "--", "touch", "ran")
        t.equal(done.status, 121, str(done))
        t.contains(done.err.decode(), "has a meaning only in a sandbox")
        t.contains(done.err.decode(), "add --sandbox")
    t.true(not (t.dir / "ran").exists(), "nothing was run")


@case("IB-3 SB-5 the environment: a home that can be written, nothing that leads to a daemon")
def _(t):
    done, _ = run(t, "--env-all", *script('env; echo x >"$HOME/x" && cat "$HOME/x"'),
                  env={"HOME": "/root", "TMPDIR": "/var/tmp", "DOCKER_HOST": "unix:///d.sock",
                       "XDG_RUNTIME_DIR": "/run/user/1", "GREETING": "hello"})
    t.equal(done.status, 0, str(done))
    lines = done.out.decode().splitlines()
    for line in ("HOME=/tmp/home", "TMPDIR=/tmp", "GREETING=hello", "x"):
        t.contains(lines, line)
    t.true(not [one for one in lines if re.match("DOCKER_HOST|XDG_RUNTIME_DIR", one)], lines)


@case("I10 the payload that makes a .git or .berm is told on")
def _(t):
    folder(t, "out")
    done, record = run(t, "--writable", "out", *script("mkdir out/.git"))
    t.equal(done.status, 0, str(done))
    t.contains(json.dumps(record["notes"]), "out/.git")
    t.contains(done.err.decode(), "out/.git")


@case("--explain --sandbox shows mounts, closures, calls and their origin, and runs nothing")
def _(t):
    folder(t, "out")
    done = t.berm("run", "--explain", "--sandbox", *AS, "--writable", "out", "--", "touch", "ran")
    t.equal(done.status, 0, str(done))
    text = done.out.decode()
    for words in ("the host, read-only", f"writable           {t.dir}/out  (--writable)",
                  "network      isolated", "keyctl", "temporary files"):
        t.contains(text, words)
    explained = t.berm("run", "--explain", "--json", "--sandbox", *AS, "--", "touch", "ran").json()
    t.equal(explained["sandbox"]["verified"], False)
    t.true(not (t.dir / "ran").exists(), "nothing was run")


@case("a program of 32 bits is refused, and ended where another program starts it")
def _(t):
    t.dir.chmod(0o755)
    # exit(0) by int 0x80, behind the shortest header that the kernel takes
    code = bytes.fromhex("b801000000 31db cd80".replace(" ", ""))
    header = struct.pack("<4s4B8x2H5I6H", b"\x7fELF", 1, 1, 1, 0, 2, 3, 1, 0x8048054, 52, 0, 0,
                         52, 32, 1, 0, 0, 0)
    segment = struct.pack("<8I", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096)
    program = t.dir / "old"
    program.write_bytes(header + segment + code)
    program.chmod(0o755)
    done = t.berm(*BOX, "--", "./old")
    t.equal(done.status, 121, str(done))
    for words in ("is a program of 32 bits", "without --sandbox", "[preflight.executable]"):
        t.contains(done.err.decode(), words)
    try:
        t.equal(t.run(program).status, 0, "it is a program")
    except OSError:
        return  # not to this kernel
    done = t.berm(*BOX, *script("exec ./old"))
    t.equal(done.status, 128 + signal.SIGSYS, str(done))
    t.contains(done.err.decode(), "the sandbox's filter ends a program of 32 bits")


@case("R19 SIGINT ends the sandbox and then berm")
def _(t):
    t.dir.chmod(0o755)
    child = t.start_berm(*BOX, *script("echo up; exec sleep 1000"), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    t.equal(child.stdout.readline(), b"up\n")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    t.started.remove(child)
    t.equal(child.returncode, -signal.SIGINT)
    t.equal(json.loads((t.dir / "r.json").read_text())["outcome"], "interrupted")


if ROOT:
    # In a mount namespace of its own, with a /dev of its own: a card whose nodes are those of /dev/null.
    CARD = """
    mount -t tmpfs none /mnt && mkdir /mnt/dri && mknod -m 666 /mnt/dri/card0 c 1 3
    for name in null zero full random urandom tty; do touch /mnt/$name; mount --bind /dev/$name /mnt/$name; done
    mount --rbind /mnt /dev && exec "$@"
    """

    @case("R35 a GPU is shown when it is asked for, and is never missing without a word")
    def _(t):
        t.dir.chmod(0o755)
        look = ["--cwd", "/", "--", "/bin/sh", "-c", "ls /dev/dri 2>&1; echo x >/dev/dri/card0"]
        host = ["unshare", "-m", "sh", "-c", CARD, "-", berm_path()]
        done = t.run(*host, *BOX, "--gpu", *look)
        t.equal((done.status, done.out), (0, b"card0\n"), str(done))
        sandbox = json.loads((t.dir / "r.json").read_text())["adapter"]["sandbox"]
        t.equal(sandbox["gpu"], ["/dev/dri"])
        done = t.run(*host, *BOX, *look)
        t.true(done.status != 0, str(done))
        t.equal(json.loads((t.dir / "r.json").read_text())["adapter"]["sandbox"]["gpu"], [])
        t.contains(done.err.decode(), "it saw no GPU: '/dev/dri' was hidden")
        if not any(Path("/dev").glob("nvidia*")) and not Path("/dev/dri").exists():
            done = t.berm(*BOX, "--gpu", "--cwd", "/", "--", "true")
            t.equal(done.status, 121, str(done))
            t.contains(done.err.decode(), "there is no GPU here")

    @case("the sandbox is never root's: without --user it is refused, with the remedy")
    def _(t):
        for words in ([], ["--user", "root"], ["--user", "0:0"]):
            done = t.berm("run", "--sandbox", *words, "--", "touch", "ran")
            t.equal(done.status, 121, str(done))
            t.contains(done.err.decode(), "--user NAME")
        done = t.berm("run", "--json", "--sandbox", "--cwd", "/", "--", "id", "-u",
                      env={"SUDO_UID": str(USER), "SUDO_GID": str(USER)}).json()
        t.equal(done["report"]["output"]["stdout_tail"], f"{USER}\n")

main()
