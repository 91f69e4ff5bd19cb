#!/usr/bin/python3
"""The refusal contract of a host that can hold nothing.

BERM is the portable program, or with CGROUPS=hidden the ordinary one on a Linux host whose cgroup v2 nobody
sees; the cases of both are the same ones. LINUX_BERM is the ordinary program, with whose words those of the
portable one are compared.
"""

import json
import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE)]
import tree as project  # noqa: E402
from tap import berm_path, case, main  # noqa: E402
from validate_report import faults_of  # noqa: E402

HIDDEN = os.environ.get("CGROUPS") == "hidden"
LONG = os.environ.get("BERM_TEST_LONG")
SANITIZED = os.environ.get("SANITIZED") == "1"
LINUX_BERM = os.path.abspath(os.environ["LINUX_BERM"])
ROOT = os.geteuid() == 0
AS = ["--user", "65534:65534"] if ROOT and HIDDEN else []
ADAPTER = "portable-process-group-small-only"
CASES = """normal_cleanup direct_memory_limit aggregate_child_memory_limit ignored_graceful_termination
timeout_hang rapid_process_spawning stdout_stderr_flood runner_temporary_disk_growth parent_signal
stale_process_record detached_descendant""".split()
# A plain run of the ordinary program is uncontained, and no refusal (CT-1).
REFUSED = ["--require", "managed", *AS] if HIDDEN else []


def berm(t, *arguments):
    if not HIDDEN:
        return t.berm(*arguments)
    t.env.pop("XDG_RUNTIME_DIR", None)
    t.env.pop("DBUS_SESSION_BUS_ADDRESS", None)
    spaces = "--mount" if ROOT else "--mount --map-root-user"
    return t.run("unshare", *spaces.split(), "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh",
                 berm_path(), *arguments)


def portable(name, **how):
    """A case of the portable program alone."""
    return case(name, **how) if not HIDDEN else lambda function: function


def valid(t, path):
    report = json.loads(path.read_text())
    inner = report.get("report", report)
    t.equal(faults_of(inner), [], path)
    for program in (berm_path(), LINUX_BERM):
        done = t.run(program, "validate-report", "--file", path)
        t.equal((done.status, done.out.decode()), (0, f"{path}: valid\n"), done)
    return inner


@case("PT-1 EN-1 the envelope: the portable adapter, no attestation, no fingerprint, and nothing is made")
def _(t):
    done = berm(t, "envelope", "--json")
    said = done.json()
    attestation = said["attestation"]
    t.equal((done.status, said["schema"], said["adapter"]["id"]), (0, "lamina.safe-runner-envelope/v1", ADAPTER))
    t.equal({name: attestation[name] for name in attestation if name != "reason"},
            {"valid": False, "expected_fingerprint": None, "value": None, "qualification_available": False,
             "qualified_for_production_tiers": False, "adapter": ADAPTER})
    t.true(attestation["reason"], attestation)
    for claim in ("production_enforcement", "aggregate_memory", "aggregate_pids", "complete_descendant_ownership"):
        t.equal(said["adapter"][claim], False, claim)
    t.equal((said["promotion"], said["production_tiers_fail_closed"]), ({"completed": [], "value": None}, True))
    words = berm(t, "envelope").out.decode()
    t.contains(words, f"adapter    {ADAPTER}\n")
    t.contains(words, "attested   no: ")
    t.equal(sorted(os.listdir(t.dir)), ["home"])


