#!/usr/bin/python3
"""What a project's berm.yaml does to runs in it, and what berm config says of it."""

import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import case, main

RUN = "#!/bin/sh\necho ran >>\"$PWD/ran\"\n"


def project(t, text, **files):
    """A repository in the case's folder; files by name, all executable."""
    (t.dir / ".git").mkdir(exist_ok=True)
    (t.dir / "berm.yaml").write_text(text)
    for name, content in files.items():
        path = t.dir / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)


def refused(t, done, *parts):
    t.equal(done.status, 121, done)
    for part in parts:
        t.contains(done.err.decode(), part)
    t.true(not (t.dir / "ran").exists(), "something was run")


@case("CT-2 CT-3 a project that requires what this host cannot give is refused, and says who wants it")
def _(t):
    project(t, "schema: 1\nrequire: [managed]\n", run=RUN)
    (t.dir / "sub").mkdir()
    # Without bubblewrap no host can keep all of it.
    for folder in (t.dir, t.dir / "sub"):
        done = t.berm("run", "--", t.dir / "run", cwd=folder,
                      env={"LAMINA_SAFE_BWRAP_PATH": "/nonexistent",
                           "LAMINA_SAFE_BWRAP_SHA256": "0" * 64})
        refused(t, done, f"'{t.dir.resolve()}/berm.yaml' requires managed", "cannot be enforced")
    explained = t.berm("run", "--explain", "--json", "--", "true").json()
    t.equal(explained["project"]["require"], ["managed"])


@case("IF-2 what the person asks for stays: berm.yaml takes nothing away")
def _(t):
    project(t, "schema: 1\nrequire: []\n", run=RUN)
    done = t.berm("run", "--require", "managed", "--", "./run",
                  env={"LAMINA_SAFE_BWRAP_PATH": "/nonexistent",
                       "LAMINA_SAFE_BWRAP_SHA256": "0" * 64})
    refused(t, done, "cannot be enforced")
    t.equal(t.berm("run", "--", "./run").status, 0)
    t.true((t.dir / "ran").exists(), "it was not run")


@case("FS-4 FS-5 a berm.yaml that is no plain, strict file of one's own stops every run in the project")
def _(t):
    bad = {
        "anchor": "schema: &a 1\n", "alias": "schema: *a\n", "tag": "schema: !!int 1\n",
        "merge": "schema: 1\n<<: {}\n", "second": "schema: 1\n---\nschema: 1\n",
        "twice": "schema: 1\nschema: 1\n", "unknown": "schema: 1\nfree: 1\n",
        "tab": "schema:\t1\n", "cr": "schema: 1\r\n", "bom": "\ufeffschema: 1\n",
        "nul": "schema: 1\n\0", "bidi": "schema: 1 # \u202e\n", "empty": "",
        "deep": "a: " + "[" * 5000, "bomb": "a: [" + "[]," * 9000 + "]",
        "large": "k" * (1 << 20) + ": 1\n",
        "latin": b"schema: 1 # \xe4\n", "utf-16": "schema: 1\n".encode("utf-16"),
    }
    (t.dir / ".git").mkdir()
    file = t.dir / "berm.yaml"
    for name, text in bad.items():
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = t.berm("run", "--", "touch", "ran")
        refused(t, done, "berm.yaml", "[preflight.project]")
        shown = t.berm("config", "show")
        t.true(shown.status != 0 and b"berm.yaml" in shown.err, f"{name}: {shown}")
    file.unlink()
    (t.dir / "other").write_text("schema: 1\n")
    odd = {
        "a symbolic link": lambda: file.symlink_to("other"),
        "2 hard links": lambda: os.link(t.dir / "other", file),
        "FIFO": lambda: os.mkfifo(file),
        "directory": file.mkdir,
        "everybody may write it": lambda: (file.write_text("schema: 1\n"), file.chmod(0o666)),
    }
    for what, make in odd.items():
        make()
        refused(t, t.berm("run", "--", "touch", "ran"), what)
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    if os.geteuid() == 0:
        file.write_text("schema: 1\n")
        os.chown(file, 12345, -1)
        refused(t, t.berm("run", "--", "touch", "ran"), "it belongs to user 12345")


@case("FS-4 the file of a folder that others may write does not speak for the runs below it")
def _(t):
    project(t, "schema: 1\nrequire: [managed]\n")
    (t.dir / "sub").mkdir()
    t.dir.chmod(0o1777)
    explained = t.berm("run", "--explain", "--json", "--", "true", cwd=t.dir / "sub").json()
    t.equal(explained["project"], None)


