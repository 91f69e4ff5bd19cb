#!/usr/bin/python3
"""Attacks on the sandbox: each succeeds without it, and is stopped in it.

The attacks are those that `escape --list` names (tests/fixtures/escape.c), and the cases below that
need more than one program. docs/threats.md is made of both (tools/gen-threats), so that the table
holds what is tested and nothing else.

Run by root, an attack that an ordinary user can make is made by USER, whom the sandbox is given as
--user; by anybody else, by that person. What only root can try without a sandbox is then tried in
the sandbox alone, and the case says so.
"""

import collections
import ctypes
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from duel import ATTACK, left_over, record_of
from tap import Failed, berm_path, case, main, names_of_all
from terminal import Terminal

BUILD = Path(berm_path()).resolve().parents[2]
ESCAPE, FALSE_BWRAP = BUILD / "tests/fixtures/escape", BUILD / "tests/fixtures/false-bwrap"
DENY_SYSCALL = BUILD / "tests/lib/deny-syscall"
ROOT = os.geteuid() == 0
USER = 61234 if ROOT else os.geteuid()  # has no account, and no processes but the test's
GROUP = 61234 if ROOT else os.getegid()
# In a container, root is less than root.
ROOT_IS_WHOLE = int(Path("/proc/self/status").read_text().split("CapEff:")[1].split()[0], 16) >= \
    (2 << int(Path("/proc/sys/kernel/cap_last_cap").read_text())) - 1
SUCCEEDED, STOPPED, CANNOT, LIMIT, REFUSED, INTERNAL = 0, 1, 2, 120, 121, 125
QUOTA_MIB = 64
QUOTA_INODES = 4096

more = []  # (name, ids, what, undefended, ends) of the cases below, for docs/threats.md


def listed():
    """The rows of `escape --list`."""
    text = subprocess.run([ESCAPE, "--list"], check=True, capture_output=True, text=True).stdout
    fields = ("name", "words", "ids", "needs", "what", "ends")
    return [dict(zip(fields, line.split("\t"))) for line in text.splitlines()]


def attack(name, ids, what, undefended, ends, deadline_s=60):
    """A case that is an attack with more than one program in it."""
    more.append((name, ids, what, undefended, ends))
    return case(f"{ids} {name}: {what}", deadline_s)


def identity(path):
    seen = os.stat(path)
    return f"{seen.st_dev}:{seen.st_ino}"


def tree(folder):
    """Names, types and contents below a folder, but for berm's own state."""
    return {str(p.relative_to(folder)):
            hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else oct(p.lstat().st_mode)
            for p in sorted(folder.rglob("*")) if "state/berm" not in str(p)}


