#!/usr/bin/python3
"""Real programs under `berm run`, held against /usr/bin/time -v of the very same execution.

`berm run -- time -v -o FILE COMMAND`: both measure one execution, so the figures must agree: peak
memory of the largest process to the byte that the kernel counts in (1 KiB), processor time within
what `time` itself uses, wall time within
the cost of starting `time`, which a busy machine can make long. Output is compared with the
files themselves.
"""

import os
import re
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import case, main

SOURCE = Path(__file__).resolve().parent.parent.parent


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


def work(t, *command, options=(), status=0, **how):
    """Run under berm and time at once; the record, after it was held against time's figures."""
    done = t.berm("run", "--report", "report.json", *options, "--", "/usr/bin/time", "-v", "-o",
                  "time.txt", *command, deadline_s=240, **how)
    t.equal(done.status, status, str(done))
    record = newest_record(t)
    seen = timed(t.dir / "time.txt")
    t.equal(seen["status"], status, "time's own word")
    ours_cpu = (record["cpu"]["user_ns"] + record["cpu"]["system_ns"]) / 1e9
    t.true(seen["cpu_s"] - 0.03 <= ours_cpu <= seen["cpu_s"] * 1.02 + 0.15,
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
    valid = t.berm("validate-report", "--file", "report.json")
    t.equal(valid.status, 0, str(valid))
    t.equal(report["output"]["stdout_bytes"], len(done.out), "stdout is counted exactly")
    tail = report["output"]["stdout_tail"]
    last_line = tail.rstrip("\n").rpartition("\n")[2]
    t.true(done.out.rstrip(b"\n").endswith(last_line.encode()), "the tail ends as the output does")
    return done, record


def newest_record(t):
    import json
    records = sorted((t.state / "berm" / "runs").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
    return json.loads(records[-1].read_text())


@case("real work: a build of a real program (RP-1, EX-7)", deadline_s=240)
def _(t):
    for name in ("src", "meson.build", "meson_options.txt", "programs"):
        source = SOURCE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, t.dir / name)
    work(t, "meson", "setup", "-Dtests=false", "out")
    done, record = work(t, "ninja", "-C", "out", "-j2", options=("--memory", "3G"))
    built = t.dir / "out" / "programs" / "berm" / "berm"
    t.true(built.exists(), "the program was built")
    t.equal(t.run(built, "--version").status, 0, "and runs")
    t.true(record["report"]["peaks"]["pids"] >= 3, "ninja, cc and the compiler proper were seen")


@case("real work: stress-ng, memory and processor (RP-1)", deadline_s=120)
def _(t):
    _, record = work(t, "stress-ng", "--quiet", "--vm", "1", "--vm-bytes", "64M", "--vm-keep",
                     "--vm-ops", "2000", "--temp-path", str(t.dir))
    t.true(record["memory"]["peak_tree_rss_bytes"] >= 64 << 20, "its 64 MiB were seen")


@case("real work: sqlite3 (RP-1)")
def _(t):
    script = ("CREATE TABLE t(a,b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n "
              "WHERE i<200000) INSERT INTO t SELECT i, i*i FROM n; SELECT count(*), sum(b) FROM t;")
    done, _ = work(t, "sqlite3", "db", script)
    t.equal(done.out, b"200000|2666686666700000\n", "its result")


@case("real work: Python, output to the byte (RP-1, O4)")
def _(t):
    code = ("import sys; data = bytes(range(256)) * 4096 + b'\\n'; sys.stdout.buffer.write(data + b'the end\\n'); "
            "sys.stderr.write('done\\n'); x = bytearray(50 << 20)")
    done, record = work(t, "/usr/bin/python3", "-c", code)
    t.equal(done.out, bytes(range(256)) * 4096 + b"\nthe end\n", "every byte came through")
    t.contains(done.err, b"done\n")
    t.true(record["memory"]["largest_process_rss_bytes"] > 50 << 20, "50 MiB were seen")


@case("real work: Node (RP-1)")
def _(t):
    node = shutil.which("node", path="/usr/bin:/usr/local/bin:" + os.environ["PATH"])
    done, _ = work(t, node, "-e", "let s=0; for (let i=0;i<5e6;i++) s+=i; console.log(s)")
    t.equal(done.out, b"12499997500000\n", "its result")


@case("real work: a script with a pipeline, and its exit code (RP-1, EX-4)")
def _(t):
    script = t.dir / "pipeline.sh"
    script.write_text("#!/bin/bash\nset -o pipefail\nseq 1 100000 | sort -rn | head -3 | tee kept\n"
                      "echo from $0 in $PWD with $# args: \"$@\"\nexit 7\n")
    script.chmod(0o755)
    done, _ = work(t, "./pipeline.sh", "a b", "", status=7)
    t.contains(done.out, b"100000\n99999\n99998\n")
    t.contains(done.out, f"from ./pipeline.sh in {t.dir} with 2 args: a b \n".encode())
    t.equal((t.dir / "kept").read_bytes(), b"100000\n99999\n99998\n", "its file")


main()