@case("EP-1 EP-2 EP-3 config check says yes to what is declared and stands the audit, and no to the rest")
def _(t):
    project(t, """\
schema: 1
entrypoint:
  good: { argv: [bench/good, "--size={size}"], parameters: { size: [1, 2] } }
  net: { argv: [bench/net], network: required, network_reason: it downloads }
  docker: { argv: [bench/docker] }
  linked: { argv: [bench/linked] }
  env: { argv: [bench/env] }
""", bench__good=RUN, bench__net=RUN, bench__docker="#!/bin/sh\nnpm run x\n",
            bench__env="#!/usr/bin/env -S node -e 1\n")
    (t.dir / "package.json").write_text(json.dumps({"scripts": {"x": "docker run"}}))
    (t.dir / "bench/linked").symlink_to("good")
    yes = t.berm("config", "check", "--json", "--", "bench/good", "--size=2")
    t.equal((yes.status, yes.json()["entrypoint"], yes.json()["network"]), (0, "good", "isolated"))
    t.equal(t.berm("config", "check", "--json", "bench/net").json()["network"], "required")
    table = [("undeclared", ["bench/good"]), ("undeclared", ["bench/good", "--size=3"]),
             ("undeclared", ["bench/good", "--size=1", "x"]), ("undeclared", ["./bench/good", "--size=1"]),
             ("undeclared", ["sh", "-c", "bench/good --size=1"]), ("undeclared", ["npx", "x"]),
             ("external-daemon", ["bench/docker"]), ("link", ["bench/linked"]),
             ("interpreter", ["bench/env"])]
    for rule, argv in table:
        no = t.berm("config", "check", "--json", "--", *argv)
        t.equal((no.status, no.json()["refused"]["rule"]), (1, rule), no)
        words = t.berm("config", "check", "--", *argv).out.decode()
        t.contains(words, f"[{rule}]")
        t.contains(words, "instead")
    shown = t.berm("config", "show", "--json")
    t.equal((shown.status, shown.json()["refusals"]), (1, 3), shown)
    t.true(not (t.dir / "ran").exists(), "something was run")


@case("TR-2 a run that is called a workload has its words, its name in the record and its time limit")
def _(t):
    project(t, """\
schema: 1
workload:
  scan: { argv: [./run, "{n}"], parameters: { n: [1, 2] }, timeout_s: 77 }
  evil: { argv: [sh, -c, "true"] }
""", run=RUN)
    (t.dir / "sub").mkdir()
    for words in (["scan", "./run", "3"], ["scan", "./run"], ["scan", "true"], ["none", "./run", "1"],
                  ["evil", "sh", "-c", "true"]):
        refused(t, t.berm("run", "--workload", words[0], "--", *words[1:]), "[preflight.entrypoint]")
    refused(t, t.berm("run", "--workload", "scan", "--", "true", cwd=t.dir / "sub"),
            "its words are meant for")
    done = t.berm("run", "--quiet", "--json=run.json", "--workload", "scan", "--", "./run", "1")
    t.equal(done.status, 0, done)
    record = json.loads((t.dir / "run.json").read_text())
    t.equal(record["scope"], "scan")
    limits = t.berm("run", "--explain", "--json", "--workload", "scan", "--", "./run", "1").json()["limits"]
    t.equal([one["value"] for one in limits if one["name"] == "timeout"], [77000], limits)


@case("TR-7 of a workload that declares a result the report keeps 1 MiB of stdout, of any other work 8 KiB; no limit is raised")
def _(t):
    project(t, """\
schema: 1
workload:
  result: { argv: [./run], structured_output: true }
  plain: { argv: [./run] }
""", run="#!/bin/sh\nyes 'a line of some length' | head -c 2000000\nyes err | head -c 100000 >&2\n")
    for name, most in (("result", 1 << 20), ("plain", 8192), (None, 8192)):
        workload = ["--workload", name] if name else []
        done = t.berm("run", "--report", "r.json", *workload, "--", "./run")
        report = json.loads((t.dir / "r.json").read_text())
        t.equal((done.status, t.berm("validate-report", "--file", "r.json").status), (0, 0), str(name))
        limits, output = report["limits"], report["output"]
        t.equal((limits["stdout_tail_max_bytes"], limits["stderr_tail_max_bytes"]), (most, 8192))
        t.equal((len(output["stdout_tail"]), len(output["stderr_tail"])), (most, 8192))
        t.equal((output["stdout_bytes"], output["truncated"]), (2000000, True))
        t.true(output["stdout_tail"] in ("a line of some length\n" * 91000)[:2000000], "another tail")
    refused(t, t.berm("run", "--workload", "result", "--report", "r.json", "--", "true"), "[preflight.entrypoint]")
    limits = json.loads((t.dir / "r.json").read_text())["limits"]
    t.equal((limits["stdout_tail_max_bytes"], limits["stderr_tail_max_bytes"]), (8192, 8192))
    done = t.berm("run", "--report", "r.json", "--workload", "result", "--output-max", "64K", "--", "./run")
    report = json.loads((t.dir / "r.json").read_text())
    t.equal((done.status, report["termination"]["limit"]), (120, "output"), str(done))
    shown = t.berm("config", "show", "--json").json()["workloads"]
    t.equal([(one["name"], one["structured_output"]) for one in shown], [("result", True), ("plain", False)])


