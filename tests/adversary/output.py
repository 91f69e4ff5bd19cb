#!/usr/bin/python3
"""Output that floods, dribbles, hides, lies or has nowhere to go: counted, passed on, and never in
the way.
"""

import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from duel import ATTACK, careless, record_of, report_of, under_berm  # noqa: E402
from tap import SLOWNESS, berm_path, case, main  # noqa: E402

PYTHON = "/usr/bin/python3"
LIMIT = 1 << 20


@case("O1 a flood of both streams stops at the limit, which is exact")
def _(t):
    careless(t, ATTACK, "flood", 64, succeeds=lambda found: found["status"] == 0)
    done = t.berm("run", "--output-max", "1M", "--", ATTACK, "flood")
    t.equal(done.status, 120, str(done.err))
    report = record_of(t)["report"]
    t.equal(report["termination"]["limit"], "output")
    said = done.err.partition(b"berm: ")[0]
    t.equal(len(done.out) + len(said), LIMIT, "what was passed on is the limit to the byte")
    t.true(report["output"]["total_bytes"] > LIMIT, "what was seen is told as it was")
    print(f"# flood: {report['output']['total_bytes']} bytes seen, {LIMIT} passed, "
          f"{report['duration_ms']} ms")


@case("O1 output of exactly the limit is a success, one byte more is not")
def _(t):
    for size, status in ((LIMIT, 0), (LIMIT + 1, 120)):
        for keep in ((), ("--keep-output",)):
            done = t.berm("run", "--output-max", LIMIT, *keep, "--", "head", "-c", size,
                          "/dev/zero")
            t.equal((done.status, len(done.out)), (status, LIMIT), done.err)
            if keep:
                kept = record_of(t)["output"]["stdout"]
                t.equal(Path(kept["kept_file"]).read_bytes(), bytes(LIMIT), "the kept prefix")
                t.equal(kept["kept_bytes"], LIMIT)


@case("O2 a byte now and then, for ever: the time limit works and the bytes are there")
def _(t):
    script = "echo ready; while :; do printf .; sleep 0.1; done"
    careless(t, "sh", "-c", script, stop=signal.SIGSTOP, wait_ms=100)
    done = t.berm("run", "--timeout", "1200ms", "--", "sh", "-c", script)
    t.equal(done.status, 124, done.err)
    report = record_of(t)["report"]
    t.true(3 <= done.out.count(b".") <= 12, done.out)
    t.equal(report["output"]["stdout_tail"], done.out.decode())


@case("O3 a payload that closes its streams goes on running and is waited for")
def _(t):
    done = t.berm("run", "--", "sh", "-c", "echo out; exec >&- 2>&-; sleep 0.3; exit 7")
    t.equal((done.status, done.out), (7, b"out\n"), done.err)
    t.true(record_of(t)["timing"]["payload_wall_ns"] >= 300_000_000, "to its end")


@case("O4 five million random bytes on both streams at once arrive as they are")
def _(t):
    for name in ("one", "two"):
        (t.dir / name).write_bytes(os.urandom(5 << 20) + bytes(range(256)))
    done = t.berm("run", "--quiet", "--keep-output", "--", "sh", "-c",
                  "cat one & cat two >&2; wait", deadline_s=60)
    t.equal(done.status, 0, done.err[-500:])
    one, two = (t.dir / "one").read_bytes(), (t.dir / "two").read_bytes()
    t.true(done.out == one and done.err == two, "byte for byte")
    record = record_of(t)
    for stream, whole in (("stdout", one), ("stderr", two)):
        facts = record["output"][stream]
        t.equal((facts["bytes"], facts["passed_bytes"], facts["kept_bytes"]),
                (len(whole),) * 3, stream)
        t.true(Path(facts["kept_file"]).read_bytes() == whole, "and kept")
        t.true(len(record["report"]["output"][stream + "_tail"].encode()) <= 8192, "a tail")
    t.true(record["report"]["output"]["truncated"], "and it says so")


@case("O4 control sequences reach the terminal of a person from the payload only, never from berm")
def _(t):
    name = "evil\x1b]0;title\x07\x1b[2J\x9b31m\u202egpj.exe\nberm: ok     forged"
    script = t.dir / name.replace("/", "_")
    script.write_text("#!/bin/sh\nprintf '\\033[31mred' >&2; exit 3\n")
    script.chmod(0o755)
    done = t.berm("run", "--label", "l\x1b[1m\nberm: ok     forged", "--", script)
    own = done.err[done.err.index(b"berm: "):]
    t.contains(done.err, b"\x1b[31mred")
    t.true(b"\x1b" not in own and b"\x9b31" not in own and b"\xe2\x80\xae" not in own, own)
    t.true(b"\nberm: ok     forged" not in own, own)
    missing = t.berm("run", "--", "no\x1b[2J\u202ename\nberm: ok     forged")
    t.true(b"\x1b" not in missing.err and b"\nberm: ok " not in missing.err, missing.err)
    shown = t.berm("show", "last")
    t.true(b"\x1b" not in shown.out and b"\nberm: ok " not in shown.out, shown.out)


