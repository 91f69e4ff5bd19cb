#!/usr/bin/python3
"""Real programs under `berm run`, held against /usr/bin/time -v of the very same execution.

`berm run -- time -v -o FILE COMMAND`: both measure one execution, so the figures must agree: peak
memory of the largest process to the byte that the kernel counts in (1 KiB), processor time within
what `time` itself uses, wall time within
the cost of starting `time`, which a busy machine can make long. Output is compared with the
files themselves.

Every case is worked plain and in the sandbox, where the work is all that it may write: as the user
who runs the test; and run by root by USER, first as root's --user, then with a berm that is USER's own.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import SLOWNESS, berm_path, case, main

SOURCE = Path(__file__).resolve().parent.parent.parent
USER = 61234  # has no account
WAYS = {"plain": (), "sandbox": ("--sandbox", "--writable", ".")}
if os.geteuid() == 0:
    WAYS["sandbox"] += ("--user", f"{USER}:{USER}")
    WAYS["sandbox of an ordinary user"] = WAYS["sandbox"][:3]


class Place:
    """Where a command works, who owns it, and how berm is started there."""

    def __init__(self, t, way):
        self.t, self.options, self.sandboxed = t, WAYS[way], way != "plain"
        self.dir = t.dir / "work"
        self.dir.mkdir()
        self.who, self.berm = {"cwd": self.dir}, berm_path()
        self.report = t.dir / "reports" / "report.json"
        self.report.parent.mkdir()
        self.owned = [self.dir]
        if way == "sandbox of an ordinary user":
            self.who |= {"user": USER, "group": USER, "extra_groups": ()}
            self.owned += [t.home, self.report.parent, t.state]
            self.berm = shutil.copy(self.berm, t.dir / "berm")  # this tree may be closed to others
            t.state.mkdir()
        t.dir.chmod(0o711)

    def hand_over(self):
        """To whoever works there, with all that is in it."""
        for top in self.owned if self.sandboxed and os.geteuid() == 0 else ():
            for path in (top, *top.rglob("*")):
                os.chown(path, USER, USER, follow_symlinks=False)

    def write(self, name, text, mode=0o644):
        (self.dir / name).write_text(text)
        (self.dir / name).chmod(mode)


def everywhere(name, deadline_s=60, ways=tuple(WAYS)):
    """A case for each way; its function gets the place as well."""
    def register(function):
        for way in ways:
            case(f"{name}: {way}", deadline_s)(lambda t, way=way: function(t, Place(t, way)))
        return function
    return register


def timed(path):
    """What time -v wrote, by its own words."""
    text = Path(path).read_text()
    def field(name):
        return re.search(rf"^\s*{re.escape(name)}: (.*)$", text, re.M).group(1)
    parts = [float(p) for p in field("Elapsed (wall clock) time (h:mm:ss or m:ss)").split(":")]
    wall = 0.0
    for part in parts:
        wall = wall * 60 + part
    return {"cpu_s": float(field("User time (seconds)")) + float(field("System time (seconds)")),
            "wall_s": wall, "rss": int(field("Maximum resident set size (kbytes)")) * 1024,
            "status": int(field("Exit status"))}


def work(t, place, *command, options=(), status=0):
    """Run under berm and time at once; the record, after it was held against time's figures."""
    place.hand_over()
    done = t.run(place.berm, "run", "--report", place.report, *place.options, *options, "--", "/usr/bin/time",
                  "-v", "-o", "time.txt", *command, deadline_s=240, **place.who)
    t.equal(done.status, status, str(done))
    record = newest_record(t)
    seen = timed(place.dir / "time.txt")
    t.equal(seen["status"], status, "time's own word")
    ours_cpu = (record["cpu"]["user_ns"] + record["cpu"]["system_ns"]) / 1e9
    t.true(seen["cpu_s"] - 0.03 <= ours_cpu <= seen["cpu_s"] * 1.02 + 0.12 + 0.03 * SLOWNESS,
           f"CPU: time says {seen['cpu_s']} s, berm {ours_cpu:.3f} s")
    ours_wall = record["timing"]["payload_wall_ns"] / 1e9
    t.true(seen["wall_s"] - 0.02 <= ours_wall <= seen["wall_s"] + 5,
           f"wall: time says {seen['wall_s']} s, berm {ours_wall:.3f} s")
    t.true(abs(record["memory"]["largest_process_rss_bytes"] - seen["rss"]) <= 1 << 20
           or seen["rss"] < 8 << 20,
           f"RSS: time says {seen['rss']}, berm {record['memory']['largest_process_rss_bytes']}")
    t.true(record["memory"]["peak_tree_rss_bytes"] >= record["memory"]["largest_process_rss_bytes"],
           "the tree's peak is at least that of its largest process")
    print(f"# {command[0]}: RSS {seen['rss'] >> 10} KiB, CPU {seen['cpu_s']:.2f}/{ours_cpu:.2f} s, "
          f"wall {seen['wall_s']:.2f}/{ours_wall:.2f} s")
    report = record["report"]
    t.equal(report["outcome"], "success" if status == 0 else "command_failed", "outcome")
    t.equal(report["cleanup"]["descendants_remaining"], [], "nothing is left")
    split = record["timing"]["sandbox"]
    t.equal(split is not None, place.sandboxed, "a sandbox has its part of the time")
    if split:
        t.equal(split["tool_ns"] + split["launcher_ns"] + split["verify_ns"],
                record["timing"]["setup_ns"], "the parts of the set-up are the whole")
    t.equal(json.loads(place.report.read_text()), report, "the report and the record agree")
    valid = t.berm("validate-report", "--file", place.report)
    t.equal(valid.status, 0, str(valid))
    t.equal(report["output"]["stdout_bytes"], len(done.out), "stdout is counted exactly")
    tail = report["output"]["stdout_tail"]
    last_line = tail.rstrip("\n").rpartition("\n")[2]
    t.true(done.out.rstrip(b"\n").endswith(last_line.encode()), "the tail ends as the output does")
    return done, record


