"""The runs that the fault tests take apart: (name, arguments of `berm run`, expected exit)."""

import os

# Root's sandbox is somebody else's.
AS_NOBODY = ["--user", "65534:65534"] if os.geteuid() == 0 else []

SCENARIOS = [
    ("success", ["--", "/bin/true"], 0),
    ("failure, report, output kept, script", ["--report", "out/r.json", "--keep-output", "--label",
                                              "x", "--", "./script"], 7),
    ("timeout", ["--timeout", "60ms", "--grace-ms", "10", "--", "/bin/sleep", "100"], 124),
    ("stragglers", ["--grace-ms", "10", "--", "/bin/sh", "-c",
                    "(trap '' TERM; exec /bin/sleep 100) & /bin/sleep 100 & exit 0"], 0),
    ("not found", ["--", "no-such-program"], 127),
    ("refused", ["--require", "swap", "--", "/bin/true"], 121),
    ("sandbox", ["--sandbox", "--cwd", "/", *AS_NOBODY, "--", "/bin/true"], 0),
    ("sandbox, stragglers, a writable folder",
     ["--sandbox", "--cwd", "/", "--writable", "/opt", "--grace-ms", "10", *AS_NOBODY, "--", "/bin/sh",
      "-c", "(trap '' TERM; exec /bin/sleep 100) & /bin/sleep 100 & exit 3"], 3),
]


def prepare(folder):
    """What the scenarios expect to find in their working folder."""
    script = folder / "script"
    script.write_text("#!/bin/sh\necho out; echo err >&2; exit 7\n")
    script.chmod(0o755)
