#!/usr/bin/python3
"""The formats of reports and records: the pages and schemas that are checked in are those of the
tables; berm's validator and the independent one agree on a great many damaged reports, and every rule
of the page is what refuses some of them.

  formats.py FORMATS [WORD]...        FORMATS: the program build/tests/contract/formats
"""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from tap import case, main
from validate_report import OUTCOMES, cross_rules, faults_of

SOURCE = Path(__file__).resolve().parent.parent.parent
FORMATS = str(Path(sys.argv.pop(1)).resolve())

SAMPLE = {"elapsed_ms": 10, "aggregate_rss_bytes": 4096, "cgroup_memory_bytes": 5,
          "pids": 3, "temporary_bytes": 7, "temporary_inodes": 2}
SUCCESS = {
    "schema": "lamina.safe-runner-report/v1", "schema_version": 1, "run_id": "k7f3aa",
    "report_file": "/tmp/r.json", "outcome": "success", "tier": None, "command": ["true"],
    "cwd": "/tmp", "started_at": "2026-11-29T15:54:11.123Z",
    "finished_at": "2026-11-29T15:54:12Z", "duration_ms": 1000,
    "adapter": {"id": "portable-process-group-small-only"},
    "limits": {"stdout_tail_max_bytes": 8192, "stderr_tail_max_bytes": 8192, "pids_max": None},
    "preflight": {"ok": True}, "samples": [SAMPLE],
    "peaks": {name: value for name, value in SAMPLE.items() if name != "elapsed_ms"},
    "descendants": [{"pid": 7, "start_ticks": "1"}],
    "output": {"stdout_bytes": 3, "stderr_bytes": 4, "total_bytes": 7, "stdout_tail": "hi\n",
               "stderr_tail": "", "truncated": False},
    "termination": {"reason": "completed", "limit": None, "requested_signals": ["SIGTERM"],
                    "child_exit_code": 0, "child_signal": None, "cgroup_events": {}},
    "cleanup": {"attempted": True, "descendants_remaining": [], "managed_paths_remaining": [],
                "scope_removed": True, "temporary_directory_removed": True, "lock_released": None,
                "errors": []},
    "error": None,
}


def changed(report, **members):
    """A copy in which each member, `a__b` for b of a, has the new value."""
    made = copy.deepcopy(report)
    for path, value in members.items():
        *above, last = path.split("__")
        place = made
        for name in above:
            place = place[name]
        place[last] = value
    return made


def error(name):
    return {"code": f"LAMINA_SAFE_{name}", "message": "why"}


BASES = {
    "success": SUCCESS,
    "command_failed": changed(SUCCESS, outcome="command_failed", error=error("COMMAND_FAILED"),
                              termination__reason="command_failed",
                              termination__child_exit_code=3),
    "safety_limit_exceeded": changed(
        SUCCESS, outcome="safety_limit_exceeded", error=error("LIMIT_EXCEEDED"),
        termination__reason="safety_limit_exceeded", termination__limit="memory",
        termination__child_exit_code=None, termination__child_signal="SIGKILL",
        limits__stdout_tail_max_bytes=1048576, tier="small"),
    "interrupted": changed(SUCCESS, outcome="interrupted", error=error("INTERRUPTED"),
                           termination__reason="interrupted", termination__limit="signal"),
    "preflight_refused": changed(
        SUCCESS, outcome="preflight_refused", error=error("PREFLIGHT"), adapter=None, limits=None,
        preflight__ok=False, samples=[], cleanup__attempted=False, cleanup__scope_removed=None,
        termination__reason="preflight_refused", termination__child_exit_code=None),
    "internal_error": changed(
        SUCCESS, outcome="internal_error", error=error("RUN_IN_PROGRESS"), adapter=None,
        limits=None, preflight=None, samples=[], report_file=None,
        termination__reason="run_in_progress", cleanup__attempted=False),
}
VALUES = [None, True, False, 0, 1, -1, 2, 5.0, 1.5, 8192, 1048576, 2**53, "", "x", "signal",
          "success", "internal_error", "run_in_progress", "2026-02-30T00:00:00Z",
          "2024-02-29t23:59:59.5+01:30", "2026-11-29 15:54:11Z", "LAMINA_SAFE_RUN_IN_PROGRESS",
          [], ["x"], [1], [{}], {}, {"x": 1}, {"id": ""}, {"id": "x"}, {"ok": False}, {"ok": 1}]


