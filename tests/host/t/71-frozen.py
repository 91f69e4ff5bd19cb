#!/usr/bin/python3
# run as: user root
"""Runs at a tier run from a frozen copy of their repository, and what was frozen is what is looked at again."""

import ctypes
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "crash")]
from cgroups import ROOT  # noqa: E402
from deaths import KILL_AT, helpers  # noqa: E402
from points import rows  # noqa: E402
from tap import berm_path, case, children, main  # noqa: E402

LONG = bool(os.environ.get("BERM_TEST_LONG"))
POINTS = {name: n for n, name, _, _ in rows()}
YAML = """schema: 1
entrypoint:
  work: { argv: [bench/work], environment: [COLOUR=red], dependencies: [needed] }
  staged: { argv: [bench/staged], toolchain: tool }
  named: { argv: [bench/work, "{file}"], parameters: { file: [arg, out, missing] } }
  sealed:
    argv: [bench/work, sealed]
    dependencies: [needed]
    sealed:
      model:  { flag: --model, manifest: model.json, max_mib: 1 }
      loose:  { flag: --loose, max_mib: 1 }
      digest: { flag: --digest, of: model }
"""
WORK = """#!/bin/sh
echo "$COLOUR $LOUD"
for arg in "$@"; do case $arg in arg | model) cat "$arg";; esac; done
cat data needed/lib
"""
MODEL = "f" * 64


def repository(t, work=WORK):
    t.dir.chmod(0o755)
    top = t.dir / "top"
    for folder in ("top", "top/.git", "top/bench", "top/needed"):
        (t.dir / folder).mkdir()
    files = {"berm.yaml": YAML, "bench/work": work, "data": "frozen\n", ".gitignore": "needed\n",
             "needed/lib": "lib\n", "arg": "argument\n"}
    for name, text in files.items():
        (top / name).write_text(text)
    (top / "bench/work").chmod(0o755)
    return top


def command(t, *words, options=()):
    return [berm_path(), "run", "--json=../record.json", "--tier", "small", "--workload", "w", "--report",
            t.dir / "r.json", *options, "--", *words]


def run(t, top, *words, before=(), options=(), **how):
    """(what was done, the record)"""
    done = t.run(*before, *command(t, *words, options=options), cwd=top, deadline_s=60, **how)
    record = json.loads((t.dir / "record.json").read_text())
    valid = t.berm("validate-report", "--file", t.dir / "r.json")
    t.equal(valid.status, 0, f"{done} {valid}")
    return done, record


def at(t, name, words):
    """While berm is stopped at that boundary, these words are done."""
    return [KILL_AT, "--point", POINTS[name], "--instead", words, t.dir / "met"]


def spoil(t):
    """The copy, by its owner."""
    return f'copy=$(echo {t.state}/berm/snapshots/*/0/tree/data); chmod u+w "$copy"; echo more >>"$copy"'


def ran(t, done, record, out):
    t.equal((done.status, done.out.decode()), (0, out), f"{done} {record['report']['error']}")
    t.equal((record["report"]["outcome"], record["report"]["tier"]), ("success", "small"))
    return record["frozen"]


def refused(t, done, record, what):
    t.equal((done.status, done.out), (121, b""), f"{done}")
    t.equal((record["report"]["outcome"], record["report"]["preflight"]["ok"]), ("preflight_refused", False))
    t.contains(record["report"]["error"]["message"], what)


if ROOT:
    @case("SB-2 root starts no work at a tier: the copy lies in its own state")
    def _(t):
        done, record = run(t, repository(t), "bench/work", options=("--user", "61234:61234"))
        refused(t, done, record, "root starts no work at a tier")

    main()
    sys.exit()


@case("FZ-2 FZ-4 SI-5 the same work has the same identity: not limits, callers and times, but bytes make it another")
def _(t):
    top = repository(t)
    first = ran(t, *run(t, top, "bench/work", env={"COLOUR": "blue", "LOUD": "1"}), "red \nfrozen\nlib\n")
    t.equal((first["files_copied"], first["copy_changed"]), (6, False), first)
    os.utime(top / "data", (1, 1))
    again = ran(t, *run(t, top, "bench/work", options=("--memory", "512M", "--timeout", "50s")),
                "red \nfrozen\nlib\n")
    t.equal((again["identity"], again["source"], again["files_copied"]), (first["identity"], first["source"], 0))
    if not LONG:
        return
    (top / "needed/lib").write_text("other\n")
    other = ran(t, *run(t, top, "bench/work"), "red \nfrozen\nother\n")
    t.true(other["identity"] != first["identity"] and other["files_copied"] == 1, other)


def landlock_abi():
    """Of this kernel: landlock_create_ruleset(2) that asks for it; -1 without Landlock."""
    return ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1))