def newest_record(t):
    records = sorted((t.state / "berm" / "runs").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
    return json.loads(records[-1].read_text())


@everywhere("real work: a build of a real program (RP-1, EX-7)", 240, tuple(WAYS)[:2])
def _(t, place):
    for name in ("src", "lib", "meson.build", "meson_options.txt", "programs", "schema"):
        source = SOURCE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, place.dir / name)
    work(t, place, "meson", "setup", "-Dtests=false", "-Doptimization=0", "out")
    _, record = work(t, place, "ninja", "-C", "out", "-j2", options=("--memory", "3G"))
    built = place.dir / "out" / "programs" / "berm" / "berm"
    t.true(built.exists(), "the program was built")
    t.equal(t.run(built, "--version").status, 0, "and runs")
    t.true(record["report"]["peaks"]["pids"] >= 3, "ninja, cc and the compiler proper were seen")


@everywhere("real work: stress-ng, memory and processor (RP-1)", 120)
def _(t, place):
    _, record = work(t, place, "stress-ng", "--quiet", "--vm", "1", "--vm-bytes", "64M",
                     "--vm-keep", "--vm-ops", "2000", "--temp-path", place.dir)
    t.true(record["memory"]["peak_tree_rss_bytes"] >= 64 << 20, "its 64 MiB were seen")


@everywhere("real work: stress-ng, what a system offers to programs (RP-1)", 120)
def _(t, place):
    one_each = ("fork", "pipe", "sock", "shm", "futex", "pthread", "timer", "aio", "inotify", "pty",
                "udp", "memfd", "flock", "ptrace", "clone", "epoll", "hdd")
    work(t, place, "stress-ng", "--quiet", "--hdd-bytes", "1M", "--temp-path", place.dir,
         *(word for name in one_each for word in (f"--{name}", "1", f"--{name}-ops", "3")))


@everywhere("real work: sqlite3 (RP-1)")
def _(t, place):
    script = ("CREATE TABLE t(a,b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n "
              "WHERE i<200000) INSERT INTO t SELECT i, i*i FROM n; SELECT count(*), sum(b) FROM t;")
    done, _ = work(t, place, "sqlite3", "db", script)
    t.equal(done.out, b"200000|2666686666700000\n", "its result")
    t.equal((place.dir / "db").read_bytes()[:15], b"SQLite format 3", "its file")


@everywhere("real work: Python, output to the byte (RP-1, O4)")
def _(t, place):
    code = ("import sys; data = bytes(range(256)) * 4096 + b'\\n'; sys.stdout.buffer.write(data + b'the end\\n'); "
            "sys.stderr.write('done\\n'); x = bytearray(50 << 20)")
    done, record = work(t, place, "/usr/bin/python3", "-c", code)
    t.equal(done.out, bytes(range(256)) * 4096 + b"\nthe end\n", "every byte came through")
    t.contains(done.err, b"done\n")
    t.true(record["memory"]["largest_process_rss_bytes"] > 50 << 20, "50 MiB were seen")