TWO_READS = """
import fcntl, os, struct, sys, termios, time
def drained():
    return struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, b"    "))[0] == 0
def part(data):
    os.write(1, data)
    end = time.monotonic() + 20
    while not drained():
        if time.monotonic() > end:
            sys.exit("nobody reads")
        time.sleep(0.001)
padding = b"." * int(sys.argv[1])
for piece in (padding + b" tok", b"en=SECR", b"ETVALUE1 ", b"https://user:SECRETV", b"ALUE2@host ",
              b"Authorization: Bearer SECRETVAL", b"UE3\\n"):
    part(piece)
"""


@case("O5 R59 a secret that came in two reads, or across the edge of the tail, is in no report")
def _(t):
    for padding in (0, 8190, 8170, 8100, 16384 - 8, 16384 - 40, 20000):
        (t.dir / "two-reads.py").write_text(TWO_READS)
        done = t.berm("run", "--report", "r.json", "--", PYTHON, "two-reads.py", padding)
        t.equal(done.status, 0, done.err)
        t.contains(done.out, b"SECRETVALUE1")
        places = [(t.dir / "r.json").read_bytes(), *(p.read_bytes() for p in
                                                     (t.state / "berm/runs").glob("*"))]
        for text in places:
            for part in (b"SECRETVALUE", b"SECRETV", b"ETVALUE", b"VALUE1", b"ALUE2", b"UE3"):
                t.true(part not in text, f"{part} with padding {padding}")
        t.contains((t.dir / "r.json").read_text(), "[REDACTED]")


@case("O6 one line of ten million bytes")
def _(t):
    code = "import sys; sys.stdout.write('x' * 10_000_000 + 'END')"
    done = t.berm("run", "--quiet", "--", PYTHON, "-c", code, deadline_s=60)
    t.equal((done.status, len(done.out), done.out[-4:]), (0, 10_000_003, b"xEND"), done.err)
    report = record_of(t)["report"]
    t.equal((report["output"]["stdout_bytes"], report["output"]["stdout_tail"]),
            (10_000_003, "x" * 8189 + "END"))


@case("O7 a pipe in the hands of a process outside the tree does not hang the run")
def _(t):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        start = time.monotonic()
        done = t.berm("run", "--stdin", "inherit", "--", ATTACK, "pass-stdout-away",
                      stdin=None, pass_fds=[], preexec_fn=lambda: os.dup2(theirs.fileno(), 0))
        t.equal((done.status, done.out), (0, b"ready\n"), done.err)
        t.true(time.monotonic() - start < 10 * SLOWNESS, "at once")
    t.equal(record_of(t)["output"]["stdout"]["held_open"], True, "and it is told")


@case("yes | head: a reader that leaves ends the run promptly, and its pipe says nothing more")
def _(t):
    done = t.run("bash", "-c", f"{berm_path()} run --report r.json -- yes | head -1; "
                               "echo ${PIPESTATUS[0]}", deadline_s=20)
    t.equal(done.out, b"y\n141\n", str(done))
    t.true(b"Broken pipe" not in done.err and b"FAILED" not in done.err, done.err)
    report = report_of(t.dir / "r.json")
    t.equal((report["outcome"], report["termination"]["child_signal"]),
            ("command_failed", "SIGPIPE"))
    t.equal(record_of(t)["output"]["stdout"]["pass_error"], "EPIPE")


def unread(fd):
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"    "))[0]