@case("SB-6 CT-3 an entrypoint has the network of the host when it declares that, where that opens nothing else")
def _(t):
    top = repository(t, "#!/bin/sh\nreadlink /proc/self/ns/net\n")
    net = "  net: { argv: [bench/work, net], network: required, network_reason: it loads }\n"
    (top / "berm.yaml").write_text(YAML + net)
    of_the_host = os.readlink("/proc/self/ns/net") + "\n"
    done, record = run(t, top, "bench/work")
    t.equal((done.status, done.out.decode() == of_the_host), (0, False), f"{done} {record['report']['error']}")
    done, record = run(t, top, "bench/work", "net")
    if landlock_abi() >= 6:  # Linux 6.12
        ran(t, done, record, of_the_host)
    else:  # abstract sockets would be open with it
        refused(t, done, record, "control-sockets cannot be enforced")
        t.contains(done.err.decode(), "use Linux 6.12 or later with Landlock, or do without the network of the host")


SCRATCH = """#!/bin/sh
for path in out/kept out/kept.git/config out/seen out/.gitignore data bench/work new out/../new; do
    (echo x >>"$path") 2>/dev/null && echo "wrote $path"
done
exit 0
"""


@case("SB-3 small work writes the one folder of its repository that is declared, and other work none")
def _(t):
    top = repository(t, SCRATCH)
    (top / "berm.yaml").write_text(YAML + "  s: { argv: [bench/work, s], scratch: out, scratch_reason: it keeps results }\n"
                                   "  b: { argv: [bench/work, b], scratch: bench, scratch_reason: it writes itself }\n")
    (top / "out").mkdir()
    (top / "out/.gitignore").write_text("kept\n")
    wrote = "wrote out/kept\nwrote out/seen\nwrote out/.gitignore\n"
    done, record = run(t, top, "bench/work")
    ran(t, done, record, "")
    frozen = ran(t, *run(t, top, "bench/work", "s"), wrote)
    t.equal((top / "out/kept").read_text(), "x\n")
    (top / "out/seen").unlink()
    (top / "out/.gitignore").write_text("kept\n")
    again = ran(t, *run(t, top, "bench/work", "s"), wrote)
    t.equal(((top / "out/kept").read_text(), again["identity"]), ("x\nx\n", frozen["identity"]))
    (top / "out/lib").write_text("code\n")
    done, record = run(t, top, "bench/work", "s")
    refused(t, done, record, "'out/lib' is a part of the source that is frozen")
    (top / "out/lib").unlink()
    done, record = run(t, top, "bench/work", "b")
    refused(t, done, record, "'bench/work' is a part of the source that is frozen")
    (top / "out/seen").unlink()
    (top / ".git").rename(top / "out/kept.git")
    (top / "out/.gitignore").write_text("kept*\n")
    (top / ".git").write_text("gitdir: out/../out/kept.git\n")
    ran(t, *run(t, top, "bench/work", "s"), wrote)
    t.equal(list((top / "out/kept.git").iterdir()), [], "git's own folder stays closed")
    (top / "out/seen").unlink()
    (top / ".git").unlink()
    (top / "out/kept.git").rename(top / ".git")
    (top / "out").rename(top / "another")
    (top / "out").symlink_to("another")
    done, record = run(t, top, "bench/work", "s")
    refused(t, done, record, "out")
    t.equal((top / "another/kept").read_text(), "x\nx\nx\n")


LOOK = """#!/bin/sh
head -c 300000 /dev/zero # berm is to take it
pwd; echo *; ls -A; cat data
for path in data new bench/work; do (: >>"$path") 2>/dev/null && echo "wrote $path"; done
chmod 777 data 2>/dev/null && echo chmod
exit 0
"""


@case("SB-2 FZ-3 the command sees the copy in the place of its repository, read-only and without .git, whatever becomes of that")
def _(t):
    top = repository(t, LOOK)
    edit = f"cd {top} && echo edited >data && echo new >new && rm arg"
    done, record = run(t, top, "bench/work", before=at(t, "RELEASED", edit))
    out = done.out.lstrip(b"\0").decode().splitlines()
    names = "arg bench berm.yaml data needed"
    t.equal((done.status, out), (0, [str(top), names, ".gitignore", *names.split(), "frozen"]), str(done))
    t.equal(((top / "data").read_text(), record["frozen"]["copy_changed"]), ("edited\n", False))


