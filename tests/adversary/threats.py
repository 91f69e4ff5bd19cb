#!/usr/bin/python3
"""docs/threats.md says what the attacks of sandbox.py are, no more and no less."""

import difflib
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import berm_path, case, main

TREE = Path(__file__).resolve().parents[2]


@case("docs/threats.md is the table of the attacks")
def _(t):
    build = Path(berm_path()).resolve().parents[2]
    made = subprocess.run([TREE / "tools/gen-threats", build], check=True, capture_output=True,
                          text=True).stdout
    kept = (TREE / "docs/threats.md").read_text()
    differences = difflib.unified_diff(kept.splitlines(), made.splitlines(), "page", "attacks",
                                       lineterm="", n=0)
    t.equal("\n".join(differences), "", "run tools/gen-threats >docs/threats.md")


main()
