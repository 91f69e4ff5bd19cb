#!/usr/bin/python3
"""berm is killed at each boundary of a run, from outside; docs/crash-points.md says what is there then, and is
held against the source.

The table of boundaries and results is printed. The judge of what is left is tests/crash/check-clean: of the whole machine
in the virtual host, of the run's folders elsewhere.
"""

import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
TESTS, TOP = HERE.parent, HERE.parent.parent
sys.path[:0] = [str(TESTS / "lib"), str(HERE)]
from points import OLD, expected, rows, word_of  # noqa: E402
from tap import SLOWNESS, berm_path, case, children, main  # noqa: E402

ALONE = SLOWNESS > 5  # nobody else is at work on this machine, which is the virtual host
CHECK = HERE / "check-clean"
KILL_AT = os.path.abspath(sys.argv.pop(1))
RUNS = {  # that come to the boundaries of a run: (arguments, text of a script)
    "success": ["--", "/bin/true"],
    # No time limit: on a busy machine that is passed before the release.
    "limit": ["--output-max", "4k", "--grace-ms", "30000", "--", "/bin/sh", "-c",
              "head -c 20000 /dev/zero; exec sleep 1000"],
}
OWN = "success, in a cgroup of one's own"
if ALONE and os.geteuid() == 0:
    from scopes import PARENT  # noqa: E402
    RUNS[OWN] = ["--cgroup-parent", PARENT, "--", "/bin/true"]


@case("docs/crash-points.md has the boundaries of the source, and each has one place there")
def _(t):
    if not (TOP / "src/os/boundary.h").exists():
        t.skip("the source is not here")
    listed = re.findall(r"^\s+X\((\d+), (\w+)\)", (TOP / "src/os/boundary.h").read_text(), re.M)
    t.equal([(str(n), name) for n, name, _, _ in sorted(rows())], listed)
    text = "".join(path.read_text() for path in sorted(TOP.glob("src/*/*.c")))
    placed = re.findall(r"os_boundary\(BOUNDARY_(\w+)\);", text)
    t.equal(sorted(placed), sorted(name for _, name in listed))


def number_of(wanted):
    return next(n for n, name, _, _ in rows() if name == wanted)


def begin(t):
    """Folders as they are before a run, and what the judge notes of them."""
    for folder in (t.dir / "out", t.state / "berm/watch"):
        folder.mkdir(parents=True, exist_ok=True)
    (t.dir / "out/r.json").write_text(OLD)
    folders = ["--folder", t.dir / "out", "--folder", t.state / "berm/watch"]
    t.equal(t.run(CHECK, "before", t.dir / "notes", *folders).status, 0)


def judge(t, name):
    """Nothing is left. Elsewhere than in the virtual host others are at work: there only of these folders."""
    done = t.run(CHECK, "after", t.dir / "notes", "--within", 10000 if ALONE else 0, deadline_s=30)
    left = [line for line in done.out.decode().splitlines() if ALONE or line.startswith("entry ")]
    t.equal(left, [], name)


def run(t, *how):
    report = t.dir / "out/r.json"
    report.unlink(missing_ok=True)
    report.write_text(OLD)
    done = t.run(KILL_AT, *how, t.dir / "killed", berm_path(), "run", "--quiet", "--report", report,
                 *RUNS[t.which], deadline_s=60)
    # What a death leaves ends by itself: the payload's first process, or the watchdog's work.
    t.wait_until(lambda: not children(), "all end", deadline_s=30)
    return done, report.read_text()


def boundaries_of(t):
    """Those that a run comes to, by number."""
    run(t, "--points")
    return [int(line.split()[1]) for line in (t.dir / "killed").read_text().splitlines() if line.startswith("point")]


for which in RUNS:
    @case(f"S1 WD-6 berm is killed at each boundary of a run: {which}", deadline_s=300)
    def _(t, which=which):
        t.which = which
        begin(t)
        came = boundaries_of(t)
        t.true({1, 9, 12, 16} <= set(came), came)
        order = [n for n, *_ in rows()]
        t.equal(came, sorted(came, key=order.index), "in the order of docs/crash-points.md: nothing is released unarmed")
        watched = number_of("ARMED") in came
        for n, name, scope, after in rows():
            t.true(n in came or scope or name in ("LIMIT_SEEN", "STOPPING"), f"{name} is passed")
            for nth in range(1, came.count(n) + 1):
                done, text = run(t, "--point", n, "--nth", nth)
                t.equal((t.dir / "killed").read_text(), "killed 157\n", f"{name}: {done}")
                seen = word_of(text)
                later = came.index(16) < [i for i, p in enumerate(came) if p == n][nth - 1]
                print(f"# {n:2} {name:16} {nth}: {seen}")
                wanted = "old" if (name, nth) == ("SLOT_TAKEN", 1) else "final" if later and not watched else expected(after, watched)
                t.equal(seen, wanted, f"{name}, time {nth}")
                judge(t, f"{name}, time {nth}")


if OWN in RUNS:
    @case("S3 both are killed at each boundary of a run in a cgroup of one's own, and recover heals it", deadline_s=300)
    def _(t):
        t.which = OWN
        begin(t)
        came = boundaries_of(t)
        for n, name, scope, _ in rows():
            if not scope or n not in came or not number_of("WATCHDOG_READY") <= n <= number_of("SCOPE_GONE"):
                continue
            done, text = run(t, "--duty", "watchdog", "--beside", "--too", "--point", n)
            t.equal(word_of(text), "in progress", f"{name}: {done}")
            seen = t.berm("recover", "--runs", "--json").json()
            t.equal((seen["healed"], seen["left"]), (1, 0), f"{name}: {seen}")
            t.wait_until(lambda: not children(), "whoever adopted it to be reaped", deadline_s=30)
            text = (t.dir / "out/r.json").read_text()
            print(f"# {n:2} {name:16}: {word_of(text)}, {seen['runs'][0]['what']}")
            t.equal(word_of(text), "crash", name)
            judge(t, name)


main()
