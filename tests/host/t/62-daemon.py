#!/usr/bin/python3
# run as: user root
"""Managed daemons in real runs, in a sandbox and a scope: started by the rules, and in every other way."""

import json
import os
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from cgroups import tree  # noqa: E402
from tap import berm_path, case, children, main  # noqa: E402

BUILD = Path(os.environ["BERM_BUILD"])
ROOT = os.geteuid() == 0
AS = ["--user", "61234:61234"] if ROOT else []
PRIVATE = "/tmp/w"  # of the sandbox


def work_folder(t):
    t.dir.chmod(0o755)
    work = t.dir / "work"
    work.mkdir()
    for source, name in ((BUILD / "tests/fixtures/managed", "managed"), (berm_path(), "berm")):
        shutil.copy(source, work / name)
    run = work / "run"
    run.mkdir()
    if ROOT:
        os.chown(run, 61234, 61234)
    return work


def run(t, work, words, place=PRIVATE):
    """(exit status, its lines by step, the daemon on record, the report)"""
    daemon = f"graphd=./managed,{place}/graphd.sock,{place}/graphd.lock"
    writable = ["--writable", "run"] if place != PRIVATE else []
    done = t.run(berm_path(), "run", "--json=record.json", "--report", "r.json", "--require",
                 "managed", *AS, *writable, "--daemon", daemon, "--", *words, cwd=work,
                 deadline_s=60)
    record = json.loads((work / "record.json").read_text())
    valid = t.berm("validate-report", "--file", work / "r.json")
    t.equal(valid.status, 0, f"{done} {valid}")
    lines = [line.split(": ", 1) for line in done.out.decode().splitlines()]
    return done, lines, (record["daemons"] or [None])[0], record["report"]


def steps(lines, name):
    return [text.removeprefix("daemon 'graphd': ") for step, text in lines if step == name]


@case("MD-1 MD-3 MD-4 MD-6 a daemon that goes by the rules may be there at the end, and is ended")
def _(t):
    work = work_folder(t)
    # It lost its parent before it was bound, and has a child of its own.
    done, lines, daemon, report = run(t, work, ["./managed", "client", "orphan", PRIVATE])
    t.equal((done.status, report["outcome"]), (0, "success"), str(done))
    t.equal([step for step, text in lines if text == "done"],
            ["reserve", "bind", "start", "lock-ready", "seal"], lines)
    t.equal((daemon["state"], daemon["fate"], daemon["why"]), ("sealed", "ended", None), daemon)
    t.equal(daemon["lock_pid"], daemon["namespace_pid"])
    t.true(daemon["pid"] != daemon["namespace_pid"] and daemon["start_ticks"] > 0, daemon)
    t.equal((daemon["cwd"], daemon["socket"]), (PRIVATE, PRIVATE + "/graphd.sock"))
    t.equal(daemon["command"][1::2], ["serve", "orphan"], daemon)
    t.equal(daemon["socket_sealed"]["mode"] >> 12, 0o14)
    t.equal(daemon["lock_sealed"]["mode"], 0o100600)
    signals = report["termination"]["requested_signals"]
    t.true("SIGTERM" in signals and "SIGKILL" not in signals, signals)


@case("MD-6 MD-7 in a folder of the host: what is left of a daemon goes, what is another's stays")
def _(t):
    work = work_folder(t)
    folder = work / "run"
    done, lines, daemon, report = run(t, work, ["./managed", "client", "leaver", folder], folder)
    t.equal((done.status, daemon["state"], daemon["fate"]), (0, "sealed", "ended"), f"{done} {daemon}")
    t.equal(list(folder.iterdir()), [])
    done, lines, daemon, report = run(t, work, ["./managed", "client", "usurped", folder], folder)
    t.equal((done.status, report["outcome"], daemon["fate"]), (125, "internal_error", "refused"),
            str(done))
    t.contains(daemon["why"], "not what was sealed")
    t.equal(report["termination"]["limit"], "detached_descendant")
    t.equal(report["cleanup"]["managed_paths_remaining"], [f"{folder}/graphd.sock"])
    t.equal([path.name for path in folder.iterdir()], ["graphd.sock"])


if ROOT:
    main()
    sys.exit()