def places(value, path=()):
    """Every path into a JSON value, the value itself left out."""
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for name, member in items:
        yield path + (name,)
        yield from places(member, path + (name,))


def at(value, path):
    for name in path:
        value = value[name]
    return value


def damaged(base):
    """Copies of base, each with one thing replaced, taken away or added."""
    for path in places(base):
        for value in VALUES:
            made = copy.deepcopy(base)
            at(made, path[:-1])[path[-1]] = value
            yield made
        if isinstance(path[-1], str):
            made = copy.deepcopy(base)
            del at(made, path[:-1])[path[-1]]
            yield made
    for path in [()] + list(places(base)):
        if isinstance(at(base, path), dict):
            made = copy.deepcopy(base)
            at(made, path)["surplus"] = 1
            yield made
        if isinstance(at(base, path), list):
            made = copy.deepcopy(base)
            at(made, path).append(copy.deepcopy(SAMPLE))
            yield made


def answers(kind, values):
    """berm's answer to each value, in order."""
    texts = b"".join(json.dumps(value).encode() + b"\0" for value in values)
    done = subprocess.run([FORMATS, "check", kind], input=texts, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().splitlines()


@case("RP-3 the bases are valid, for both")
def _(t):
    t.equal(set(BASES), OUTCOMES)
    for name, base in BASES.items():
        t.equal(faults_of(base), [], name)
        t.equal(answers("report", [base]), ["valid"], name)


OPEN = {"adapter", "limits", "preflight", "cgroup_events"}
SURPLUS = [  # what one damage to a base does not show
    changed(BASES["preflight_refused"], error__code="LAMINA_SAFE_RUN_IN_PROGRESS",
            termination__reason="run_in_progress"),
    changed(SUCCESS, cleanup__oracle_quota_abort=1),
]


def every_fault(value, above=""):
    """What can be wrong with the members of an object: missing, of another type, and one too many."""
    for name, member in value.items():
        yield f"{above}{name}: is missing"
        if isinstance(member, dict) and name not in OPEN:
            yield f"{above}{name}.is no object"
            yield from every_fault(member, f"{above}{name}.")
        else:
            yield f"{above}{name}: is wrong"
    yield f"{above}surplus: is unknown"


@case("RP-3 both validators agree on every damaged report, and for each rule of each some are refused by it alone", 240)
def _(t):
    names = set(re.findall(r"^\| `([\w-]+)` \| (?:all|of a|\w+_|success|interrupted)",
                           subprocess.check_output([FORMATS, "tables", "report"]).decode(), re.M))
    t.true(len(names) == 30, f"{len(names)} rules")
    others = {fault for base in BASES.values() for _, fault in cross_rules(base)}
    others |= {fault for base in (SUCCESS, BASES["command_failed"]) for fault in every_fault(base)}
    others -= {"error: is wrong"}  # it is an object there, or nothing
    others |= {"cleanup.oracle_quota_abort: is wrong"}
    alone, others_alone, count, valid = set(), set(), 0, 0
    for base in [*BASES.values(), *SURPLUS]:
        reports = [base, *damaged(base)]
        for report, answer in zip(reports, answers("report", reports), strict=True):
            mine = faults_of(report)
            if bool(mine) != answer.startswith("invalid"):
                t.true(False, f"{json.dumps(report)}\nberm: {answer}\nother: {mine}")
            found = re.findall(r"\[([\w-]+)\]", answer)
            alone |= set(found) if len(found) == 1 else set()
            others_alone |= set(mine) if len(mine) == 1 else set()
            count += 1
            valid += not mine
    print(f"# {count} damaged reports, {valid} of them still valid, {len(names)} and {len(others)} rules")
    t.equal((names - alone, others - others_alone), (set(), set()), "rules that alone refused nothing")


@case("RP-3 what no report is, is refused and not a crash")
def _(t):
    for answer in answers("report", [None, 1, "x", [], {}, [[]]]):
        t.contains(answer, "invalid")
    texts = b'{"a":1,"a":2}\0\0{\0nul\0[1e999]\0{"schema":"\\u0000"}\0' + b"[" * 100 + b"\0"
    done = subprocess.run([FORMATS, "check", "report"], input=texts, stdout=subprocess.PIPE,
                          check=True)
    t.equal([line.split()[0] for line in done.stdout.splitlines()], [b"invalid"] * 7)


@case("RP-1 reports of real runs satisfy both, and the records around them", 120)
def _(t):
    runs = {"success": ["true"], "command_failed": ["sh", "-c", "echo out; echo err >&2; exit 3"],
            "preflight_refused": ["/nonexistent/program"]}
    runs = {name: (["--"] + words) for name, words in runs.items()}
    runs["safety_limit_exceeded"] = ["--timeout", "0.2s", "--", "sleep", "60"]
    for outcome, words in runs.items():
        done = t.berm("run", "--quiet", "--report", f"{outcome}.json", "--json=run.json", *words)
        report = json.loads((t.dir / f"{outcome}.json").read_text())
        record = json.loads((t.dir / "run.json").read_text())
        t.equal(report["outcome"], outcome, done)
        t.equal(faults_of(report), [], outcome)
        t.equal(report, record["report"], outcome)
        t.equal(answers("run", [record]), ["valid"], outcome)
        t.equal(record["exit"]["code"], done.status, outcome)
        checked = t.berm("validate-report", "--file", f"{outcome}.json")
        t.equal(checked.status, 0, checked)
        t.equal(report["report_file"], str((t.dir / f"{outcome}.json").resolve()), outcome)


def kept(t, record):
    """The record as it lies in the state folder of the case."""
    place = t.state / f"berm/runs/{record['run_id']}.json"
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.write_text(json.dumps(record))
    return record["run_id"]


@case("what was ever written stays readable: a record as the first berm wrote it, and as later ones did")
def _(t):
    frozen = sorted((SOURCE / "tests/contract/frozen").glob("run-v1-*.json"))
    t.true(len(frozen) >= 4, "never take one away, and never change one: that is their use")
    for path in frozen:
        record = json.loads(path.read_text())
        checked = t.berm("validate-report", "--file", path)
        t.equal((checked.status, answers("run", [record])), (0, ["valid"]), path.name)
        run_id = kept(t, record)
        t.equal(t.berm("show", "--json", run_id).json(), record, path.name)
        shown = t.berm("show", run_id)
        t.equal(shown.status, 0, shown)
        t.contains(shown.out.decode(), run_id)
        t.equal(t.berm("show", path).status, 0, path.name)


@case("a record of today has every field, also those that an old one may lack")
def _(t):
    t.berm("run", "--quiet", "--json=run.json", "--", "true")
    record = json.loads((t.dir / "run.json").read_text())
    schema = json.loads((SOURCE / "schema/run-v1.schema.json").read_text())
    for part, value in ((schema, record), (schema["$defs"]["timing"], record["timing"]),
                        (schema["$defs"]["environment"], record["environment"])):
        t.equal(set(part["properties"]), set(value))


@case("a record of a later berm is refused in clear words, and not called damaged")
def _(t):
    record = json.loads((SOURCE / "tests/contract/frozen/run-v1-success.json").read_text())
    record |= {"schema": "berm.run/v2", "invented_later": {}}
    del record["tasks"]
    (t.dir / "later.json").write_text(json.dumps(record))
    why = "schema: is berm.run/v2, which a later berm wrote; this one reads berm.run/v1"
    for done in (t.berm("show", kept(t, record)), t.berm("show", "./later.json")):
        t.equal(done.status, 3, done)
        t.contains(done.err.decode(), f"cannot be read: {why}")
    checked = t.berm("validate-report", "--file", "later.json", "--json").json()
    t.equal((checked["valid"], checked["errors"]), (False, [why]))


@case("schema/ and docs/formats/ are what the tables say")
def _(t):
    done = t.run(str(SOURCE / "tools/gen-formats"), "--check", FORMATS)
    t.equal(done.status, 0, done)
    for name in ("report", "run", "attestation", "promotions", "fences"):
        schema = json.loads((SOURCE / f"schema/{name}-v1.schema.json").read_text())
        t.equal(schema["additionalProperties"], False)
    t.equal(len(json.loads((SOURCE / "schema/report-v1.schema.json").read_text())["required"]), 21)


main()