@case("FZ-1 SI-4 what is changed between its freezing and the release is not run: source, argument, sealed input, the copy")
def _(t):
    top = repository(t)
    data, arg, lib = top / "data", top / "arg", top / "needed/lib"
    changes = [("ADMITTED", arg, ["bench/work", "arg"])]
    if LONG:
        changes += [("SNAPSHOT_TAKEN", arg, ["bench/work", "arg"]), ("SNAPSHOT_TAKEN", data, ["bench/work"]),
                    ("ADMITTED", data, ["bench/work"]), ("SNAPSHOT_TAKEN", lib, ["bench/work"]),
                    ("ADMITTED", lib, ["bench/work"])]
    for point, where, words in changes:
        done, record = run(t, top, *words, before=at(t, point, f"echo more >>{where}"))
        refused(t, done, record, f"'{where.relative_to(top)}'")
    done, record = run(t, top, "bench/work", before=at(t, "ADMITTED", spoil(t)))
    refused(t, done, record, "data")
    if LONG:
        frozen = ran(t, *run(t, top, "bench/work"), "red \nfrozen\nmore\nmore\nlib\nmore\nmore\n")
        t.true(frozen["files_copied"] >= 6, frozen)  # the spoiled copy is made anew


@case("FZ-3 a copy that is changed while the command runs makes no success of it")
def _(t):
    top = repository(t, "#!/bin/sh\nhead -c 300000 /dev/zero >&2\n")
    done, record = run(t, top, "bench/work", before=at(t, "RELEASED", spoil(t)))
    t.equal((done.status, record["report"]["outcome"], record["frozen"]["copy_changed"]),
            (125, "internal_error", True), str(done))


@case("SI-2 SI-3 SI-4 a sealed input has the size and digest of its manifest, and the one that the command names")
def _(t):
    import hashlib
    top = repository(t)
    model = "model bytes\n"
    digest = hashlib.sha256(model.encode()).hexdigest()
    pins = {"sha256": digest, "bytes": len(model), "origin": "ours"}
    words = ["bench/work", "sealed", "--model", "model", "--loose", "data", "--digest"]

    def again(name=digest, loose="frozen\n", **changed):
        (top / "model").write_text(model)
        (top / "data").write_text(loose)
        (top / "model.json").write_text(json.dumps(pins | changed))
        return run(t, top, *words, name)

    ran(t, *again(), " \nmodel bytes\nfrozen\nlib\n")
    refused(t, *again(bytes=len(model) + 1), "its manifest says 13")
    if not LONG:
        return
    refused(t, *again(sha256="0" * 64), "the digest that the manifest")
    refused(t, *again(name="0" * 64), "the digest that the manifest")
    refused(t, *again(loose="x" * ((1 << 20) + 1)), "[sealed]")


@case("IB-4 an interpreter that lies in a hidden place runs as it was staged, by its own path")
def _(t):
    top = repository(t)
    runtime = t.dir / "home/tool/bin"
    runtime.mkdir(parents=True)
    (runtime / "python3").write_text('#!/bin/sh\necho "staged $0 $1"; command -v python3\n')
    (runtime / "python3").chmod(0o755)
    (top / "bench/staged").write_text("#!/usr/bin/env python3\n")
    (top / "bench/staged").chmod(0o755)
    t.equal(t.berm("toolchain", "stage", runtime.parent).status, 0)
    (runtime / "python3").write_text("#!/bin/sh\necho evil\n")
    ran(t, *run(t, top, "bench/staged"), f"staged {runtime}/python3 ./bench/staged\n{runtime}/python3\n")


if LONG:
    @case("FZ-2 D5 odd names are frozen; a link that leads out, and more files than fit, are refused with figures")
    def _(t):
        top = repository(t)
        for name in (b"\xff\n", b"a b", b"-x"):
            (Path(os.fsdecode(os.fsencode(top) + b"/" + name))).write_text("x")
        ran(t, *run(t, top, "bench/work"), "red \nfrozen\nlib\n")
        (top / "out").symlink_to("/etc/passwd")
        refused(t, *run(t, top, "bench/work"), "out")
        (top / "out").unlink()
        (top / "many").mkdir()
        t.run("sh", "-c", "cd many && seq 50000 | xargs touch", cwd=top, deadline_s=60)
        refused(t, *run(t, top, "bench/work"), "more than 16384 files")


@case("FZ-3 the copy stays leased while the watchdog ends a run whose berm was killed")
def _(t):
    top = repository(t, "#!/bin/sh\necho ready\nexec sleep 1000\n")
    words = [word for word in command(t, "bench/work") if not str(word).startswith("--json")]
    child = t.start(*words, cwd=top, stdout=subprocess.PIPE)
    t.equal(child.stdout.readline(), b"ready\n")
    (watchdog,) = helpers("watchdog")
    os.kill(watchdog, signal.SIGSTOP)
    child.kill()
    child.wait()
    t.started.remove(child)
    (copy,) = (t.state / "berm/snapshots").glob("*/0")
    held = os.open(copy, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        t.true(False, "nobody holds the copy")
    except BlockingIOError:
        pass
    os.kill(watchdog, signal.SIGCONT)
    t.wait_until(lambda: not children(), "all end")
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(held)


main()
