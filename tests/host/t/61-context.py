#!/usr/bin/python3
# run as: user root
# long: root
"""CX-1 to CX-4 on cgroup v2: a program asks whether a run holds it, in a leaf that is made by hand, with
Linux 6.1, which gives no pidfd of a peer. Each forgery is tried that the library's header names."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from tap import berm_path, case, main  # noqa: E402

BUILD = Path(os.environ["BERM_BUILD"])
DRIVE = BUILD / "tests/lib/context-drive"
TREE = Path("/sys/fs/cgroup")
ROOT = os.geteuid() == 0
NAME = f"berm-hand{os.getpid()}.scope"
MIB = 1 << 20
HELLO = struct.Struct("=IHH16s")
ANSWER = struct.Struct("=IHH16sII8QII768s64s256s64s4096s")
MAGIC, UNLIMITED = 0x78746362, (1 << 64) - 1


def make_tree():
    """The own unit is delegated: its processes go into a folder of their own, then it may hand on."""
    own = TREE / Path("/proc/self/cgroup").read_text().strip().removeprefix("0::/")
    (own / "test").mkdir()
    for pid in (own / "cgroup.procs").read_text().split():
        (own / "test/cgroup.procs").write_text(pid)
    (own / "cgroup.subtree_control").write_text("+memory +pids")
    scope = own / NAME
    scope.mkdir()
    (scope / "cgroup.subtree_control").write_text("+memory +pids")
    for leaf in ("payload", "payload2"):
        (scope / leaf).mkdir()
        for name, value in (("memory.max", str(64 * MIB)), ("memory.swap.max", "0"),
                            ("pids.max", "64")):
            (scope / leaf / name).write_text(value)
    return scope


SCOPE = make_tree()
LEAF = "/" + str((SCOPE / "payload").relative_to(TREE))
ADDRESS = "\0berm/" + NAME
BERM = berm_path()


def as_root(name, **how):
    """A case that only root can try: it takes other users, other places, other numbers."""
    return case(name, **how) if ROOT else lambda function: function


def into(leaf):
    """The beginning of a shell command that goes there."""
    return f"echo $$ >{TREE}{leaf}/cgroup.procs && "


def drive(t, script, *options, leaf=LEAF, **how):
    return t.run(DRIVE, *options, leaf, "/bin/sh", "-c", (into(leaf) if leaf else "") + script, **how)


def context_of(t, done):
    t.true(done.out, str(done))
    return json.loads(done.out)


@case("CX-1 CX-4 a program in the leaf is told, and the kernel says the same")
def _(t):
    done = drive(t, f"exec {BERM} context --json")
    said = context_of(t, done)
    t.equal((done.status, said["verdict"], said["cgroup"]), (0, "inside", LEAF), str(done))
    t.equal({name: said["limits"][name] for name in
             ("memory_max_bytes", "memory_high_bytes", "swap_max_bytes", "pids_max")},
            {"memory_max_bytes": 64 * MIB, "memory_high_bytes": None, "swap_max_bytes": 0,
             "pids_max": 64})
    t.equal((said["run"], said["tier"], said["limits"]["timeout_ms"]), ("by-hand", "none", 60000))
    # A child, its child, and whatever lost its parent ask as well as the first process.
    done = drive(t, f"(setsid {BERM} context &) | cat")
    t.contains(done.out.decode(), "a live run of berm holds this process")
    done = drive(t, f"exec {BERM} context --minimum-tier medium", "--tier", "2")
    t.equal(done.status, 0, str(done))
    done = drive(t, f"exec {BERM} context --minimum-tier large", "--tier", "2")
    t.equal(done.status, 9, str(done))


@case("CX-4 who is not in the leaf is told nothing: beside it, outside, or in one that begins alike")
def _(t):
    done = drive(t, f"{into(LEAF + '2')} exec {BERM} context --json")
    t.equal((done.status, context_of(t, done)["why"]), (3, "no_member"), str(done))
    done = t.run(DRIVE, LEAF, BERM, "context", "--json")
    t.equal((done.status, context_of(t, done)["verdict"]), (3, "outside"), str(done))
    done = t.run(BERM, "context", "--json")
    t.equal((done.status, context_of(t, done)["why"]), (3, "no_broker"), str(done))


@case("CX-1 a limit that was raised meanwhile is seen: the kernel's word counts")
def _(t):
    done = drive(t, f"echo 65 >{TREE}{LEAF}/pids.max; exec {BERM} context --json")
    (SCOPE / "payload/pids.max").write_text("64")
    t.equal((done.status, context_of(t, done)["why"]), (9, "limits"), str(done))


IN_A_SANDBOX = """
import os, subprocess, sys
leaf, berm = sys.argv[1:]
tree = "/sys/fs/cgroup"
def attempt(function):
    try:
        return str(function())
    except OSError as error:
        return os.strerror(error.errno)