@case("PT-1 ST-5 the self-test: eleven skipped cases, not qualified, its own code, exit 3")
def _(t):
    done = berm(t, "self-test", "--json", *AS)
    said = done.json()
    t.equal((done.status, said["schema"], said["passed"], said["qualified_for_production_tiers"], said["adapter"]),
            (3, "lamina.safe-runner-self-test/v1", False, False, ADAPTER), done)
    t.equal(said["refusal"]["code"], "LAMINA_SAFE_PRODUCTION_ENFORCEMENT_REQUIRED")
    t.equal([one["id"] for one in said["cases"]], CASES)
    for one in said["cases"]:
        t.equal((one["passed"], one["skipped"], one["outcome"], one["cleanup_verified"], one["reports"]),
                (False, True, "preflight_refused", True, []), one)
    if said["attestation"]:
        t.equal(json.loads(Path(said["attestation"]).read_text())["host_fingerprint"], None)
    done = berm(t, "self-test", "--require-production", *AS)
    t.equal(done.status, 3)
    t.contains(done.out.decode(), "self-test  refused: 0 of 11 cases passed\n")


@case("PT-1 run: exit 121 and a valid report of a refusal, in the place of what stood there; nothing is run")
def _(t):
    slot = t.dir / "r.json"
    other = t.dir / "other"
    other.write_text("not to be touched")
    slot.symlink_to(other)
    done = berm(t, "run", *REFUSED, "--report", "r.json", "--", "/bin/sh", "-c", "touch ran", "--token=abcdef123456")
    t.equal((done.status, done.out, (t.dir / "ran").exists()), (121, b"", False), done)
    t.contains(done.err.decode(), "berm: REFUSED nothing was run; exit 121\nberm: why ")
    t.contains(done.err.decode(), "\nberm: fix ")
    t.equal((slot.is_symlink(), slot.stat().st_mode & 0o777, other.read_text()), (False, 0o600, "not to be touched"))
    report = valid(t, slot)
    t.equal((report["outcome"], report["termination"]["reason"], report["preflight"]["ok"], report["adapter"]["id"]),
            ("preflight_refused", "preflight_refused", False, ADAPTER))
    t.equal((report["report_file"], report["error"]["code"]), (str(slot), "LAMINA_SAFE_PREFLIGHT"))
    (t.dir / "work").mkdir()
    berm(t, "run", *REFUSED, "--cwd", "work", "--report", "r.json", "--", "/bin/true")
    t.equal(valid(t, slot)["cwd"], str(t.dir / "work"))
    t.true("abcdef123456" not in slot.read_text(), "the token is hidden")
    t.equal((report["cleanup"]["attempted"], report["samples"], report["descendants"]), (False, [], []))


@case("PT-1 run --json: the whole record, with a report that is valid; outcomes and explanations by the same rules")
def _(t):
    done = berm(t, "run", *REFUSED, "--json", "--", "/bin/true")
    t.equal((done.status, done.json()["schema"], done.json()["exit"]["code"]), (121, "berm.run/v1", 121), done)
    (t.dir / "run.json").write_bytes(done.out)
    t.equal(valid(t, t.dir / "run.json")["outcome"], "preflight_refused")
    done = berm(t, "run", *REFUSED, "--json=record.json", "--quiet", "--", "/bin/true")
    t.equal((done.status, valid(t, t.dir / "record.json")["outcome"]), (121, "preflight_refused"))
    t.equal(berm(t, "run", *REFUSED, "--exit-mode", "outcome", "--", "/bin/true").status, 9)
    t.equal(berm(t, "run", *REFUSED, "--exit-mode", "bisect", "--", "/bin/true").status, 125)
    done = berm(t, "run", *REFUSED, "--explain", "--json", "--", "/bin/true")
    t.equal((done.status, done.json()["would_run"]), (121, False))
    t.contains(berm(t, "run", *REFUSED, "--explain", "--", "/bin/true").out.decode(), "it would be refused\n")


@case("PT-1 TR-1 a tier is refused as a plain run is, with its report")
def _(t):
    (t.dir / "berm.yaml").write_text("schema: 1\nentrypoint:\n  work:\n    argv: [work]\n")
    (t.dir / "work").write_text("#!/bin/sh\ntouch ran\n")
    (t.dir / "work").chmod(0o755)
    done = berm(t, "run", "--tier", "small", "--workload", "w", "--report", "r.json", *AS, "--", "work")
    t.equal((done.status, (t.dir / "ran").exists()), (121, False), done)
    report = valid(t, t.dir / "r.json")
    t.equal((report["outcome"], report["tier"], report["preflight"]["ok"]), ("preflight_refused", "small", False))


