#!/usr/bin/python3
"""The first process of a sandbox, without the rest of berm: what it promises and what it withstands.

tests/lib/launch-drive starts bubblewrap and the launcher and speaks for the controller. Each case runs
as whoever runs the tests and, when that is root, as an ordinary user too.
"""

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import Failed, case, main  # noqa: E402

# Where other users can start them too, wherever this tree lies.
TOOLS = tempfile.TemporaryDirectory(prefix="berm-tools-")
os.chmod(TOOLS.name, 0o755)
DRIVE, DENY = (shutil.copy(sys.argv.pop(1), TOOLS.name) for _ in range(2))
PYTHON = os.path.realpath("/usr/bin/python3")
SH = os.path.realpath("/bin/sh")
ORDINARY = 1000
USERNS, LANDLOCK, SCOPES, FILTER = 1, 2, 4, 8  # enum launch_fact
ESTALE = 116


class Sandbox:
    """A launch-drive that runs; its words come one by one, the payload's output at the end."""

    def __init__(self, t, who, *options, command=(SH, "-c", ":"), before=(), release=True):
        self.t = t
        drop = ["setpriv", "--reuid", str(who), "--regid", str(who), "--clear-groups"]
        self.child = t.start(
            *(drop if who != os.getuid() else []), *before, DRIVE,
            *(["--release"] if release else []), *options, "--", *command,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")

    def word(self):
        return self.child.stdout.readline().decode(errors="replace").rstrip("\n")

    def expect(self, beginning):
        word = self.word()
        if not word.startswith(beginning):
            self.child.stdin.close()
            raise Failed(f"expected {beginning!r}, got {word!r}\n"
                         f"stderr: {self.child.stderr.read()[-2000:]!r}")
        return word

    def order(self, order):
        self.child.stdin.write(order.encode() + b"\n")
        self.child.stdin.flush()

    def line(self):
        """One line of the payload."""
        return self.child.stderr.readline().decode(errors="replace").rstrip("\n")

    def end(self):
        """(words until bubblewrap was gone, output of the payload)"""
        words = []
        while word := self.word():
            words.append(word)
            if word.startswith("gone"):
                break
        output = self.child.stderr.read().decode(errors="replace")
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            pipe.close()
        self.t.started.remove(self.child)
        return words, output

    def first(self):
        """The pid, out here, of the first process in there."""
        monitor = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()
        inner = Path(f"/proc/{monitor[0]}/task/{monitor[0]}/children").read_text().split()
        return int(inner[0])


def told(words):
    """Words that every version of a run has, without what only some say."""
    return [" ".join(word.split()[:3]) for word in words
            if word.split()[0] in ("failed", "not-executed", "ended", "gone")]


def may_have_a_sandbox(t, who):
    """Not in a chroot, not where user namespaces are root's alone."""
    drop = ["setpriv", "--reuid", who, "--regid", who, "--clear-groups"]
    return t.run(*(drop if who != os.getuid() else []), "/usr/bin/bwrap", "--unshare-user",
                 "--ro-bind", "/", "/", "/bin/true", cwd="/").status == 0


def everybody(name, **how):
    """Register the case for each user that can be tried."""
    def register(function):
        users = [os.getuid()] + ([ORDINARY] if os.getuid() == 0 else [])
        for who in users:
            def run(t, who=who):
                if not os.access("/usr/bin/bwrap", os.X_OK):
                    t.skip("no bubblewrap")
                if not may_have_a_sandbox(t, who):
                    t.skip(f"no user namespaces for uid {who}")
                os.chown(t.dir, who, who)
                function(t, who)
            case(f"{name} (uid {who})", **how)(run)
    return register


PRELUDE = """
import ctypes, errno, os, resource, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
def say(what):
    print(what, file=sys.stderr, flush=True)
def attempt(what):
    try:
        seen = what()
        return "ok" if seen is None or hasattr(seen, "fileno") else seen
    except OSError as error:
        return errno.errorcode[error.errno]
"""


def python(body):
    """A payload in Python; what it says comes out of it as its lines."""
    return (PYTHON, "-I", "-c", PRELUDE + body)


def attempts(*lines):
    """A payload: each expression is tried; its value, "ok" or the name of the errno is shown."""
    return python("".join(f"say(attempt(lambda: {line}))\n" for line in lines))


def lines_of(t, who, options, command, before=()):
    words, output = Sandbox(t, who, *options, command=command, before=before).end()
    t.equal(told(words), ["ended 0 0", "gone 0"], f"{words} {output}")
    return output.splitlines()


def tried(t, who, options, *lines, before=()):
    """What each attempt gave in a sandbox."""
    return lines_of(t, who, options, attempts(*lines), before)


def own(path, who):
    """The tree belongs to the user who is to try."""
    for entry in [path, *path.rglob("*")]:
        os.chown(entry, who, who, follow_symlinks=False)


def project(t, who):
    """A folder with what must be closed in it, and the options that open it."""
    root = t.dir / "project"
    for folder in (".git/hooks", "a", "b", "sockets"):
        (root / folder).mkdir(parents=True)
    for file in (".git/config", "a/file", "secret", "sockets/bus"):
        (root / file).write_text("host")
    own(root, who)
    return root, ["--bind", root, "--item", "keep", root, "--item", "writable", root, "--cwd", root]


# -- what it tells

STATUSES = [
    ("exit 0", "ended 0 0"),
    ("exit 7", "ended 7 0"),
    ("exit 137", "ended 137 0"),
    ("kill -KILL $$", "ended 0 9"),
    ("kill -SEGV $$", "ended 0 11"),
    ("kill -ABRT $$", "ended 0 6"),
    ("kill -TERM $$", "ended 0 15"),
    ("trap '' TERM; kill -TERM $$; exit 3", "ended 3 0"),
]


@everybody("T12 the exact status is told: an exit code of 137 is no SIGKILL")
def _(t, who):
    for script, expected in STATUSES:
        words, output = Sandbox(t, who, command=(SH, "-c", script)).end()
        t.equal(told(words), [expected, "gone 0"], f"{script} {output}")


@everybody("T1 T17 what outlives the payload's first process is waited for")
def _(t, who):
    fifo = t.dir / "fifo"
    os.mkfifo(fifo)
    own(t.dir, who)
    script = f"(setsid {os.path.realpath('/bin/cat')} {fifo} &) ; exit 3"
    sandbox = Sandbox(t, who, "--item", "keep", t.dir, command=(SH, "-c", script))
    sandbox.expect("ready")
    sandbox.expect("executed")
    sandbox.expect("ended 3 0")
    with open(fifo, "wb"):  # opens when somebody in there reads: it lives
        pass
    words, _ = sandbox.end()
    t.equal(told(words), ["gone 0"])


@everybody("EX-2 what cannot be executed is told with the reason, and nothing is left")
def _(t, who):
    for name, mode, errno in (("text", 0o755, 8), ("data", 0o644, 13)):
        (t.dir / name).write_text("no program\n")
        (t.dir / name).chmod(mode)
        own(t.dir, who)
        words, _ = Sandbox(t, who, "--item", "keep", t.dir, command=(t.dir / name,)).end()
        t.equal(told(words), [f"not-executed {errno}", "gone 1"])


@everybody("I1 I7 a file or folder that is not the one that was looked at is not used")
def _(t, who):
    for option, text in (("--other-file", "find the file that was hashed: "),
                         ("--other-cwd", "find the working folder that was there before: ")):
        sandbox = Sandbox(t, who, option)
        t.contains(sandbox.expect(f"failed {ESTALE}"), text)
        t.equal(sandbox.end()[0], ["gone 1"])
    (t.dir / "expected").mkdir()
    own(t.dir, who)
    sandbox = Sandbox(t, who, "--item", "keep", t.dir, "--item", "expect", t.dir / "expected",
                      "--other-item")
    t.contains(sandbox.expect(f"failed {ESTALE}"), "cannot find what was there before: ")
    sandbox.end()
    sandbox = Sandbox(t, who, "--item", "keep", t.dir, "--item", "expect", t.dir / "expected",
                      release=False)
    sandbox.expect("ready")
    sandbox.order("hang-up")
    sandbox.end()


@everybody("without a release nothing is started")
def _(t, who):
    sandbox = Sandbox(t, who, command=(SH, "-c", "echo started >&2"), release=False)
    sandbox.expect("ready")
    sandbox.order("hang-up")
    words, output = sandbox.end()
    t.true(not any(word.startswith(("executed", "ended")) for word in words), words)
    t.equal(output, "")


# -- what the payload finds

@everybody("CVE-2024-21626 R44 the payload has descriptors 0 to 2, its folder and no other")
def _(t, who):
    t.equal(tried(t, who, ["--cwd", "/usr/bin"],
                  "sorted(map(int, os.listdir('/proc/self/fd')))[:4]", "os.getcwd()",
                  "os.getpid() != 1", "os.getppid()", "os.getsid(0) == os.getpid()"),
            ["[0, 1, 2, 3]", "/usr/bin", "True", "1", "True"])  # 3 is the listing itself


@everybody("no capability, no new privileges, no core")
def _(t, who):
    lines = tried(t, who, [],
                  "[l.split() for l in open('/proc/self/status') if l[:3] in ('Cap', 'NoN')]",
                  "resource.getrlimit(resource.RLIMIT_CORE)",
                  "signal.pthread_sigmask(signal.SIG_BLOCK, [])",
                  "[s for s in range(1, 65) if s not in (9, 19, 32, 33) and"
                  " signal.getsignal(s) == signal.SIG_IGN]")
    t.equal(re.findall(r"'(\w+):', '0*(\d)'", lines[0]),
            [(f"Cap{name}", "0") for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")]
            + [("NoNewPrivs", "1")])
    t.equal(lines[1:3], ["(0, 0)", "set()"])
    t.equal(lines[3], str([int(signal.SIGPIPE), int(signal.SIGXFSZ)]), "Python's own")


@everybody("M3 D1 R20 one quota holds for all private places, to the byte")
def _(t, who):
    lines = lines_of(t, who, ["--bytes", 2 << 20], python("""
places = [os.open(p + "/x", os.O_WRONLY | os.O_CREAT) for p in ("/tmp", "/var/tmp", "/dev/shm")]
total = 0
for most, place in zip((300000, 300000, 1 << 30), places):
    for _ in range(0, most, 4096):
        seen = attempt(lambda: os.write(place, b"x" * 4096))
        if seen != 4096:
            break
        total += 4096
say(len({os.fstat(place).st_dev for place in places}))
say(os.fstatvfs(place).f_blocks * os.fstatvfs(place).f_frsize)
say(total)
say(seen)
"""))
    t.equal(lines, ["1", str(2 << 20), str(2 << 20), "ENOSPC"])


@everybody("D2 R21 and to the inode; a link is one too")
def _(t, who):
    lines = lines_of(t, who, ["--inodes", 100], python("""
say(os.statvfs("/tmp").f_ffree)
made = 0
while (seen := attempt(lambda: os.symlink("x", f"/tmp/{made}"))) == "ok":
    made += 1
say(made)
say(seen)
"""))
    t.equal(lines, ["100", "100", "ENOSPC"])  # what the sandbox made for itself does not count


@everybody("SB-8 where no links may be none is followed, but those of /dev and of what is shown there")
def _(t, who):
    root, options = project(t, who)
    (root / "link").symlink_to("config")
    (root / "config").write_text("x")
    own(root, who)
    lines = [f"os.symlink('/etc', '{place}/l') or open('{place}/l/passwd')" for place in ("/tmp", "/var/tmp", "/dev/shm")]
    lines += ["os.mkdir('/tmp/d') or os.symlink('..', '/tmp/d/up') or os.listdir('/tmp/d/up')",
              f"open('{root}/link')", "os.open('/dev/stdin', os.O_RDONLY) > 0", "os.readlink('/tmp/l')"]
    for before in ((), (DENY, "442", "--")):  # mount_setattr
        t.equal(tried(t, who, ["--no-links", *options], *lines, before=before),
                ["ELOOP"] * 4 + ["ok", "True", "/etc"], str(before))
    t.equal(tried(t, who, options, *lines[:3]), ["ok"] * 3)


@everybody("D3 a file that is deleted and open counts, as the controller sees it")
def _(t, who):
    hold = python("""
file = open("/tmp/x", "wb", buffering=0)
file.write(b"x" * 262144)
os.unlink("/tmp/x")
say("held")
signal.pause()
""")
    sandbox = Sandbox(t, who, command=hold, release=False)
    sandbox.expect("ready")
    place = os.open(f"/proc/{sandbox.first()}/root/tmp", os.O_PATH)
    before = os.fstatvfs(place)
    sandbox.order("release")
    sandbox.expect("executed")
    t.equal(sandbox.line(), "held")
    after = os.fstatvfs(place)
    t.equal((before.f_bfree - after.f_bfree) * after.f_frsize, 262144)
    t.equal(before.f_ffree - after.f_ffree, 1)
    os.close(place)
    sandbox.order("kill")
    t.equal(told(sandbox.end()[0]), ["ended 0 9", "gone 0"])


@everybody("SB-7 nothing but the private places and the opened root takes a write")
def _(t, who):
    root, options = project(t, who)
    (t.dir / "beside").write_text("host")
    lines = lines_of(t, who, options, python(f"""
seen = set()
for line in open("/proc/self/mountinfo"):
    place = line.split()[4]
    probe = os.path.join(place, "berm-probe")
    if os.path.isdir(place) and attempt(lambda: open(probe, "w")) == "ok":
        seen.add(place)
say(sorted(seen))
for what in (lambda: open("/dev/null", "w").write("x"), lambda: open("/dev/zero", "rb").read(1),
             lambda: os.path.exists({str(t.dir / "beside")!r}), lambda: os.listdir("/home"),
             lambda: os.listdir("/run/berm/private"),
             lambda: open("/proc/sys/kernel/core_pattern", "w"),
             lambda: open("/proc/sysrq-trigger", "w")):
    say(attempt(what))
"""))
    inside = [str(root)] if str(root).startswith("/tmp/") else []
    t.equal(lines[0], repr(sorted(["/dev/shm", "/tmp", "/var/tmp", *inside])))
    t.equal(lines[1:6], ["1", "b'\\x00'", "False", "[]", "[]"])
    t.true(set(lines[6:]) <= {"EROFS", "EACCES", "ENOENT"}, lines[6:])  # no sysrq in this kernel
    (root / "berm-probe").unlink()


@everybody("CX-2 the socket to ask at lies where nobody inside can put another, and is its maker's")
def _(t, who):
    sandbox = Sandbox(t, who, "--context", "/run/berm/context", command=python("""
import socket, struct
place = "/run/berm/context"
for what in (lambda: os.unlink(place), lambda: os.rename(place, place + "2"),
             lambda: os.chmod(place, 0), lambda: open("/run/berm/other", "w"),
             lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind("/run/berm/other"),
             lambda: os.symlink("/tmp/mine", "/run/other")):
    say(attempt(what))
ask = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
say(attempt(lambda: ask.connect(place)))
say(struct.unpack("3i", ask.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
mine = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
mine.bind("/tmp/mine")
mine.listen()
ask = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ask.connect("/tmp/mine")
say(struct.unpack("3i", ask.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0] > 0)
"""))
    t.equal(sandbox.expect("context"), "context /run/berm/context")
    lines = sandbox.end()[1].splitlines()
    t.true(set(lines[:6]) <= {"EROFS", "EACCES"}, lines)
    t.equal(lines[6:9], ["ok", "0", "True"])  # outside of every PID namespace in there


@everybody("a socket that cannot be put into its place ends the launch")
def _(t, who):
    sandbox = Sandbox(t, who, "--context", "/usr/berm-context")
    t.contains(sandbox.expect("failed"), "cannot make the socket at which programs ask about the run")
    t.equal(sandbox.end()[0], ["gone 1"])


@everybody("I10 R34 closed, pinned and covered things hold; the rest of the root is open")
def _(t, who):
    root, options = project(t, who)
    before = sorted(str(path) for path in t.dir.rglob("*"))
    lines = tried(
        t, who, options + [
            "--item", "close", root / ".git/hooks", "--item", "close", root / ".git/config",
            "--item", "pin", root / ".git", "--item", "mask", root / "sockets",
            "--item", "mask", root / "secret", "--item", "mask", root / "missing/one"],
        "os.rename('.git', 'other')", "os.rename('.git/hooks', 'other')",
        "os.rename('.git/config', 'other')", "os.unlink('.git/config')",
        "open('.git/config', 'w')", "open('.git/hooks/post-commit', 'w')",
        "os.truncate('.git/config', 0)", "os.chmod('.git/config', 0o777)",
        "os.link('.git/config', 'copy')", "os.rmdir('.git/hooks')",
        "os.listdir('sockets')", "open('sockets/new', 'w')", "open('secret')",
        "os.chmod('secret', 0o777)", "os.rename('secret', 'other')", "os.rename('sockets', 'other')",
        f"os.rename({str(root)!r}, {str(root) + '-moved'!r})",
        "open('.git/config').read()", "os.rename('a/file', 'b/file')", "os.rename('b/file', 'a/file')",
        "os.truncate('a/file', 4)", "os.mkdir('new')", "os.rmdir('new')")
    t.equal(lines, ["EBUSY", "EXDEV", "EXDEV", "EBUSY", "EROFS", "EROFS", "EROFS", "EROFS", "EXDEV",
                    "EBUSY", "[]", "EROFS", "EACCES", "EROFS", "EBUSY", "EBUSY", "EBUSY",
                    "host", "ok", "ok", "ok", "ok", "ok"])
    t.equal(sorted(str(path) for path in t.dir.rglob("*")), before, "nothing was made out here")


@everybody("what was mounted beneath a closed folder is closed too, with or without mount_setattr")
def _(t, who):
    root, options = project(t, who)
    (t.dir / "more").mkdir()
    own(t.dir / "more", who)
    for before in ((), (DENY, "442", "--")):
        lines = tried(t, who, [
            "--bind", root, "--bubblewrap", "--bind", "--bubblewrap", t.dir / "more",
            "--bubblewrap", root / ".git/hooks", *options[2:], "--item", "close", root / ".git"],
            "open('.git/hooks/x', 'w')", "open('.git/x', 'w')", "os.listdir('.git/hooks')",
            before=before)
        t.equal(lines, ["EROFS", "EROFS", "[]"], str(before))


@everybody("CVE-2025-31133 a link where something is to be covered or closed ends the launch")
def _(t, who):
    root, options = project(t, who)
    shutil.rmtree(root / ".git/hooks")
    (root / ".git/hooks").symlink_to("../a")
    (root / "way").symlink_to(".git")
    for kind, path in (("close", ".git/hooks"), ("mask", ".git/hooks"), ("pin", "way/config"),
                       ("expect", "way/config"), ("writable", "way")):
        for before in ((), (DENY, "openat2", "--")):
            sandbox = Sandbox(t, who, *options, "--item", kind, root / path, before=before)
            t.contains(sandbox.expect("failed 40 "), str(root / path))
            sandbox.end()


@everybody("SB-5 a folder that is hidden as a whole has to be there, and to be a folder")
def _(t, who):
    root, options = project(t, who)
    for name, word in (("gone", "failed 2 "), ("secret", "failed 20 ")):
        sandbox = Sandbox(t, who, *options, "--item", "hide", root / name)
        t.contains(sandbox.expect(word), str(root / name))
        sandbox.end()
    t.equal(tried(t, who, [*options, "--item", "hide", root / "sockets"], "os.listdir('sockets')"), ["[]"])


@everybody("I2 a folder that is swapped for a link again and again is protected or not used",
           deadline_s=120)
def _(t, who):
    root, options = project(t, who)
    (root / "fake/hooks").mkdir(parents=True)
    (root / "link").symlink_to("fake")
    own(root, who)
    swap = t.start(*python(f"""
ways = [{str(root / '.git')!r}.encode(), {str(root / 'link')!r}.encode()]
while True:
    call("renameat2", -100, ways[0], -100, ways[1], 2)  # RENAME_EXCHANGE
"""))
    used = 0
    for _ in range(50):
        sandbox = Sandbox(t, who, *options, "--item", "close", root / ".git/hooks", "--item", "pin",
                          root / ".git", command=(
                              SH, "-c", "for way in .git link; do : >$way/hooks/x; done; true"))
        words, _ = sandbox.end()
        used += any(word.startswith("ended") for word in words)
        t.true(words[-1] in ("gone 0", "gone 1"), words)
    swap.kill()
    swap.wait()
    t.started.remove(swap)
    real = [root / way for way in (".git", "link") if not (root / way).is_symlink()
            and (root / way / "config").exists()]
    t.equal(len(real), 1)
    t.equal(list((real[0] / "hooks").iterdir()), [], f"{used} of 50 were started")
    print(f"# {used} of 50 were started")


# -- the first process itself

@everybody("CVE-2019-5736 T13 nobody in there ends, traces or opens the first process")
def _(t, who):
    denied = {"EACCES", "EPERM"}
    lines = tried(t, who, [],
                  *(f"os.kill(1, {number})" for number in (9, 15, 19, 11, 64)),
                  "call('ptrace', 16, 1, 0, 0)",  # PTRACE_ATTACH
                  "call('ptrace', 0x4206, 1, 0, 0)",  # PTRACE_SEIZE
                  "open('/proc/1/mem', 'r+b')", "open('/proc/1/mem', 'rb').read(1)",
                  "open('/proc/1/exe', 'r+b')", "os.readlink('/proc/1/exe')",
                  "os.open('/proc/1/fd/3', 0)", "os.listdir('/proc/1/root')",
                  "open('/proc/1/maps').read()", "open('/proc/1/environ').read()",
                  "os.listdir('/proc/1/map_files')",
                  "call('syscall', 438, os.pidfd_open(1), 3, 0)")  # pidfd_getfd
    t.equal(lines[:5], ["ok"] * 5, "signals to it are dropped")
    for line in lines[5:]:
        t.true(line in denied, lines)


@everybody("I9 no namespace, mount or host name can be made in there")
def _(t, who):
    lines = tried(t, who, [], *(f"call('unshare', {flag:#x})" for flag in (
        0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000)),
        "call('mount', b'x', b'/tmp', b'tmpfs', 0, 0)", "call('umount2', b'/proc/sys', 2)",
        "call('mount', 0, b'/', 0, 0x1020, 0)", "call('chroot', b'/tmp')",
        "socket.sethostname('x')")
    t.true(set(lines) <= {"EPERM", "ENOSPC", "EACCES"}, lines)


@everybody("I9 user namespaces are closed by the kernel's own limit, or nothing is launched")
def _(t, who):
    sandbox = Sandbox(t, who, "--bubblewrap", "--cap-drop", "--bubblewrap", "CAP_SYS_RESOURCE")
    t.contains(sandbox.expect("failed 1"), "cannot close user namespaces: /proc/sys/user/")
    sandbox.end()
    # Without the filter: the limit alone.
    lines = lines_of(t, who, [], python("""
say(open("/proc/sys/user/max_user_namespaces").read().strip())
say(attempt(lambda: open("/proc/sys/user/max_user_namespaces", "w")))
say(attempt(lambda: call('unshare', 0x10000000)))
"""))
    t.true(lines[0] == "0" and lines[1] in ("EACCES", "EROFS") and lines[-1] == "ENOSPC", lines)


@everybody("R45 an abstract socket of the host is out of reach where Landlock has scopes")
def _(t, who):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0berm-test-{os.getpid()}-{who}")
    listener.listen()
    connect = f"socket.socket(socket.AF_UNIX).connect({listener.getsockname().decode()!r})"
    with_network = ["--without", "--unshare-net"]
    t.equal(tried(t, who, with_network, connect), ["ok"], "undefended")
    sandbox = Sandbox(t, who, *with_network, "--scopes", release=False)
    abi, facts = map(int, sandbox.expect("ready").split()[1:])
    sandbox.order("hang-up")
    sandbox.end()
    t.equal(bool(facts & SCOPES), abi >= 6)
    if abi < 6:
        t.skip(f"Landlock has ABI {abi}")
    t.equal(tried(t, who, [*with_network, "--scopes"], connect), ["EPERM"])
    t.equal(tried(t, who, ["--scopes"], "os.kill(1, 0)", "os.kill(os.getpid(), 0)"), ["ok", "ok"])
    listener.close()


# -- orders

# Says that it is up, with a stopped child.
STOPPED = python("""
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
os.waitpid(child, os.WUNTRACED)
say("up")
signal.pause()
""")


@everybody("T5 kill ends all, the stopped ones too")
def _(t, who):
    sandbox = Sandbox(t, who, command=STOPPED)
    sandbox.expect("ready")
    sandbox.expect("executed")
    t.equal(sandbox.line(), "up")
    sandbox.order("kill")
    words, output = sandbox.end()
    t.equal(told(words), ["ended 0 9", "gone 0"], output)


@everybody("T12 a process that was killed before it became the payload has executed nothing")
def _(t, who):
    sandbox = Sandbox(t, who, release=False)
    sandbox.expect("ready")
    first = sandbox.first()
    payload = int(Path(f"/proc/{first}/task/{first}/children").read_text())
    signal.pidfd_send_signal(os.pidfd_open(payload), signal.SIGKILL)
    t.wait_until(lambda: Path(f"/proc/{payload}/stat").read_text().split()[2] == "Z", "it is dead")
    sandbox.order("release")
    words, _ = sandbox.end()
    t.true(not any(word.startswith("executed") for word in words), words)
    t.contains(told(words)[0], "failed 3 ")


@everybody("T14 kill(-1) from within leaves the first process, which tells the end")
def _(t, who):
    words, _ = Sandbox(t, who, command=attempts("os.kill(-1, 9)", "os._exit(4)")).end()
    t.equal(told(words), ["ended 4 0", "gone 0"])


@everybody("T4 T9 a storm of processes does not keep an order from being heard")
def _(t, who):
    storm = python("""
say("up")
while True:
    if os.fork() == 0:
        os.fork()
        os._exit(0)
""")
    sandbox = Sandbox(t, who, command=storm)
    sandbox.expect("ready")
    sandbox.expect("executed")
    t.equal(sandbox.line(), "up")
    sandbox.order("kill")
    t.equal(told(sandbox.end()[0]), ["ended 0 9", "gone 0"])


@everybody("R15 the end of the controller ends all, by a closed channel or by SIGKILL")
def _(t, who):
    fifo = t.dir / "fifo"
    os.mkfifo(fifo)
    own(t.dir, who)
    script = f"exec 5>{fifo}; {os.path.realpath('/bin/sleep')} 100 & setsid " \
             f"{os.path.realpath('/bin/sleep')} 100 & echo up >&2; trap '' TERM HUP; wait"
    for how in ("hang-up", "kill"):
        sandbox = Sandbox(t, who, "--item", "keep", t.dir, command=(SH, "-c", script))
        with open(fifo, "rb") as reader:
            t.equal(sandbox.line(), "up")
            first = os.pidfd_open(sandbox.first())
            if how == "hang-up":
                sandbox.order(how)
            else:
                sandbox.child.kill()
            t.equal(reader.read(), b"", "the last holder of the other end is gone")
        select.select([first], [], [])
        os.close(first)
        sandbox.end()


# -- plans that are no plans

@everybody("a plan that is cut short, changed or not sealed is refused without a crash",
           deadline_s=120)
def _(t, who):
    item = ["--item", "writable", "/tmp"]
    for cut in (0, 1, 4, 100, 160, 200, 260, 300):
        sandbox = Sandbox(t, who, *item, "--cut", str(cut))
        sandbox.expect("failed 22 cannot read its plan")
        t.equal(sandbox.end()[0], ["gone 1"])
    sandbox = Sandbox(t, who, "--unsealed")
    sandbox.expect("failed 1 cannot read its plan")
    sandbox.end()
    for which in ("--bytes", "--inodes"):  # 0 would be: no limit
        sandbox = Sandbox(t, who, which, "0")
        sandbox.expect("failed 22 cannot mount the private file system")
        sandbox.end()
    for offset in range(0, 240, 4):
        for value in (0, 0xFFFFFFFF):
            words, _ = Sandbox(t, who, *item, "--poke", str(offset), str(value)).end()
            t.true(words[0].startswith(("failed", "ready")), f"{offset} {value}: {words}")
            t.true(words[-1] in ("gone 0", "gone 1"), f"{offset} {value}: {words}")


# -- a kernel that has less

@everybody("without openat2, clone3, Landlock and mount_setattr it does the same")
def _(t, who):
    root, options = project(t, who)
    deny = (DENY, "openat2", "clone3", "landlock_create_ruleset", "442", "--")
    lines = tried(t, who, options + ["--item", "close", root / ".git"],
                  "open('.git/x', 'w')", "open('/usr/x', 'w')", "os.mkdir('new')", before=deny)
    t.equal(lines, ["EROFS", "EROFS", "ok"])
    sandbox = Sandbox(t, who, before=deny, release=False)
    t.equal(sandbox.expect("ready"), f"ready 0 {USERNS}")
    sandbox.order("hang-up")
    sandbox.end()


main()