@case("TR-1 EP-1 a tier launches a declared entrypoint only, with a workload and a report")
def _(t):
    project(t, "schema: 1\nentrypoint:\n  e: { argv: [bench/run, '1'] }\n", bench__run=RUN)
    usage = [["--tier", "huge"], ["--promote"], ["--tier", "small"],
             ["--tier", "small", "--workload", "w"], ["--tier", "small", "--report", "r.json"],
             ["--tier", "small", "--workload", "w", "--report", "r.json", "--env", "A=1"],
             ["--tier", "small", "--workload", "w", "--report", "r.json", "--writable", "."]]
    for words in usage:
        done = t.berm("run", *words, "--", "bench/run", "1")
        t.equal((done.status, (t.dir / "r.json").exists()), (125, False), done)
    for argv in (["bench/run", "2"], ["sh", "bench/run", "1"], ["./bench/run", "1"], ["bench/run"]):
        refused(t, t.berm("run", "--tier", "small", "--workload", "w", "--report", "r.json", "--", *argv),
                "none that a tier launches", "[undeclared]")
    report = json.loads((t.dir / "r.json").read_text())
    t.contains(report["error"]["message"], "[undeclared]")
    t.equal((report["tier"], report["outcome"], report["preflight"]["workload_id"]),
            ("small", "preflight_refused", "w"))
    explained = t.berm("run", "--explain", "--json", "--tier", "large", "--workload", "w", "--report",
                       "r.json", "--", "bench/run", "1").json()
    sources = {limit["name"]: limit["source"] for limit in explained["limits"]}
    t.equal(sources["timeout"], "ceiling of declared work")


@case("IB-4 a runtime is staged by the name that berm.yaml has for it, and an entrypoint without it is refused")
def _(t):
    project(t, "schema: 1\nentrypoint:\n  e: { argv: [bench/run], toolchain: tool }\n",
            bench__run="#!/usr/bin/env python3\n")
    bin_folder = t.dir / "cache/tool/bin"
    bin_folder.mkdir(parents=True)
    (t.dir / "cache").chmod(0o777)
    (t.dir / "bench/run").write_text("#!/usr/bin/env julia\n")
    (t.dir / "berm.yaml").write_text("schema: 1\nentrypoint:\n  e: { argv: [bench/run] }\n")
    done = t.berm("run", "--tier", "small", "--workload", "w", "--report", "r.json", "--", "bench/run")
    t.equal(done.status, 126, done)  # as a shell has it
    for words in ("needs an interpreter", "[preflight.executable]", "berm toolchain stage DIR"):
        t.contains(done.err.decode(), words)
    (t.dir / "bench/run").write_text("#!/usr/bin/env python3\n")
    (t.dir / "berm.yaml").write_text("schema: 1\nentrypoint:\n  e: { argv: [bench/run], toolchain: tool }\n")
    (bin_folder / "python3").write_text("#!/bin/sh\n")
    (bin_folder / "python3").chmod(0o777)
    tier = ["run", "--tier", "small", "--workload", "w", "--report", "r.json", "--", "bench/run"]
    refused(t, t.berm(*tier), "no toolchain 'tool' is staged", "[preflight.toolchain]",
            "berm toolchain stage DIR --name tool")
    t.equal(t.berm("toolchain", "list").out, b"")
    staged = t.berm("toolchain", "stage", "cache/tool/", "--json").json()
    t.equal((staged["name"], staged["source"], staged["digest"]),
            ("tool", str(t.dir.resolve() / "cache/tool"), staged["source_digest"]))
    modes = {one["path"]: one["mode"] for one in staged["ancestors"]}
    t.equal(modes[str(t.dir.resolve() / "cache")], 0o777)
    t.equal(t.berm("toolchain", "list", "--json").json()["toolchains"], [staged])
    t.contains(t.berm("toolchain", "list").out.decode(), staged["digest"])
    explained = t.berm("run", "--explain", "--json", *tier[1:]).json()
    (python,) = (one["canonical_target"] for one in explained["executable"]["interpreters"][:1])
    t.equal(Path(python).read_text(), "#!/bin/sh\n")
    t.contains(python, "/toolchains/tool/tree/bin/python3")
    for words in ([], ["stage"], ["stage", "a", "b"], ["list", "x"], ["stage", "/proc"], ["stage", "-x"],
                  ["stage", "cache/tool", "--name", "a/b"], ["stage", "cache/tool"]):
        t.true(t.berm("toolchain", *words).status != 0, words)


@case("EP-1 config without berm.yaml, and a wrong command line")
def _(t):
    shown = t.berm("config", "show")
    t.equal(shown.status, 0, shown)
    t.contains(shown.out.decode(), "there is no berm.yaml")
    t.equal(t.berm("config", "check", "--", "true").status, 1)
    for words in ([], ["nothing"], ["check"], ["show", "more"]):
        done = t.berm("config", *words)
        t.equal((done.status, done.out), (2, b""), done)


main()