@case("PT-1 CX-1 context: no run holds this process, exit 3")
def _(t):
    done = berm(t, "context", "--json")
    t.equal((done.status, done.json()["verdict"], done.json()["sufficient"]), (3, "outside", False), done)
    t.equal(berm(t, "context", "--minimum-tier", "small").status, 3)


@case("PT-1 RP-3 validate-report says what the ordinary program says, of good, old, hostile and missing files")
def _(t):
    slot = t.dir / "r.json"
    berm(t, "run", *REFUSED, "--report", "r.json", "--", "/bin/true")
    good = json.loads(slot.read_text())
    bad = {"empty": b"", "list": b"[]", "twice": b'{"a":1,"a":2}', "deep": b"[" * 5000, "bytes": b"\xff\xfe",
           "lie": json.dumps(good | {"outcome": "success"}).encode(), "more": json.dumps(good | {"more": 1}).encode(),
           "long": b'"' + b"x" * (5 << 20) + b'"'}
    for name, text in bad.items():
        (t.dir / name).write_bytes(text)
    os.mkfifo(t.dir / "fifo")
    frozen = sorted((HERE / "frozen").glob("*.json"))
    t.true(len(frozen) > 2, frozen)
    for path in [slot, *frozen, *(t.dir / name for name in bad), t.dir / "missing"]:
        for form in ([], ["--json"]):
            ours, theirs = (t.run(program, "validate-report", "--file", path, *form)
                            for program in (berm_path(), LINUX_BERM))
            t.equal((ours.status, ours.out), (theirs.status, theirs.out), f"{path}\n{ours}\n{theirs}")
    t.true(t.berm("validate-report", "--file", t.dir / "fifo").status not in (0, 1), "a FIFO is not waited for")


@portable("PT-1 a report that cannot stand where it was asked for is berm's failure, and nothing is left beside it")
def _(t):
    (t.dir / "open").mkdir()
    (t.dir / "open").chmod(0o777)
    (t.dir / "folder").mkdir()
    os.mkfifo(t.dir / "fifo")
    for path, word in (("open/r.json", "everybody may write"), ("missing/r.json", "No such file"),
                       ("folder", "neither a file nor a link"), ("fifo", "neither a file nor a link"),
                       ("folder/", "names no file")):
        done = t.berm("run", "--report", path, "--", "/bin/true")
        t.equal(done.status, 125, done)
        t.contains(done.err.decode(), word)
    t.equal(sorted(os.listdir(t.dir)), ["fifo", "folder", "home", "open"])
    t.equal(os.listdir(t.dir / "open") + os.listdir(t.dir / "folder"), [])


@portable("PT-1 paths of Windows are refused as every other is: none is resolved, and none leads anywhere")
def _(t):
    for path in ("C:\\tools\\run.exe", "C:run.exe", "\\\\?\\C:\\run.exe", "\\\\host\\share\\run.exe", "NUL", "CON:", "run.exe::$DATA",
                 "..\\..\\run.exe"):
        (t.dir / "r.json").unlink(missing_ok=True)
        for words in (["--", path], ["--cwd", path, "--", "/bin/true"], ["--sandbox", "--writable", path, "--", "/bin/true"]):
            done = t.berm("run", "--report", "r.json", *words)
            t.equal((done.status, done.out), (121, b""), done)
            t.equal(valid(t, t.dir / "r.json")["outcome"], "preflight_refused")
        t.equal(sorted(os.listdir(t.dir)), ["home", "r.json"], path)


