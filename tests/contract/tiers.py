#!/usr/bin/python3
"""What the tiers remember: promotions and fences, as berm shows and clears them."""

import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import case, main  # noqa: E402
from tier import CLAIM  # noqa: E402

AS = ["--user", "65534:65534"] if os.geteuid() == 0 else []
A, B = "a" * 12 + "1" * 52, "a" * 4 + "b" * 60
WHEN = "2026-11-30T03:00:00.000Z"


def put(t, name, value):
    folder = t.state / "berm"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    path.chmod(0o600)
    return path


def fence(digest, run, state="active", limit=None):
    return {"frozen_digest": digest, "state": state, "limit": limit, "tier": "small", "repository": "/r",
            "workload": "scan", "run_id": run, "since": WHEN}


def fences(*standing):
    return {"schema": "berm.fences/v1", "standing": list(standing), "cleared": [], "cleared_before": 0}


def promotion(workload, tier):
    return {"repository": "/r", "workload": workload, "tier": tier, "frozen_digest": A, "report_digest": B,
            "run_id": "k7f3aa", "recorded_at": WHEN, "build": B}


@case("EN-1 TR-2 promotions: none, listed, in the envelope, and no state folder is made for a look")
def _(t):
    for words in (["promotions"], ["fence", "list"], ["toolchain", "list"]):
        t.equal(t.berm(*words).status, 0)
        t.equal(t.berm(*words, "--json").status, 0)
    t.equal(t.state.exists(), False)
    t.equal(t.berm("envelope", "--json").json()["promotion"], {"completed": [], "value": None})
    stored = {"schema": "berm.promotions/v1", "promotions": [promotion("scan", "small"), promotion("e\x1b[2J", "large")]}
    stored["promotions"][1]["frozen_digest"] = "\x1b[2J" + A[4:]
    put(t, "promotions.json", stored)
    t.equal(t.berm("promotions", "--json").json(), stored)
    shown = t.berm("promotions").out
    t.true(b"small   scan  " in shown and b"2 promotions" in shown and b"\x1b" not in shown, shown)
    t.equal(t.berm("envelope", "--json").json()["promotion"], {"completed": stored["promotions"], "value": stored})
    t.contains(t.berm("envelope").out.decode(), "promoted   scan small, ")


@case("FZ-5 a fence is listed, and cleared by a person for a reason that stays in the file")
def _(t):
    put(t, "fences.json", fences(fence("\x1b[2J" + A[4:], "k7f3aa")))
    done = t.berm("fence", "list")  # a digest is text from a file as well
    t.equal((done.status, b"\n1 standing, 0 cleared\n" in b"\n" + done.out, b"\x1b" in done.out), (0, True, False), done)
    path = put(t, "fences.json", fences(fence(A, "k7f3aa", "limit", "memory"), fence(B, "k7f4aa")))
    listed = t.berm("fence", "list").out.decode()
    t.contains(listed, "aaaaaaaaaaaa  limit memory  scan  small  ")
    t.contains(listed, "2 standing, 0 cleared\n")
    for status, words in ((2, []), (2, ["clear"]), (2, ["clear", "aaaaa"]), (2, ["clear", "--reason", "x"]),
                          (2, ["clear", "aaaa", "--reason", "x"]),  # which of them?
                          (2, ["clear", "aaaaa", "--reason", "\n"]), (2, ["list", "--reason", "x"]), (2, ["drop"]),
                          (1, ["clear", "cccc", "--reason", "x"])):
        done = t.berm("fence", *words)
        t.equal((done.status, done.out), (status, b""), done)
    t.equal(json.loads(path.read_text())["cleared"], [])
    done = t.berm("fence", "clear", "aaaaa", "--reason", "the leak is mended", "--json")
    t.equal((done.status, done.json()["reason"], done.json()["fence"]["run_id"]), (0, "the leak is mended", "k7f3aa"))
    stored = t.berm("fence", "list", "--json").json()
    t.equal(([one["run_id"] for one in stored["standing"]], stored["cleared"]), (["k7f4aa"], [done.json()]))
    t.contains(t.berm("fence", "list").out.decode(), ": the leak is mended\n")
    t.equal(path.stat().st_mode & 0o777, 0o600)