@everywhere("real work: Python, threads, processes, sockets and a terminal (RP-1)")
def _(t, place):
    place.write("all.py", """import multiprocessing, os, pty, socket, subprocess, tempfile, threading
def square(number):
    return number * number
thread = threading.Thread(target=print, args=("a thread",))
thread.start(); thread.join()
with multiprocessing.Pool(2) as pool:
    print(pool.map(square, range(4)))
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.sendall(b"through a socket"); client.close()
print(server.accept()[0].recv(100).decode())
def read(fd):
    return os.read(fd, 100)
pty.spawn(["/bin/sh", "-c", "test -t 1 && echo a terminal"], read)
with tempfile.TemporaryFile() as file, open(os.path.expanduser("~/.cache-of-a-tool"), "w") as own:
    print(file.write(b"x" * 100), own.write("kept for this run"))
""")
    done, _ = work(t, place, "/usr/bin/python3", "-u", "all.py")
    t.equal(done.out, b"a thread\n[0, 1, 4, 9]\nthrough a socket\na terminal\r\n100 17\n", "all of it")


@everywhere("real work: temporary files, and their peaks (RP-1, SB-7)", ways=tuple(WAYS)[1:])
def _(t, place):
    place.write("temporary.py", """import os, sys, time
files = [open(f"/tmp/{n}", "wb") for n in range(20)]
for file in files:
    file.write(bytes(1 << 20)); file.flush(); os.remove(file.name)
time.sleep(float(sys.argv[1]))  # work, of which a look sees the files
for file in files[5:]:
    file.close()
""")
    _, record = work(t, place, "/usr/bin/python3", "temporary.py", 0.7 * SLOWNESS)
    peaks, samples = record["report"]["peaks"], record["report"]["samples"]
    t.true(20 << 20 <= peaks["temporary_bytes"] < 21 << 20, f"20 MiB at once: {peaks}")
    t.true(20 <= peaks["temporary_inodes"] < 30, f"20 files at once: {peaks}")
    t.true(max(sample["temporary_bytes"] for sample in samples) >= 20 << 20, f"seen: {samples}")
    seen = {limit["name"]: limit["seen"] for limit in record["limits"]}
    t.equal(seen["temporary"], peaks["temporary_bytes"], "both records say the same")


@everywhere("real work: Node (RP-1)")
def _(t, place):
    node = shutil.which("node", path="/usr/bin:/usr/local/bin:" + os.environ["PATH"])
    done, _ = work(t, place, node, "-e", "let s=0; for (let i=0;i<5e6;i++) s+=i; console.log(s)")
    t.equal(done.out, b"12499997500000\n", "its result")


@everywhere("real work: Node, a worker and a server (RP-1)")
def _(t, place):
    node = shutil.which("node", path="/usr/bin:/usr/local/bin:" + os.environ["PATH"])
    place.write("all.js", """const { Worker } = require("worker_threads");
const http = require("http");
new Worker("require('worker_threads').parentPort.postMessage('a worker')", { eval: true })
    .on("message", (said) => { console.log(said); serve(); });
function serve() {
    const server = http.createServer((_, answer) => answer.end("a server")).listen(0, "127.0.0.1",
        () => http.get({ port: server.address().port, host: "127.0.0.1", agent: false }, (answer) =>
            answer.on("data", (text) => { console.log(text.toString()); server.close(); })));
}
""")
    done, _ = work(t, place, node, "all.js")
    t.equal(done.out, b"a worker\na server\n", "its result")


@everywhere("real work: git, make, ps and strace (RP-1)")
def _(t, place):
    place.write("Makefile", "all: a b c\na b c:\n\t@cp Makefile $@\n")
    place.write("tools.sh", """set -e
git init --quiet tree && cd tree && echo text >file && git add file && git status --short
git -c user.name=a -c user.email=b commit --quiet --message first && git log --format=%s && cd ..
make -j2 && ls a b c
ps -e -o args= | grep -c '[t]ools.sh'
strace -f -e trace=execve -o calls sh -c 'ls >/dev/null; true' && grep -c execve calls
""")
    done, _ = work(t, place, "sh", "tools.sh")
    t.contains(done.out, b"A  file\nfirst\na\nb\nc\n")
    t.true(done.out.endswith(b"\n2\n"), "strace saw both programs")


@everywhere("real work: a script with a pipeline, and its exit code (RP-1, EX-4)")
def _(t, place):
    place.write("pipeline.sh", "#!/bin/bash\nset -o pipefail\nseq 1 100000 | sort -rn | head -3 | "
                "tee kept\necho from $0 in $PWD with $# args: \"$@\"\nexit 7\n", 0o755)
    done, _ = work(t, place, "./pipeline.sh", "a b", "", status=7)
    t.contains(done.out, b"100000\n99999\n99998\n")
    t.contains(done.out, f"from ./pipeline.sh in {place.dir} with 2 args: a b \n".encode())
    t.equal((place.dir / "kept").read_bytes(), b"100000\n99999\n99998\n", "its file")


main()
