"""The files of the project, apart from what was built in its folder."""

import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent


def files():
    """Every file of the tree: what git knows and does not ignore, or all but the build folders."""
    git = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "--cached", "--others",
                          "--exclude-standard"], capture_output=True, text=True, check=False)
    if git.returncode == 0:
        return [path for name in git.stdout.split("\0") if name and (path := TOP / name).is_file()]
    return [path for path in TOP.rglob("*") if path.is_file()
            and not path.relative_to(TOP).parts[0].startswith((".git", "build"))]


def copy(to):
    for path in files():
        place = Path(to) / path.relative_to(TOP)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
