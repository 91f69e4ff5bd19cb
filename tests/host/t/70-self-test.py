#!/usr/bin/python3
# run as: user root
# long: root
"""The self-test on a host that enforces everything: it passes, the attestation holds as long as nothing
changes, and nothing that goes wrong leaves an old one valid. BERM_TEST_LONG: all of it as root too.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "lib"))
from cgroups import ROOT, tree  # noqa: E402
from pinned import DIGEST, IS_THERE, PIN  # noqa: E402
from tap import berm_path, case, main  # noqa: E402
from tree import TOP  # noqa: E402

BUILD = Path(os.environ["BERM_BUILD"])
FIXTURE = BUILD / "programs/fixture/berm-fixture"
AS = ["--user", "61234:61234"] if ROOT else []
LONG = os.environ.get("BERM_TEST_LONG")
WHOLE = LONG or not ROOT
STATE = Path(tempfile.mkdtemp())  # of the first case, for those that need what it leaves
CASES = """normal_cleanup direct_memory_limit aggregate_child_memory_limit ignored_graceful_termination
timeout_hang rapid_process_spawning stdout_stderr_flood runner_temporary_disk_growth parent_signal
stale_process_record detached_descendant""".split()


def own_time(t):
    """Of a fork and exec here."""
    took = []
    for _ in range(9):
        began = time.monotonic()
        t.run("/bin/true")
        took.append(time.monotonic() - began)
    return sorted(took)[4]


def attestation(t):
    done = t.berm("envelope", "--json")
    return done, done.json()["attestation"]


def whole(name, when=WHOLE, **how):
    """A case of the long form, and of the ordinary user's."""
    return case(name, **how) if when else lambda function: function


def no_runs_left():
    names = [os.path.basename(folder) for folder in tree()[1]]
    return not [name for name in names if name.startswith("berm-")]


# What meson and ninja would do: the guest has none, and what is packed was built elsewhere.
MESON = """#!/bin/sh
case "$1 $2" in
*buildoptions) echo '[{"name": "faults", "value": false}]' ;;
introspect*) echo '{"version": "9.8.7"}' ;;
install*)
    while [ "$1" != --destdir ]; do shift; done
    mkdir -p "$2/usr/bin" && cp "$BERM_BUILD/programs/berm/berm" "$2/usr/bin/" ;;
esac
"""