@case("FZ-5 TR-2 a file that cannot be believed is an error with a remedy, and never empty")
def _(t):
    for name, look in (("promotions.json", ["promotions"]), ("fences.json", ["fence", "list"]),
                       ("fences.json", ["fence", "clear", "aaaa", "--reason", "x"])):
        for text in ("", "{", '{"schema": "berm.other/v1"}', "[" * 100):
            path = put(t, name, text)
            done = t.berm(*look)
            t.true(done.status == 5 and not done.out, str(done))
            t.contains(done.err.decode(), f"/{name}': ")
            t.equal(path.read_text(), text)
        path.write_text(json.dumps(fences()))
        path.chmod(0o622)
        t.equal(t.berm(*look).status, 9)
        path.unlink()
    put(t, "promotions.json", "{")
    done = t.berm("envelope", "--json")
    t.equal((done.status, done.json()["promotion"]["value"]), (5, None), done)


@case("FZ-5 of two berms that clear at the same time, neither loses what the other did")
def _(t):
    digests = [f"{i:064x}"[::-1] for i in range(1, 9)]
    put(t, "fences.json", fences(*(fence(digest, "k7f3aa") for digest in digests)))
    children = [t.start_berm("fence", "clear", digest, "--reason", digest, stdout=-3) for digest in digests]
    for child in children:
        t.equal(child.wait(), 0)
        t.started.remove(child)
    stored = t.berm("fence", "list", "--json").json()
    t.equal((stored["standing"], sorted(one["reason"] for one in stored["cleared"])), ([], sorted(digests)))


@case("TR-4 CT-3 where nothing is enforced every tier is refused, and nothing is claimed, fenced or promoted")
def _(t):
    (t.dir / "work/.git").mkdir(parents=True)
    (t.dir / "work/go").write_text("#!/bin/sh\n: >ran\n")
    (t.dir / "work/go").chmod(0o755)
    (t.dir / "work/berm.yaml").write_text("schema: 1\nentrypoint:\n  go: { argv: [go] }\n")
    for tier in ("small", "medium", "large"):
        done = t.berm("run", "--cwd", "work", "--cgroup-parent", "/nowhere", "--tier", tier, "--promote", "--wait",
                      "--workload", "w", "--report", "r.json", *AS, "--", "go")
        report = json.loads((t.dir / "r.json").read_text())
        t.equal((done.status, report["outcome"], report["error"]["code"], report["tier"]),
                (121, "preflight_refused", "LAMINA_SAFE_PREFLIGHT", tier), done)
        t.equal((report["preflight"]["ok"], (t.dir / "work/ran").exists()), (False, False))
    t.equal([name for name in ("promotions.json", "fences.json") if (t.state / "berm" / name).exists()], [])
    t.equal(os.path.lexists(CLAIM), False)
    for words in (["--wait"], ["--tier", "small", "--wait=0s"]):
        t.equal(t.berm("run", *words, "--workload", "w", "--report", "r.json", "--", "go").status, 125, words)


# The highest that declared work may have, and one more; what the host has decides on those without.
CEILINGS = {"--memory-mib": (None, 3073), "--memory-high-mib": (None, 3072), "--pids": (64, 65),
            "--timeout-ms": (1800000, 1800001), "--output-mib": (32, 33), "--temporary-mib": (2048, 2049),
            "--sample-ms": (250, 251), "--high-samples": (4, 5), "--grace-ms": (2000, 2001)}


@case("TR-6 IF-2 every published flag goes down only: above its ceiling a tier is refused, and the ceiling told", deadline_s=90)
def _(t):
    (t.dir / ".git").mkdir()
    (t.dir / "go").write_text("#!/bin/sh\n: >ran\n")
    (t.dir / "go").chmod(0o755)
    (t.dir / "berm.yaml").write_text("schema: 1\nentrypoint:\n  go: { argv: [go] }\n")
    for flag, values in CEILINGS.items():
        for value, is_above in zip(values, (False, True)):
            if value:
                done = t.berm("run", "--tier", "small", "--workload", "w", "--report", "r.json", *AS, flag, value, "--", "go")
                said = done.err.decode()
                told = " is above its ceiling" in said and "declared work may use at most " in said
                t.equal((done.status, told), (121, is_above), done)
    t.equal((t.dir / "ran").exists(), False)


main()