class Scene:
    """What an attack is given words for, all of it USER's, in t.dir and outside of it."""

    def __init__(self, t):
        self.t = t
        t.dir.chmod(0o711)
        self.bin, self.project, self.plain = t.dir / "bin", t.dir / "project", t.dir / "plain"
        self.folders = (self.bin, self.project, self.plain, t.home)
        self.open_ones = []
        self.escape, self.victim_program = self.bin / "escape", self.bin / "victim"
        for folder in (self.bin, self.plain, self.project / ".git/hooks", self.project / ".berm",
                       self.project / "below/.git/hooks"):
            folder.mkdir(parents=True)
        shutil.copy(ESCAPE, self.escape)
        shutil.copy(ESCAPE, self.victim_program)
        shutil.copy(ESCAPE, self.bin / "tool")
        self.attack = shutil.copy(ATTACK, self.bin / "attack")
        self.files = {self.project / ".git/config": "[core]\n", t.home / "secret": "secret\n",
                      self.project / ".git/HEAD": "ref: refs/heads/main\n",
                      self.project / ".berm/config.yaml": "", t.dir / "outside": "outside\n"}
        for path, text in self.files.items():
            path.write_text(text)
        self.sockets = []
        self.name = f"berm-escape-{os.getpid()}"
        self.own(*self.folders, t.dir / "outside")
        if ROOT:
            shutil.copy(ESCAPE, self.project / "set-uid")
            (self.project / "set-uid").chmod(0o4755)
        self.words = {
            "secret": t.home / "secret", "secret-id": identity(t.home / "secret"),
            "secret-name": "secret", "home": t.home, "home-id": identity(t.home),
            "plain": self.plain, "project": self.project, "project-id": identity(self.project),
            "tmp": "/tmp", "tmp-id": identity("/tmp"),
            "outside": t.dir / "outside", "outside-id": identity(t.dir / "outside"),
            "mib": QUOTA_MIB, "inodes": QUOTA_INODES, "program": self.bin / "tool",
            "program-id": identity(self.bin / "tool"),
            "set-uid": self.project / "set-uid", "shm": f"/{self.name}", "queue": f"/{self.name}",
            "key": 0x42000000 + os.getpid(),
        }

    def own(self, *paths):
        if ROOT:
            for path in paths:
                for entry in (path, *(path.rglob("*") if path.is_dir() else ())):
                    os.chown(entry, USER, GROUP)

    def listen(self, family, address):
        server = socket.socket(family)
        server.bind(address)
        server.listen()
        self.sockets.append(server)
        if isinstance(address, str) and address[0] == "/":
            self.own(Path(address))
        return server

    def prepare(self, words):
        """Make what the words of an attack name, where that takes more than a file."""
        if "socket" in words:
            self.words["socket"] = self.t.home / "socket"
            self.listen(socket.AF_UNIX, str(self.words["socket"]))
        for word in {"bus", "agent"}.intersection(words):
            self.words[word] = self.project / word
            self.listen(socket.AF_UNIX, str(self.words[word]))
        if "abstract" in words:
            self.words["abstract"] = self.name
            self.listen(socket.AF_UNIX, f"\0{self.name}")
        if "port" in words:
            self.words["port"] = self.listen(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1]
        if "pid" in words:
            self.words["pid"] = self.hold(self.victim_program, "hold", **self.as_user())
        if {"shm", "key", "queue"}.intersection(words):
            self.hold(self.victim_program, *self.shared(), **self.as_user())
        if "state" in words:
            self.words["state"] = self.project / "state/berm"
            self.words["state"].mkdir(parents=True)
            self.words["state-id"] = identity(self.words["state"])

    def shared(self):
        return "hold", self.words["shm"], self.words["key"], self.words["queue"]

    def hold(self, *command, **how):
        """Somebody to be attacked: starts, says its pid, and ends with the test."""
        holder = self.t.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, **how)
        line = holder.stdout.readline().split()
        if not line or line[0] != b"ready":
            raise Failed(f"{command} did not start: {line}")
        return int(line[1])

    def argv(self, row):
        return [self.escape, row["name"]] + [str(self.words[word]) for word in row["words"].split()]

    @staticmethod
    def as_user():
        return {"user": USER, "group": GROUP, "extra_groups": []} if ROOT else {}

    def sandboxed(self, *options, writable=True):
        """berm run --sandbox, for the project."""
        words = [berm_path(), "run", "--sandbox", f"--temporary={QUOTA_MIB}M",
                 f"--temporary-files={QUOTA_INODES}", *options]
        words += ["--writable", self.project, "--writable", self.plain] if writable else []
        words += ["--user", f"{USER}:{GROUP}"] if ROOT else []
        return [*words, "--"]

    def environment(self):
        """What tells a program of the caller's control sockets."""
        found = {}
        if "bus" in self.words:
            found["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={self.words['bus']}"
        if "agent" in self.words:
            found["SSH_AUTH_SOCK"] = str(self.words["agent"])
        if "state" in self.words:
            found["XDG_STATE_HOME"] = str(self.project / "state")
        return found

    def open_descriptors(self):
        """As a careless caller has them: forty, a folder with secrets behind them."""
        folder = os.open(self.t.home, os.O_RDONLY | os.O_DIRECTORY)
        self.open_ones = [folder] + [os.dup(folder) for _ in range(39)]

    def remove(self):
        """Everything again as it was before the scene."""
        for fd in self.open_ones:
            os.close(fd)
        for server in self.sockets:
            server.close()
        for child in self.t.started:
            if child.stdin:
                child.stdin.close()  # a holder removes what it left, and ends
                child.wait()
        for folder in self.folders:
            shutil.rmtree(folder)
        self.t.home.mkdir()


def without(t, scene, row):
    """The attack without a sandbox; None: it cannot be tried here."""
    if row["needs"] == "console":
        return None
    if row["needs"] in ("root", "terminal", "own user") and not ROOT:
        return None
    if row["needs"] == "terminal":
        terminal = Terminal(t, *scene.argv(row))
        terminal.finish()
        return terminal.code()
    as_root = row["needs"] in ("root", "kernel") or row["name"] == "write-state"
    how = {} if as_root else scene.as_user()
    command = scene.argv(row)
    if row["needs"] == "init":
        command = ["unshare", "-Urpf", "--mount-proc", scene.escape, "init", *command[1:]]
    if "descriptor" in row["name"]:
        how["pass_fds"] = scene.open_ones
    done = t.run(*command, cwd=scene.project, **how)
    print(f"# without: {done.out.decode(errors='replace').strip()}")
    return done.status


def within(t, scene, row, *options, before=()):
    """The attack in the sandbox: what the payload answered, and all that was said."""
    command = [*before] + scene.sandboxed(*options, writable=row["name"] != "write-cwd") + scene.argv(row)
    if row["needs"] == "terminal":
        command.insert(command.index("--sandbox"), "--stdin=inherit")
        terminal = Terminal(t, "/usr/bin/env", "-C", scene.project, *command)
        said = terminal.finish()
        return terminal.code(), said
    done = t.run(*command, cwd=scene.project, env=scene.environment(), pass_fds=scene.open_ones)
    print(f"# within: {done.out.decode(errors='replace').strip()}")
    return done.status, str(done)


def register(row):
    @case(f"{row['ids']} {row['name']}: {row['what']}")
    def _(t):
        for where in ("without", "within"):
            scene = Scene(t)
            try:
                scene.open_descriptors()
                scene.prepare(row["words"].split())
                if where == "without":
                    undefended(t, scene, row)
                else:
                    defended(t, scene, row)
            finally:
                scene.remove()


def undefended(t, scene, row):
    seen = without(t, scene, row)
    if seen is None:
        print(f"# without a sandbox it needs: {row['needs']}")
    elif seen == STOPPED and row["needs"] == "kernel":
        print("# this kernel has it not, or not for everybody")
    elif seen == STOPPED and row["needs"] == "root" and not ROOT_IS_WHOLE:
        print("# the root of this host lacks capabilities")
    else:
        t.equal(seen, SUCCEEDED, "without a sandbox")


def defended(t, scene, row):
    before = [tree(folder) for folder in scene.folders]
    answer, said = within(t, scene, row)
    if row["name"].startswith("fill-") and answer == LIMIT:
        answer = STOPPED  # it was seen to reach the quota, and ended, before it saw ENOSPC
    t.equal(answer, STOPPED if row["ends"] else SUCCEEDED, f"in the sandbox: {said}")
    if row["ends"]:
        t.equal([tree(folder) for folder in scene.folders], before, "R34: the caller's folders")
    if "pid" in scene.words:
        os.kill(scene.words["pid"], 0)  # whoever was to be attacked is alive


for each in listed():
    register(each)


# -- more than one program

def staged(function):
    """A case with a scene."""
    def run(t):
        scene = Scene(t)
        try:
            function(t, scene)
        finally:
            scene.remove()
    return run


def refused(t, done, *words):
    """Nothing was run, and the reason is named."""
    t.equal(done.status, REFUSED, str(done))
    t.contains(done.err, b"REFUSED")
    for word in words:
        t.contains(done.err.decode(errors="replace"), word)


@attack("work-in-a-descriptor", "CVE-2024-21626",
        "the working folder is /proc/self/fd/N of an open folder outside, the home", "succeeds",
        "it is the folder's own path that counts, and that is hidden: refused")
@staged
def _(t, scene):
    scene.open_descriptors()
    place = f"/proc/self/fd/{scene.open_ones[0]}"
    how = {"pass_fds": scene.open_ones}
    t.equal(t.run("/usr/bin/env", "-C", place, scene.escape, "list-home", ".", "secret",
                  **how).status, SUCCEEDED, "without")
    refused(t, t.run(*scene.sandboxed("--cwd", place), scene.escape, "list-home", ".", "secret",
                     **how), "hidden")


@attack("report-within", "R41", "the report lies in a folder that the payload may write",
        "succeeds: it can put a link in its place", "refused before the run, with the remedy")
@staged
def _(t, scene):
    mine = t.dir / "mine"  # whoever runs berm owns it, else the report is refused for that
    mine.mkdir()
    refused(t, t.run(*scene.sandboxed("--report", mine / "report.json", "--writable", mine), "true",
                     cwd=scene.project), "--report")
    t.equal([p.name for p in mine.iterdir() if p.name != "report.json"], [])


@attack("missing-root", "R32", "a writable folder that is not there is made, or passed over", "-",
        "refused before the run; nothing is made")
@staged
def _(t, scene):
    done = t.run(*scene.sandboxed("--writable", scene.project / "absent"), "true",
                 cwd=scene.project)
    refused(t, done, "absent")
    t.true(not (scene.project / "absent").exists(), "it was made")


@attack("odd-sockets", "R33", "addresses of sockets that are links, missing or unreadable end the run",
        "-", "the run goes on, and what is there is masked")
@staged
def _(t, scene):
    (scene.project / "folder").mkdir()
    (scene.project / "link").symlink_to("folder")
    (scene.project / "dangling").symlink_to("nothing")
    (scene.project / "closed").mkdir()
    (scene.project / "closed").chmod(0)
    for address in ("link", "dangling", "missing", "closed/socket", "link/socket", "."):
        place = scene.project / address
        env = {"SSH_AUTH_SOCK": str(place), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={place}"}
        done = t.run(*scene.sandboxed(), "true", cwd=scene.project, env=env)
        t.equal(done.status, 0, f"{address}: {done}")
    (scene.project / "closed").chmod(0o700)


@attack("shared-memory", "CVE-2019-19921", "two runs at the same time see each other's memory",
        "succeeds", "a private /dev/shm and an IPC namespace for each run")
@staged
def _(t, scene):
    scene.hold(*scene.sandboxed("--stdin=inherit"), scene.escape, *scene.shared(),
               cwd=scene.project)
    for row in listed():
        if row["name"] in ("find-shm", "find-sysv", "find-queue"):
            t.equal(within(t, scene, row)[0], STOPPED, row["name"])


@attack("shared-network", "R45", "with --network host: abstract sockets, paths", "succeeds",
        "Landlock's scope (ABI 6), where the kernel has it; paths are not seen")
@staged
def _(t, scene):
    scene.prepare(["socket", "abstract", "port"])
    seen = {row["name"]: within(t, scene, row, "--network", "host") for row in listed()
            if row["name"] in ("connect-path", "connect-abstract", "connect-tcp")}
    t.equal({name: answer for name, (answer, _) in seen.items()},
            {"connect-path": STOPPED, "connect-abstract": STOPPED, "connect-tcp": SUCCEEDED}, seen)


@attack("kill-all", "T14 T12", "kill(-1, 9), or abort(), in the sandbox confuses who waits outside",
        "-", "the payload's own status is told")
@staged
def _(t, scene):
    for script, status in (("kill -9 -1; exit 7", 7), ("kill -ABRT $$", 134), ("exit 3", 3),
                           ("setsid sleep 60 & exit 5", 5), ("kill -9 $$", 137)):
        done = t.run(*scene.sandboxed("--grace-ms=50"), "/bin/sh", "-c", script, cwd=scene.project)
        t.equal(done.status, status, f"{script}: {done}")


def helpers():
    """Processes of runs that live: anchors and watchdogs."""
    return [pid for pid, name in names_of_all() if name.startswith("berm-")]


@attack("outlive", "R15", "processes of three levels outlive a killed berm", "succeeds",
        "the launcher ends with its controller, and all with the launcher")
@staged
def _(t, scene):
    script = "(sleep 60 & setsid sh -c 'sleep 60 & wait' & wait) & echo ready; wait"
    child = t.start(*scene.sandboxed(), "/bin/sh", "-c", script, cwd=scene.project,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.equal(child.stdout.readline(), b"ready\n")
    child.kill()
    child.wait()
    t.equal(child.stdout.read(), b"", "the last of them ended: nobody holds the pipe any more")
    t.wait_until(lambda: not helpers(), "the watchdog, where there is one, to have finished")


@attack("interrupt", "R19", "an interrupt ends berm and leaves the payload", "-",
        "all of it ends; exit 130")
@staged
def _(t, scene):
    child = t.start(*scene.sandboxed("--grace-ms=50"), "/bin/sh", "-c",
                    "trap '' INT TERM; echo ready; while :; do sleep 1; done", cwd=scene.project,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.equal(child.stdout.readline(), b"ready\n")
    child.send_signal(signal.SIGINT)
    t.equal(child.stdout.read(), b"")
    t.equal(child.wait(), -signal.SIGINT)


TREES = {  # of tests/fixtures/attack.c: the exit status of the run
    "daemonise": 0, "stubborn-daemon": 0, "hold-pipe": 0, "orphans": 0, "stubborn-grandchild": 124,
    "stop-tree": 124, "vfork-child": 124, "traced": 124, "deaf": 124, "zombies": 124, "threads": 124,
}


@attack("trees", "T1 T2 T3 T5 T7 T8 T9 T10", "daemons, the stopped, the deaf, zombies stay behind",
        "succeeds", "all that is in the sandbox ends with it")
@staged
def _(t, scene):
    for name, status in TREES.items():
        found = left_over(t, *scene.sandboxed("--timeout=500ms", "--grace-ms=50"), scene.attack, name, 20,
                          cwd=scene.project)
        t.equal((found["status"], found["left"]), (status, []), f"{name}: {found}")


@attack("fork-bomb", "R60 T4", "forks until the host can start nothing any more", "succeeds",
        "stopped at the limit of tasks, all of it by one signal; the host goes on")
@staged
def _(t, scene):
    found = left_over(t, *scene.sandboxed("--tasks=40", "--grace-ms=50"), scene.attack, "bomb", 120,
                      cwd=scene.project)
    t.equal((found["status"], found["left"]), (120, []), f"{found}")
    t.equal(record_of(t)["report"]["termination"]["limit"], "pids")


@attack("no-pidfd", "T19", "a kernel without pidfds: a signal could reach somebody else", "-",
        "refused: signals go through pidfds or not at all")
@staged
def _(t, scene):
    done = t.run(DENY_SYSCALL, "pidfd_open", "--", *scene.sandboxed(), "true", cwd=scene.project)
    t.equal(done.status, REFUSED, str(done))
    t.contains(done.err.decode(), "pidfds")


@attack("zombies", "R18", "berm is process 1 itself, and zombies of the sandbox stay", "-",
        "they are reaped")
@staged
def _(t, scene):
    if not ROOT:
        t.skip("only root may make a pid namespace everywhere")
    found = left_over(t, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                      *scene.sandboxed(), scene.attack, "orphans", 20, cwd=scene.project)
    t.equal((found["status"], found["left"], found["zombies"]), (0, [], 0), f"{found}")


@attack("other-processes", "T20", "changes a process outside through another mount of /proc",
        "succeeds", "covered, wherever it is mounted")
@staged
def _(t, scene):
    if not ROOT:
        t.skip("only root may mount everywhere")
    pid = scene.hold(scene.victim_program, "hold", **scene.as_user())
    places = [scene.project / "proc", t.dir / "proc"]
    for place in places:
        place.mkdir()
    mounted = ["unshare", "--mount", "--propagation", "private", "sh", "-euc",
               'for place in "$1" "$2"; do mount --bind /proc "$place"; done; shift 2; exec "$@"',
               "sh", *places]
    script = f"for place in {places[0]} {places[1]}; do echo 700 >$place/{pid}/oom_score_adj; done"
    score = Path(f"/proc/{pid}/oom_score_adj")
    before = score.read_text()
    within = scene.sandboxed("--readable", places[1])
    t.run(*mounted, *within, "sh", "-c", script, cwd=scene.project)
    t.equal(score.read_text(), before)
    done = t.run(*mounted, *within, "ls", "-A", *places, cwd=scene.project)
    t.equal((done.status, sorted(done.out.decode().split())),
            (0, sorted(f"{place}:" for place in places)))
    t.run(*mounted, "setpriv", f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups",
          "sh", "-c", script, cwd=scene.project)
    t.equal(score.read_text(), "700\n", "without")


@attack("second-mount", "I10 R45 SB-5", "reads a home, or connects to a daemon, by another mount "
        "of what is hidden", "succeeds", "covered there too")
@staged
def _(t, scene):
    if not ROOT:
        t.skip("only root may mount everywhere")
    hidden, shown = t.dir / "hidden", Path("/opt")
    (hidden / "u").mkdir(parents=True)
    (hidden / "u/secret").write_text("secret\n")
    (hidden / "run").mkdir()
    scene.listen(socket.AF_UNIX, str(hidden / "run/daemon"))
    scene.own(hidden)
    connect = f"""
import os, socket
print(os.path.exists("{shown}/h/u/secret"))
try:
    socket.socket(socket.AF_UNIX).connect("{shown}/r/daemon")
    print(True)
except OSError:
    print(False)
"""
    mounted = ["unshare", "--mount", "--propagation", "private", "sh", "-euc",
               'mount -t tmpfs -o mode=755 x "$2"; mkdir "$2/h" "$2/r"; mount --bind "$1" /home; '
               'mount --bind /home "$2/h"; mount --bind "$1/run" "$2/r"; shift 2; exec "$@"',
               "sh", hidden, shown]
    python = ["/usr/bin/python3", "-c", connect]
    done = t.run(*mounted, "setpriv", f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups",
                 *python, cwd=scene.project)
    t.equal(done.out.decode().split(), ["True", "True"], f"without: {done}")
    done = t.run(*mounted, *scene.sandboxed(), *python, cwd=scene.project)
    t.equal((done.status, done.out.decode().split()), (0, ["False", "False"]), str(done))


@attack("led-git", "I10 R33", "plants a hook where a .git that is a file or a link leads git",
        "succeeds", "closed where it lies in a writable folder, with the way to it")
@staged
def _(t, scene):
    hook = scene.plain / "deep/data/hooks/pre-commit"
    hook.parent.mkdir(parents=True)
    scene.own(scene.plain)
    script = "echo evil >deep/data/hooks/pre-commit; mv deep away && mkdir -p deep/data/hooks"
    for led in ("file", "link"):
        if led == "file":
            (scene.plain / ".git").write_text("gitdir: deep/data\n")
        else:
            (scene.plain / ".git").unlink()
            (scene.plain / ".git").symlink_to("deep/data")
        done = t.run(*scene.sandboxed(), "sh", "-c", f"cd {scene.plain}; {script}",
                     cwd=scene.project)
        t.equal((done.status, hook.exists(), (scene.plain / "away").exists()), (1, False, False),
                f"{led}: {done}")
    t.run("sh", "-c", script, cwd=scene.plain)
    t.true((scene.plain / "away/data/hooks/pre-commit").exists(), "without")


@attack("led-to-nothing", "I10", "makes the folder that a .git above leads git to, with a hook",
        "succeeds", "refused before the run: it is not there, and could be made in a writable folder")
@staged
def _(t, scene):
    hook = scene.plain / "build/g/hooks/pre-commit"
    hook.parent.parent.parent.mkdir()
    (scene.plain / ".git").write_text("gitdir: build/g\n")
    scene.own(scene.plain)
    script = f"mkdir -p {hook.parent} && echo evil >{hook}"
    sandboxed = scene.sandboxed("--writable", scene.plain / "build", writable=False)
    refused(t, t.run(*sandboxed, "sh", "-c", script, cwd=scene.project), "build/g", "make it")
    (scene.plain / ".git").write_text("gitdir: build/link\n")
    (scene.plain / "build/link").symlink_to("../away")
    (scene.plain / "away/hooks").mkdir(parents=True)
    replaced = script.replace("build/g", "build/link")
    done = t.run(*sandboxed, "sh", "-c", f"cd {scene.plain}; touch build/here; "
                 f"rm -f build/link; mv build/link build/moved; {replaced}", cwd=scene.project)
    t.equal(((scene.plain / "build/here").exists(), list((scene.plain / "away").rglob("*")),
             (scene.plain / "build/link").is_symlink()),
            (True, [scene.plain / "away/hooks"], True), str(done))
    t.run("sh", "-c", script, cwd=scene.plain)
    t.true(hook.exists(), "without")


@case("I10 a worktree in a bare repository can be written, and no part of the repository")
@staged
def _(t, scene):
    bare, main_tree = scene.plain / "bare", scene.plain / "bare/main"
    for folder in (bare / "hooks", bare / "worktrees/main", main_tree):
        folder.mkdir(parents=True)
    (main_tree / ".git").write_text("gitdir: ../worktrees/main\n")
    (bare / "worktrees/main/commondir").write_text("../..\n")
    scene.own(scene.plain)
    script = "touch here; touch ../hooks/no ../config ../worktrees/main/no; echo x >.git; exit 0"
    done = t.run(*scene.sandboxed("--writable", ".", writable=False), "sh", "-c", script, cwd=main_tree)
    t.equal((done.status, (main_tree / "here").exists(), list((bare / "hooks").iterdir()),
             (bare / "config").exists(), (bare / "worktrees/main/no").exists(),
             (main_tree / ".git").read_text()),
            (0, True, [], False, False, "gitdir: ../worktrees/main\n"), str(done))
    refused(t, t.run(*scene.sandboxed("--writable", ".", "--writable", bare / "hooks", writable=False),
                     "true", cwd=main_tree), "hooks")


@attack("root-in-root", "I10 I2", "moves the folder above the .git of a root that lies in another",
        "succeeds", "a mount cannot be renamed: EBUSY")
@staged
def _(t, scene):
    script = "mv below away && mkdir -p below/.git/hooks && echo evil >below/.git/hooks/pre-commit"
    inner = scene.project / "below"
    for roots in ([scene.project, inner], [inner, scene.project]):
        options = [word for root in roots for word in ("--writable", root)]
        done = t.run(*scene.sandboxed(*options, writable=False), "sh", "-c", script,
                     cwd=scene.project)
        t.equal((done.status, (inner / ".git/hooks/pre-commit").exists()), (1, False), str(done))
    t.equal(t.run("sh", "-c", script, cwd=scene.project).status, 0, "without")


@attack("preload", "IB-3", "variables of the loader reach bubblewrap or the launcher", "succeeds",
        "they are started with an environment of their own")
@staged
def _(t, scene):
    def loaded(*command):
        """Names of the programs whose loader obeyed."""
        for file in t.dir.glob("loader.*"):
            file.unlink()
        env = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(t.dir / "loader")}
        t.equal(t.run(*command, cwd=scene.project, env=env).status, 0)
        return sorted(re.search(r"transferring control: (\S+)", f.read_text())[1].rsplit("/", 1)[1]
                      for f in t.dir.glob("loader.*"))

    t.equal(loaded("/bin/sh", "-c", "/usr/bin/true; exit 0"), ["sh", "true"], "without")
    t.equal(loaded(*scene.sandboxed(), "/usr/bin/true"), ["berm"])


def level_of(t, name):
    return record_of(t)["report"]["adapter"]["guarantees"][name]["level"]


@attack("old-kernel", "FS-1 SB-5", "a kernel without clone3, openat2 or Landlock opens something",
        "-", "other ways to the same; what only Landlock closes is *none* in the report")
@staged
def _(t, scene):
    scene.prepare(["abstract"])
    rows = {row["name"]: row for row in listed()}
    for call in ("clone3", "openat2", "landlock_create_ruleset"):
        for name in ("read-home", "write-cwd", "plant-hook", "connect-abstract"):
            answer, said = within(t, scene, rows[name], before=(DENY_SYSCALL, call, "--"))
            t.equal(answer, STOPPED, f"without {call}: {said}")
        t.equal(level_of(t, "control-sockets"), "enforced")
    answer, said = within(t, scene, rows["connect-abstract"], "--network", "host",
                          before=(DENY_SYSCALL, "landlock_create_ruleset", "--"))
    t.equal((answer, level_of(t, "control-sockets")), (SUCCEEDED, "none"), said)


FALSE = {  # the last word of its name: what berm must say of it
    "refuses": "mounting is closed",
    "nospace": "user namespaces are closed",
    "dies": "", "silent": "", "lies": "",
    "opens": "a mount can be written (/var/lib)",
}


@attack("false-bubblewrap", "R13 R14", "a bubblewrap that fails, dies, lies or opens more", "-",
        "refused, with the reason; nothing is run")
@staged
def _(t, scene):
    marker = scene.project / "ran"
    for how, words in FALSE.items():
        tool = t.dir / f"false-{how}"
        shutil.copy(FALSE_BWRAP, tool)
        env = {"BERM_BWRAP_PATH": str(tool),
               "BERM_BWRAP_SHA256": hashlib.sha256(tool.read_bytes()).hexdigest()}
        done = t.run(*scene.sandboxed(), "/usr/bin/touch", marker, cwd=scene.project, env=env)
        print(f"# {how}: {done.status} {done.err.decode(errors='replace').splitlines()[:3]}")
        t.true(done.status in (REFUSED, INTERNAL), f"{how}: {done}")
        t.contains(done.err.decode(errors="replace"), words)
        t.true(not marker.exists(), f"{how}: the payload ran")


@attack("hanging-bubblewrap", "R14", "a bubblewrap that never comes to an end", "-",
        "the time limit of the run ends it; nothing is run")
@staged
def _(t, scene):
    tool = t.dir / "false-hangs"
    shutil.copy(FALSE_BWRAP, tool)
    env = {"BERM_BWRAP_PATH": str(tool),
           "BERM_BWRAP_SHA256": hashlib.sha256(tool.read_bytes()).hexdigest()}
    done = t.run(*scene.sandboxed("--timeout=300ms", "--grace-ms=50"), "true", cwd=scene.project,
                 env=env)
    t.equal(done.status, 124, str(done))


def time_of(function):
    begin = time.monotonic()
    function()
    return time.monotonic() - begin


def exchange(folder, one, other):
    """renameat2(RENAME_EXCHANGE): both names are there at every moment."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(folder, os.fsencode(one), folder, os.fsencode(other), 2) != 0:
        raise Failed(os.strerror(ctypes.get_errno()))


ROUNDS = 50


@attack("swapped-roots", "CVE-2025-31133 I2",
        "the writable folder and its .git are swapped with links while the sandbox is set up",
        "succeeds", "what was looked at is what is mounted, or the run is refused", deadline_s=240)
@staged
def _(t, scene):
    target = t.dir / "other/.git"  # never a writable folder, whoever names it
    (target / "hooks").mkdir(parents=True)
    (t.dir / "project.link").symlink_to("other/.git")
    (scene.project / "git.link").symlink_to("../other/.git")
    scene.own(t.dir / "other")
    outer, inner = (os.open(folder, os.O_RDONLY) for folder in (t.dir, scene.project))
    script = (f"cd {scene.project}; touch here; touch .git/hooks/escaped; touch {target}/escaped; "
              "exit 0")

    def swap():
        exchange(outer, "project", "project.link")
        exchange(inner, ".git", "git.link")

    def attempt(delay_s):
        """One swap, so long after the start: before, within and after the setting up."""
        timer = threading.Timer(delay_s, swap)
        timer.start()
        done = t.run(*scene.sandboxed(), "/bin/sh", "-c", script, cwd="/")
        timer.join()
        swap()
        left = [p.name for folder in (target, scene.project / ".git/hooks")
                for p in folder.rglob("*")]
        t.equal(left, ["hooks"], str(done))
        return done.status

    longest = 1.5 * time_of(lambda: t.run(*scene.sandboxed(), "true", cwd="/"))
    answers = collections.Counter(attempt(longest * n / ROUNDS) for n in range(ROUNDS))
    print(f"# answers: {dict(answers)}")
    t.true(answers[0] > 0 and sum(answers[n] for n in (REFUSED, INTERNAL)) > 0,
           f"both sides of the race are seen: {answers}")
    t.equal(sum(answers[n] for n in (0, REFUSED, INTERNAL)), ROUNDS)


if __name__ == "__main__":
    main()
