"""Runs of berm in scopes of the virtual host: started from where a test needs it, judged by what the kernel shows."""

import contextlib
import json
import os
import re
from pathlib import Path

from cgroups import MANAGER, ROOT, tree
from tap import berm_path, names_of_all

AS = ["--user", "61234:61234"] if ROOT else []  # what a sandbox needs besides


def record_of(t):
    return json.loads((t.dir / "record.json").read_text())


def run(t, *words, before=(), **how):
    """(what was done, the record of the run, whose report is valid)"""
    t.dir.chmod(0o755)
    done = t.run(*before, berm_path(), "run", "--json=record.json", "--report", "r.json", *words, **how)
    valid = t.berm("validate-report", "--file", "r.json")
    t.equal(valid.status, 0, f"{done} {valid}")
    return done, record_of(t)


def start(t, *words, before=(), **how):
    """Likewise, while it runs."""
    t.dir.chmod(0o755)
    return t.start(*before, berm_path(), "run", "--json=record.json", "--report", "r.json", *words, **how)


def living():
    return [name for _, name in names_of_all()]


def left():
    """Cgroups of runs, and helper processes."""
    folders = [folder for folder in tree()[1] if os.path.basename(folder).startswith("berm-")]
    helpers = [name for name in living() if name.startswith("berm-")]
    return folders, helpers


def service(t):
    names = [word for name in ("PATH", "HOME", "XDG_STATE_HOME") if name in t.env
             for word in ("--setenv", f"{name}={t.env[name]}")]
    return ["systemd-run", *MANAGER, "--quiet", "--pipe", "--wait", "--collect", "--same-dir",
            *names, "--"]


def own_scope(*properties):
    words = [word for one in properties for word in ("-p", one)]
    return ["systemd-run", *MANAGER, "--scope", "--quiet", "--collect", *words, "--"]


# A cgroup of the caller's own: its first child holds it, and the run's scope is made beside.
DELEGATED = """
own=/sys/fs/cgroup/$(sed s,^0::/,, /proc/self/cgroup)
mkdir "$own/caller"; echo $$ >"$own/caller/cgroup.procs"
berm=$1; shift; verb=$1; shift
exec "$berm" "$verb" --cgroup-parent "$own" "$@"
"""


def delegated(*properties, script=DELEGATED):
    return [*own_scope("Delegate=yes", *properties), "sh", "-euc", script, "sh"]


def leaf_of():
    """The leaf of the one run that there is, or None while there is none."""
    for folder in tree()[1]:
        if re.search(r"/berm-[^/]*\.scope/payload$", folder):
            return Path(folder)
    return None


def figure_of(name):
    """Of that leaf; 0 while there is none."""
    leaf = leaf_of()
    with contextlib.suppress(OSError):
        return int((leaf / name).read_text()) if leaf else 0
    return 0