print(sorted(os.listdir(tree + leaf))[:1], len(os.listdir(tree)))
print(attempt(lambda: open(tree + leaf + "/memory.max", "w").write("max")))
print(attempt(lambda: os.mkdir(tree + leaf + "/mine")))
print(attempt(lambda: os.listdir(os.path.dirname(tree + leaf)) == ["payload"]))
print(attempt(lambda: os.unlink("/run/berm/context")))
done = subprocess.run([berm, "context", "--json"], stdout=subprocess.PIPE)
sys.stdout.flush()
sys.stdout.buffer.write(done.stdout)
sys.exit(done.returncode)
"""


@case("CX-1 CX-2 in a sandbox the same, at the place that its maker closed", deadline_s=120)
def _(t):
    t.dir.chmod(0o755)
    work = t.dir / "work"
    work.mkdir()
    shutil.copy(BERM, work / "berm")
    # The leaf is entered before: in the sandbox nobody can go anywhere. The supervisor is in it as well
    # here, which a scope keeps apart; the program sees that it lives outside of its PID namespace.
    done = t.run("/bin/sh", "-c", into(LEAF) + 'exec "$@"', "sh", DRIVE, "--sandbox", "1000", LEAF,
                 "/usr/bin/python3", "-c", IN_A_SANDBOX, LEAF, work / "berm", cwd=work,
                 deadline_s=100)
    lines = done.out.decode().split("\n", 5)
    t.equal(lines[0], "['cgroup.controllers'] 1", str(done))
    t.true(set(lines[1:3]) <= {"Read-only file system", "Permission denied"}, str(done))
    t.equal(lines[3], "True")
    t.true(lines[4] in ("Read-only file system", "Permission denied"), str(done))
    said = json.loads(lines[5])
    t.equal((done.status, said["verdict"], said["cgroup"]), (0, "inside", LEAF), str(done))
    t.equal(said["limits"]["memory_max_bytes"], 64 * MIB)


# -- forgeries

def answer(leaf=LEAF, tier=3):
    return ANSWER.pack(MAGIC, 1, 0, bytes(16), tier, 2, 64 * MIB, UNLIMITED, 0, 64, UNLIMITED,
                       UNLIMITED, UNLIMITED, UNLIMITED, 0, 0, bytes(768), b"forged",
                       NAME.encode(), b"forged", leaf.encode())


def forge(address, ready, leaf=None, user=None):
    """A child that answers once as berm would, from that leaf, as that user."""
    child = os.fork()
    if child:
        os.read(ready[0], 1)
        return child
    try:
        if leaf:
            Path(f"{TREE}{leaf}/cgroup.procs").write_text(str(os.getpid()))
        if user:
            os.setresuid(user, user, user)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(address)
        if isinstance(address, str) and address.startswith("/"):
            os.chmod(address, 0o777)
        listener.listen()
        os.write(ready[1], b"x")
        peer, _ = listener.accept()
        peer.send(HELLO.pack(MAGIC, 1, 0, bytes(16)))
        peer.recv(100)
        peer.send(answer())
        os._exit(0)
    finally:
        os._exit(1)


def ended(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def ask(t, **how):
    return t.run("/bin/sh", "-c", into(LEAF) + f"exec {BERM} context --json", **how)


@case("CX-2 variables and files prove nothing")
def _(t):
    forged = {name: value for name in
              ("BERM_CONTEXT", "LAMINA_SAFE_RUNNER", "LAMINA_SAFE_RUNNER_BROKER", "BERM_TIER")
              for value in ("large",)}
    (t.dir / "context.json").write_text('{"verdict": "inside", "tier": "large"}')
    done = ask(t, env=forged)
    t.equal((done.status, context_of(t, done)["why"]), (3, "no_broker"), str(done))


@case("CX-2 a broker that the payload started itself is none")
def _(t):
    for leaf in (LEAF, None):  # in the same leaf; then outside, but no ancestor of who asks
        ready = os.pipe()
        child = forge(ADDRESS, ready, leaf)
        done = ask(t)
        ended(child)
        why = "peer_inside" if leaf else "peer_strange"
        t.equal((done.status, context_of(t, done)["why"]), (9, why), str(done))


@as_root("CX-2 nor one of another user, nor a socket at the place of a sandbox, which is none here")
def _(t):
    ready = os.pipe()
    child = forge(ADDRESS, ready, user=65534)
    done = ask(t)
    ended(child)
    t.equal((done.status, context_of(t, done)["why"]), (9, "peer_strange"), str(done))
    os.makedirs("/run/berm", exist_ok=True)
    child = forge("/run/berm/context", ready)
    done = ask(t)
    ended(child)
    t.equal((done.status, context_of(t, done)["why"]), (9, "peer_strange"), str(done))
    os.unlink("/run/berm/context")
    os.rmdir("/run/berm")


@case("CX-2 an ancestor that forges is believed in nothing that the kernel knows better")
def _(t):
    # This process is above who asks, outside of the leaf, of the same user, and has the name. It can
    # lie about the tier (berm-context.h says so), and neither about the cgroup nor about a limit.
    for frame, why in ((answer(leaf="/other"), "cgroup"), (answer()[:-1], "protocol")):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(ADDRESS)
        listener.listen()
        child = t.start("/bin/sh", "-c", into(LEAF) + f"exec {BERM} context --json",
                        stdout=subprocess.PIPE)
        peer, _ = listener.accept()
        peer.send(HELLO.pack(MAGIC, 1, 0, bytes(16)))
        peer.recv(100)
        peer.send(frame)
        out, _ = child.communicate()
        t.started.remove(child)
        t.equal((child.returncode, json.loads(out)["why"]), (9, why))
        peer.close()
        listener.close()


# -- who asks



@case("CX-4 a connection that a member made speaks for nobody else (copied token)")
def _(t):
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    script = f"""
import socket
ask = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ask.connect({ADDRESS!r})
hello = ask.recv(100)
out = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
out.connect({str(t.dir / 'out')!r})
socket.send_fds(out, [hello], [ask.fileno()])
out.recv(1)
"""
    meeting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    meeting.bind(str(t.dir / "out"))
    meeting.listen()
    child = t.start(DRIVE, LEAF, "/bin/sh", "-c",
                    into(LEAF) + f"exec /usr/bin/python3 -c \"$0\"", script)
    out, _ = meeting.accept()
    hello, fds, _, _ = socket.recv_fds(out, 100, 1)
    ask_here = socket.socket(fileno=fds[0])
    magic, version, status, nonce = HELLO.unpack(hello)
    t.equal((magic, status), (MAGIC, 0))
    ask_here.send(HELLO.pack(MAGIC, 1, 1, nonce))  # a request has the same layout
    t.equal(struct.unpack_from("=IHH", ask_here.recv(8192)), (MAGIC, 1, 2))  # not the peer
    out.send(b"x")
    child.wait()
    t.started.remove(child)
    mine.close()
    theirs.close()


def fork_with(pid, function):
    """A process of exactly this number, which runs the function and then waits to be killed."""
    while True:
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        child = os.fork()
        if child == 0:
            try:
                function()
                signal.pause()
            finally:
                os._exit(0)
        if child == pid:
            return
        ended(child)


@as_root("CX-4 T19 a number that was given to a member meanwhile speaks for nobody")
def _(t):
    # The run is stopped, so that it sees the connection only when its maker is gone and a member has
    # the maker's number. The connection itself is still open, in this process.
    run = t.start(DRIVE, LEAF, "/bin/sh", "-c", into(LEAF) + "echo ready; exec sleep 60",
                  stdout=subprocess.PIPE)
    t.equal(run.stdout.readline(), b"ready\n")
    run.send_signal(signal.SIGSTOP)
    os.waitpid(run.pid, os.WUNTRACED)
    ask_here = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    maker = os.fork()
    if maker == 0:
        try:
            ask_here.connect(ADDRESS)
        finally:
            os._exit(0)
    os.waitpid(maker, 0)
    entered = os.pipe()

    def enter():
        Path(f"{TREE}{LEAF}/cgroup.procs").write_text(str(os.getpid()))
        os.write(entered[1], b"x")

    fork_with(maker, enter)
    os.read(entered[0], 1)
    t.contains(Path(f"/proc/{maker}/cgroup").read_text(), LEAF)
    run.send_signal(signal.SIGCONT)
    _, _, status, nonce = HELLO.unpack(ask_here.recv(100))
    if status == 0:  # without SO_PEERPIDFD the member is taken for the peer, and has not spoken
        ask_here.send(HELLO.pack(MAGIC, 1, 1, nonce))
        status = struct.unpack_from("=IHH", ask_here.recv(8192))[2]
        t.equal(status, 2)
    t.true(status in (2, 3), status)
    ended(maker)
    run.terminate()
    run.wait()
    run.stdout.close()
    t.started.remove(run)


# -- too much

@case("CX-3 a payload that connects without end stops neither the run nor its deadline", deadline_s=120)
def _(t):
    script = f"""
import os, socket
held = []
told = None if os.path.exists("flooded") else 0
while True:
    ask = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ask.setblocking(False)
    try:
        ask.connect({ADDRESS!r})
        held.append(ask)
    except BlockingIOError:
        held = held[-8:]
        if told is None:
            told = os.open("flooded", os.O_WRONLY)
            os.write(told, b"\\n")
"""
    done = t.run(DRIVE, "--timeout-ms", "4000", LEAF, "/bin/sh", "-c",
                 into(LEAF) + 'exec /usr/bin/python3 -c "$0"', script, deadline_s=60)
    t.equal(done.status, 124, str(done))
    # Beside such a neighbour who asks is served, or has had no answer in time. The flood opens the pipe when
    # the queue is full; its reader sees the end of it at the latest when it is killed.
    os.mkfifo(t.dir / "flooded")
    done = t.run(DRIVE, LEAF, "/bin/sh", "-c", into(LEAF) + f"""
/usr/bin/python3 -c "$0" & read _ <flooded; {BERM} context --json; kill -9 $!""", script, deadline_s=60)
    t.true(context_of(t, done)["why"] in ("", "timeout"), str(done))


main()
