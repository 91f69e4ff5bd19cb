#!/usr/bin/python3
"""The self-test where nothing is enforced: refused before the first case, and told as such."""

import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import berm_path, case, main  # noqa: E402

AS = ["--user", "65534:65534"] if os.geteuid() == 0 else []
FIXTURE = Path(berm_path()).resolve().parent.parent / "fixture/berm-fixture"
CASES = """normal_cleanup direct_memory_limit aggregate_child_memory_limit ignored_graceful_termination
timeout_hang rapid_process_spawning stdout_stderr_flood runner_temporary_disk_growth parent_signal
stale_process_record detached_descendant""".split()
NOTHING = ["--cgroup-parent", "/nowhere"]  # no adapter, whatever host this is


def file_of(t):
    return t.state / "berm/self-test.json"


@case("ST-5 PT-1 without enforcement nothing is run, every case is skipped, and a failing attestation says so")
def _(t):
    done = t.berm("self-test", "--json", *NOTHING, *AS)
    said = done.json()
    t.equal((done.status, done.err, said["passed"], said["qualified_for_production_tiers"]), (3, b"", False, False))
    t.equal(said["schema"], "lamina.safe-runner-self-test/v1")
    t.equal(said["refusal"]["code"], "LAMINA_SAFE_PRODUCTION_ENFORCEMENT_REQUIRED")
    t.contains(said["refusal"]["message"], "/nowhere")
    t.equal([one["id"] for one in said["cases"]], CASES)
    for one in said["cases"]:
        t.equal((one["passed"], one["skipped"], one["outcome"], one["cleanup_verified"], one["reports"]),
                (False, True, "preflight_refused", True, []), one)
    stored = json.loads(file_of(t).read_text())
    t.equal((stored["schema"], stored["passed"], stored["host_fingerprint"], stored["cases"]),
            ("lamina.safe-runner-attestation/v1", False, None, said["cases"]))
    t.equal((file_of(t).stat().st_mode & 0o777, str(file_of(t))), (0o600, said["attestation"]))
    t.equal(sorted(os.listdir(t.state / "berm")), ["self-test", "self-test.json"])  # no run was made


@case("ST-5 the words say why, and --require-production changes nothing about it")
def _(t):
    done = t.berm("self-test", "--require-production", *NOTHING, *AS)
    t.equal(done.status, 3)
    for words in ("self-test  refused: 0 of 11 cases passed\n", "qualified  no\n", "why        ", str(file_of(t))):
        t.contains(done.out.decode(), words)


@case("ST-3 a state folder that cannot be written: nothing is run, and nothing is withdrawn in silence")
def _(t):
    (t.dir / "state").write_text("no folder")
    done = t.berm("self-test", "--quiet", *NOTHING)
    t.true(done.status not in (0, 3) and b"berm: " in done.err and not done.out, str(done))


@case("EN-1 the envelope tells that nothing is attested, and makes nothing")
def _(t):
    done = t.berm("envelope", "--json")
    attestation = done.json()["attestation"]
    t.equal((done.status, attestation["valid"], attestation["value"]), (0, False, None))
    t.true(attestation["reason"], attestation)
    t.contains(t.berm("envelope").out.decode(), "attested   no: ")
    t.equal(t.state.exists(), False)


@case("ST-2 the fixture: an unknown mode is refused, and each file that it makes is in its own folder")
def _(t):
    t.equal(t.run(FIXTURE, "no-such-mode").status, 64)
    t.equal(t.run(FIXTURE, "controller").status, 1)
    done = t.run(FIXTURE, "controller", "2", "r.json", ".", "/bin/true")
    t.equal(done.status, 3, str(done))  # it ended before the mark
    t.equal(t.run(FIXTURE, "escape").json().keys(),
            {"scope_escape_refused", "sockets_reached", "limits_opened", "control_variables"})


main()