def source(t):
    """A repository in which tools/dist is what it is here."""
    tree = t.dir / "tree"
    (tree / "tools").mkdir(parents=True)
    shutil.copy(TOP / "tools/dist", tree / "tools/dist")
    (t.dir / "bin").mkdir()
    for name, text in (("meson", MESON), ("ninja", "#!/bin/sh\necho 'ninja: no work to do.'\n")):
        (t.dir / "bin" / name).write_text(text)
        (t.dir / "bin" / name).chmod(0o755)
    t.env |= {"PATH": f"{t.dir}/bin:{t.env['PATH']}", "BERM_BUILD": str(BUILD), "XDG_STATE_HOME": str(STATE),
              **{f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
    for command in (["git", "init", "-q"], ["git", "add", "."], ["git", "commit", "-qm", "all"]):
        t.equal(t.run(*command, cwd=tree).status, 0)
    return tree


@case("PT-3 before the self-test nothing is packed")
def _(t):
    done = t.run("tools/dist", BUILD, t.dir / "out", cwd=source(t))
    t.equal((done.status, done.out), (3, b""), done)
    t.contains(done.err.decode(), f"run: {berm_path()} self-test --require-production")
    t.equal((t.dir / "out").exists(), False)


@case("ST-1 ST-2 ST-3 EN-1 PT-2 eleven cases pass, each with its report, and the envelope shows it", deadline_s=60)
def _(t):
    t.env["XDG_STATE_HOME"] = str(STATE)
    t.equal(attestation(t)[1]["valid"], False)
    began = time.monotonic()
    pin = PIN if IS_THERE and not ROOT else {}
    done = t.berm("self-test", "--json", "--require-production", *AS, env=pin, deadline_s=60)
    took = time.monotonic() - began
    print(f"# {took:.1f} s; a fork and exec here takes {own_time(t) * 1000:.0f} ms")
    for line in done.err.decode().splitlines():
        print(f"# {line}")
    said = done.json()
    t.equal((done.status, said["passed"], [one["id"] for one in said["cases"]]), (0, True, CASES), done)
    t.equal(STATE.joinpath("berm/self-test.json").stat().st_mode & 0o777, 0o600)
    for one in said["cases"]:
        for stored in one["reports"]:
            path = STATE / "berm/self-test" / stored["file"]
            t.equal(hashlib.sha256(path.read_bytes()).hexdigest(), stored["sha256"], one["id"])
            t.equal(t.berm("validate-report", "--file", path).status, 0, one["id"])
            limits = json.loads(path.read_text())["limits"]
            most = 24 if one["id"] == "rapid_process_spawning" else 32
            # bubblewrap and the launcher come to it
            t.true(not limits or not limits["pids_max"] or limits["pids_max"] + 2 <= most, f"{one['id']} {limits}")
        t.true(one["cleanup_verified"] and one["reports"], one)
    seen = attestation(t)[1]
    t.equal((seen["valid"], seen["reason"], seen["qualified_for_production_tiers"]), (True, None, True), seen)
    t.equal(seen["expected_fingerprint"], seen["value"]["host_fingerprint"])
    if pin:
        t.equal(seen["value"]["host"]["bubblewrap"], DIGEST)
    # PT-3: by which tools/dist knows that it packs what was attested
    t.equal(seen["value"]["host"]["build"], hashlib.sha256(Path(berm_path()).read_bytes()).hexdigest())
    t.contains(t.berm("envelope").out.decode(), "attested   since ")
    t.wait_until(no_runs_left, "the watchdogs' scopes to be gone")


@case("PT-3 on the host that it has qualified, this very program is packed, with the source and their digests")
def _(t):
    done = t.run("tools/dist", BUILD, t.dir / "out", cwd=source(t))
    t.equal(done.status, 0, done)
    names = sorted(os.listdir(t.dir / "out"))
    t.equal((len(names), names[0], names[-1]), (3, "SHA256SUMS", "berm-9.8.7.tar.gz"), names)
    t.equal(t.run("sha256sum", "--quiet", "--check", "SHA256SUMS", cwd=t.dir / "out").status, 0)
    with tarfile.open(t.dir / "out" / names[1]) as archive:
        packed = archive.extractfile(f"{names[1].removesuffix('.tar.gz')}/usr/bin/berm").read()
    t.true(packed == Path(berm_path()).read_bytes(), "another program was packed")


@case("ST-3 what the cases do succeeds undefended: the escape reaches out")
def _(t):
    done = t.run(FIXTURE, "escape")
    said = done.json()
    t.equal((done.status, said["scope_escape_refused"]), (70, False), done)
    t.true(said["sockets_reached"] and said["limits_opened"], said)


@whole("ST-4 a changed report, another boot and a broken file: each is seen, and named")
def _(t):
    t.env["XDG_STATE_HOME"] = str(STATE)
    report = STATE / "berm/self-test/timeout_hang.json"
    kept = report.read_bytes()
    report.write_bytes(kept.replace(b"timeout", b"timeeut", 1))
    seen = attestation(t)[1]
    t.equal((seen["valid"], "report of the case timeout_hang" in seen["reason"]), (False, True), seen)
    report.write_bytes(kept)
    t.equal(attestation(t)[1]["valid"], True)
    path = STATE / "berm/self-test.json"
    kept = path.read_bytes()
    broken = json.loads(kept)
    broken["host"]["boot_id"] = "another"
    path.write_text(json.dumps(broken))
    done, seen = attestation(t)
    t.equal((done.status, seen["valid"]), (5, False), done)  # its fingerprint is not of its facts
    path.write_bytes(kept[:-20])
    done, seen = attestation(t)
    t.equal((done.status, seen["valid"]), (5, False), done)
    path.write_bytes(kept)
    t.equal(attestation(t)[1]["valid"], True)


@whole("ST-4 killed on its way, it leaves no valid attestation", deadline_s=30)
def _(t):
    t.env["XDG_STATE_HOME"] = str(STATE)
    child = t.start_berm("self-test", *AS, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    t.contains(child.stderr.readline().decode(), "normal_cleanup: passed")
    child.kill()
    child.wait()
    child.stderr.close()
    t.started.remove(child)
    seen = attestation(t)[1]
    t.equal((seen["valid"], "began and has not ended" in seen["reason"]), (False, True), seen)
    t.wait_until(no_runs_left, "the watchdog to have ended the case")


@whole("ST-3 a bubblewrap that does nothing: no case of a sandbox passes, and the host is not qualified",
       when=LONG, deadline_s=60)
def _(t):
    t.env["XDG_STATE_HOME"] = str(STATE)
    wrong = t.dir / "bwrap"
    t.dir.chmod(0o755)
    wrong.write_bytes(Path("/bin/true").read_bytes())
    wrong.chmod(0o755)
    pin = {"BERM_BWRAP_PATH": str(wrong), "BERM_BWRAP_SHA256": hashlib.sha256(wrong.read_bytes()).hexdigest()}
    done = t.berm("self-test", "--json", *AS, env=pin, deadline_s=60)
    said = done.json()
    passed = [one["id"] for one in said["cases"] if one["passed"]]
    t.equal((done.status, said["passed"], passed), (1, False, ["stale_process_record"]), done)
    seen = attestation(t)[1]
    t.equal((seen["valid"], "normal_cleanup did not pass" in seen["reason"]), (False, True), seen)


@whole("LC-3 SIGINT ends it, and berm dies of it; the attestation stays withdrawn", deadline_s=30)
def _(t):
    child = t.start_berm("self-test", *AS, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    t.contains(child.stderr.readline().decode(), "normal_cleanup: passed")
    child.send_signal(signal.SIGINT)
    child.communicate()
    t.started.remove(child)
    t.equal(child.returncode, -signal.SIGINT)
    t.equal(attestation(t)[1]["valid"], False)


main()