@case("MD-2 MD-3 MD-4 MD-5 each step is refused that the kernel does not confirm")
def _(t):
    work = work_folder(t)
    done, lines, daemon, report = run(t, work, ["./managed", "client", "refusals", PRIVATE])
    t.equal((done.status, report["outcome"]), (0, "success"), str(done))
    t.equal([text.partition(":")[0] for text in steps(lines, "reserve")],
            ["its socket or its lock is there already; end what made it, and remove both", "done",
             "that is not the next step"])
    t.equal([text.partition(";")[0] for text in steps(lines, "bind")],
            ["that is not its reservation", "no process of the run has that pid",
             "that process was there before the reservation",
             "that process was there before the reservation",
             "that process does not execute what was declared",
             "its socket or its lock is there already", "done"])
    t.equal([text.partition(":")[0] for text in steps(lines, "seal")],
            ["that is not the next step", "there is no socket of its own",
             "there is no socket of its own", "done"])
    t.equal([text.partition(":")[0] for text in steps(lines, "lock-ready")],
            ["that is not the next step",
             "who asks is neither the bound process nor a descendant of it"]
            + ["its lock is no small file of its own with its pid and the reservation"] * 5 + ["done"])
    t.equal((daemon["state"], daemon["fate"]), ("sealed", "ended"), daemon)
    t.equal(daemon["refused"], len([text for _, text in lines if text.startswith("daemon ")]))


BAD_ENDS = {  # how: (limit, fate, what is said)
    "unsealed": ("detached_descendant", "refused", "bound and not sealed"),
    "other": ("detached_descendant", "refused", "executes something else"),
    "escape": ("detached_descendant", "ended", "neither a sealed daemon nor a descendant"),
    "stubborn": ("managed_descendant_cleanup", "outlived", "did not end when it was asked to"),
}


@case("MD-1 MD-6 who else is left is a safety failure, and is ended", 120)
def _(t):
    work = work_folder(t)
    for how, (limit, fate, words) in BAD_ENDS.items():
        done, lines, daemon, report = run(t, work, ["./managed", "client", how, PRIVATE])
        t.equal((done.status, report["outcome"], report["termination"]["limit"], daemon["fate"]),
                (120, "safety_limit_exceeded", limit, fate), f"{how}: {done} {daemon}")
        t.contains(report["error"]["message"], words)
        t.equal(report["cleanup"]["descendants_remaining"], [])


@case("MD-6 a daemon that had ended is no failure")
def _(t):
    work = work_folder(t)
    done, lines, daemon, report = run(t, work, ["./managed", "client", "ended", PRIVATE])
    t.equal((done.status, daemon["state"], daemon["fate"]), (0, "sealed", "gone"), str(done))


@case("MD-5 outside of every run nobody reserves anything")
def _(t):
    done = t.berm("daemon", "reserve", "graphd")
    t.equal((done.status, done.out), (3, b""), str(done))


@case("TR-5 a daemon that runs already is refused before anything is started")
def _(t):
    work = work_folder(t)
    folder = work / "run"
    (folder / "graphd.lock").symlink_to("nowhere")
    done, lines, daemon, report = run(t, work, ["./managed", "client", "plain", folder], folder)
    t.equal((done.status, done.out, report["outcome"]), (121, b"", "preflight_refused"), str(done))
    (check,) = [one for one in report["preflight"]["checks"] if not one["ok"]]
    t.equal(check["code"], "preflight.daemon")
    t.contains(check["what"], "graphd.lock' is there already")


@case("WD-4 WD-6 berm is killed when a daemon is reserved, bound, created or sealed: nothing is left", 120)
def _(t):
    work = work_folder(t)
    folder = work / "run"
    daemon = f"graphd=./managed,{folder}/graphd.sock,{folder}/graphd.lock"
    for point in (18, 19, 20, 21):
        done = t.run(BUILD / "tests/lib/kill-at", "--point", point, t.dir / "killed", berm_path(),
                     "run", "--quiet", "--report", "r.json", "--require", "managed", "--writable", "run",
                     "--daemon", daemon, "--", "./managed", "client", "plain", folder, cwd=work,
                     deadline_s=60)
        t.equal((t.dir / "killed").read_text(), "killed 157\n", f"{point}: {done}")
        t.wait_until(lambda: not children(), "the watchdog ends", deadline_s=30)
        report = json.loads((work / "r.json").read_text())
        t.equal((report["outcome"], report["error"]["code"]),
                ("interrupted", "LAMINA_SAFE_SUPERVISOR_CRASH"), f"{point}: {report}")
        t.equal(report["cleanup"]["scope_removed"], True, f"{point}")
        t.equal(list(folder.iterdir()), [], f"{point}")
        t.equal([one for one in tree()[1] if Path(one).name.startswith("berm-")], [], f"{point}")
        t.equal(list((t.state / "berm/watch").iterdir()), [], f"{point}")


main()