@portable("PT-1 every other verb is refused by its name, with what the host lacks and what would help")
def _(t):
    for arguments in (["show"], ["show", "r.json"], ["config", "show"], ["recover", "--runs"], ["gc", "--state"],
                      ["daemon", "reserve", "x"], ["promotions"], ["fence", "list"]):
        done = t.berm(*arguments)
        t.equal((done.status, done.out), (3, b""), done)
        said = done.err.decode()
        t.true(said.startswith(f"berm: {arguments[0]}: ") and "Linux host" in said and said.count("\n") == 1, said)


@portable("PT-1 the tables of the command line are the ordinary program's: help, version, usage, nearest words")
def _(t):
    whole = t.berm("help", "-a").out.decode()
    verbs = sorted(set(re.findall(r"^  ([a-z-]+) ", whole, re.MULTILINE)))
    t.true(len(verbs) >= 10, verbs)
    wrong = [["rnu"], ["run", "--memroy", "1G", "x"], ["run", "--memory", "x", "--", "y"], ["run"], ["gc"],
             ["run", "--tier", "small", "--", "x"], ["validate-report"]]
    for arguments in [["help"], ["help", "-a"], ["version"], ["--version"], *wrong,
                      *(["help", verb] for verb in verbs), *([verb, "--help"] for verb in verbs)]:
        ours, theirs = (t.run(program, *arguments) for program in (berm_path(), LINUX_BERM))
        t.equal((ours.status, ours.out, ours.err), (theirs.status, theirs.out, theirs.err), arguments)


def looked_at(t, *arguments):
    """(programs started, paths asked for) of the portable program."""
    trace = t.dir / "trace"
    t.run("strace", "-f", "-qq", "-o", trace, "-e", "trace=%process,%file,%net", berm_path(), *arguments)
    lines = trace.read_text().splitlines()
    started = [line for line in lines if re.search(r"\b(execve|execveat|fork|vfork|clone3?)\(", line)]
    sockets = [line for line in lines if re.search(r"\b(socket|connect)\(", line)]
    paths = re.findall(r'\b(?!execve)\w+\([^"\n]*"([^"]*)"', "\n".join(lines))
    return started, sockets, paths


if not SANITIZED:  # which looks into /proc itself
    @portable("PT-1 no process is started, no socket opened, and no Linux interface or program is looked at")
    def _(t):
        for arguments in (["envelope"], ["self-test"], ["run", "--report", "r.json", "--require", "managed", "--",
                                                        "/bin/true"], ["context"], ["show"], ["help"]):
            started, sockets, paths = looked_at(t, *arguments)
            t.equal((len(started), sockets), (1, []), f"{arguments}: {started}")
            t.true(any("libc" in path for path in paths), paths)
            wrong = [path for path in paths if re.match(r"/(proc|sys|run|dev/(?!urandom|null))", path)
                     or re.search(r"bwrap|systemd|dbus|cgroup", path)]
            t.equal(wrong, [], arguments)


if LONG:
    @portable("PT-1 -Dportable=true builds and installs this program alone, with completions and man pages", deadline_s=300)
    def _(t):
        tree = t.dir / "tree"
        project.copy(tree)
        for step in (["setup", "-Dportable=true", tree / "build", tree], ["compile", "-C", tree / "build"],
                     ["install", "-C", tree / "build", "--destdir", t.dir / "installed"]):
            done = t.run("meson", *step, deadline_s=300)
            t.equal(done.status, 0, done)
        files = {str(path.relative_to(t.dir / "installed/usr/local"))
                 for path in (t.dir / "installed").rglob("*") if path.is_file()}
        programs = {file for file in files if not file.startswith("share/")}
        t.equal(programs, {"bin/berm"})
        t.true({"share/man/man1/berm.1", "share/man/man1/berm-run.1", "share/fish/vendor_completions.d/berm.fish"} < files,
               files)
        t.equal(t.run(t.dir / "installed/usr/local/bin/berm", "self-test").status, 3)


main()