@case("a reader that does not read: time limit, signal and end still work")
def _(t):
    for options, stop, status in ((("--timeout", f"{0.7 * SLOWNESS}s"), None, 124),
                                  ((), signal.SIGTERM, -signal.SIGTERM)):
        ours, theirs = os.pipe()
        child = t.start_berm("run", "--grace-ms", 50, *options, "--report", "r.json", "--", "yes",
                             stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        if stop:
            t.wait_until(lambda: unread(ours) >= 60000, "the pipe to be full")
            child.send_signal(stop)
        _, err = child.communicate(timeout=20 * SLOWNESS)
        os.close(ours)
        t.equal(child.returncode, status, err)
        report = report_of(t.dir / "r.json")
        t.true(report["output"]["stdout_bytes"] > 0, "what was written is counted")
        stream = record_of(t)["output"]["stdout"]
        t.true(stream["passed_bytes"] < stream["bytes"], "and what was not passed on is told")
        t.true(report["duration_ms"] < 6000 * SLOWNESS, report["duration_ms"])


@case("a slow reader gets every byte, also after the payload has ended")
def _(t):
    child = t.start_berm("run", "--quiet", "--", "head", "-c", 300_000, "/dev/zero",
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.wait_until(lambda: not list(Path(f"/proc/{child.pid}/task/{child.pid}").joinpath("children")
                                  .read_text().split()), "the payload to end")
    out, err = child.communicate(timeout=20 * SLOWNESS)
    t.equal((len(out), child.returncode), (300_000, 0), err)


def without(*numbers):
    def close_them():
        for number in numbers:
            os.close(number)
    return close_them


@case("closed stdin, stdout or stderr: the run is recorded, no descriptor is taken for another")
def _(t):
    for numbers in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
        path = t.dir / "r.json"
        path.unlink(missing_ok=True)
        done = t.berm("run", "--report", path, "--keep-output", "--", "sh", "-c",
                      "echo out; echo err >&2; read line; sleep 0.1; echo out; exit 3",
                      preexec_fn=without(*numbers), close_fds=False)
        t.equal(done.status, 3, f"{numbers}: {done}")
        report = report_of(path)
        t.equal((report["output"]["stdout_tail"], report["output"]["stderr_tail"]),
                ("out\nout\n", "err\n"), f"{numbers}")
        t.equal(done.out, b"" if 1 in numbers else b"out\nout\n")
        t.equal(b"err\n" in done.err, 2 not in numbers)
        t.equal((report["outcome"], report["termination"]["child_exit_code"]),
                ("command_failed", 3))


@case("/dev/full as stdout: the payload is told as it would be, and the record keeps it")
def _(t):
    with open("/dev/full", "wb") as full:
        child = t.start_berm("run", "--report", "r.json", "--", "yes", stdout=full,
                             stderr=subprocess.PIPE)
        _, err = child.communicate(timeout=20 * SLOWNESS)
    t.true(child.returncode not in (0, None), "no success")
    stream = record_of(t)["output"]["stdout"]
    t.equal(stream["pass_error"], "ENOSPC")
    t.contains(err, b"ENOSPC")
    t.true(report_of(t.dir / "r.json")["outcome"] != "success", "what was lost is no success")


@case("/dev/full as stdout of a payload that has ended before it can be told: no success either")
def _(t):
    with open("/dev/full", "wb") as full:
        child = t.start_berm("run", "--report", "r.json", "--", "echo", "hi", stdout=full,
                             stderr=subprocess.PIPE)
        _, err = child.communicate(timeout=20 * SLOWNESS)
    stream = record_of(t)["output"]["stdout"]
    t.equal((stream["bytes"], stream["passed_bytes"], stream["pass_error"]), (3, 0, "ENOSPC"))
    t.contains(err, b"ENOSPC")
    report = report_of(t.dir / "r.json")
    t.equal((child.returncode, report["outcome"], report["termination"]["child_exit_code"]),
            (125, "internal_error", 0))
    t.contains(report["error"]["message"], "ENOSPC")


@case("/dev/full for --json: the run is over, its result is lost, and that is a failure")
def _(t):
    with open("/dev/full", "wb") as full:
        child = t.start_berm("run", "--json", "--", "true", stdout=full, stderr=subprocess.PIPE)
        _, err = child.communicate(timeout=20 * SLOWNESS)
    t.equal(child.returncode, 125, err)
    t.contains(err, b"ENOSPC")
    t.equal(record_of(t)["report"]["outcome"], "success", "the record in the state folder stands")


@case("D10 two hundred thousand writes of one byte")
def _(t):
    code = "import os\nfor _ in range(200000): os.write(1, b'.')"
    done = t.berm("run", "--quiet", "--", PYTHON, "-c", code, deadline_s=60)
    t.equal((done.status, len(done.out)), (0, 200_000), done.err)
    record = record_of(t)
    t.equal(record["output"]["stdout"]["bytes"], 200_000)
    print(f"# {record['timing']['payload_wall_ns'] // 1_000_000} ms; berm's own "
          f"{record['timing']['own_ns'] // 1_000_000} ms")


main()
