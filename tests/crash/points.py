"""The boundaries of a run as docs/crash-points.md has them, and what a report says after a death at one."""

import json
import re
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.append(str(TESTS / "contract"))
from validate_report import faults_of  # noqa: E402

ROW = re.compile(r"^\| (\d+) \| (\w+) \| (\(scope\) )?.* \| ([^|]+) \|$", re.M)
OLD = '{"schema": "lamina.safe-runner-report/v1", "run_id": "old001", "outcome": "success"}\n'


def rows():
    """(number, name, whether only a run with a scope comes there, what the slot has after a death there)"""
    text = (TESTS.parent / "docs/crash-points.md").read_text()
    return [(int(n), name, bool(scope), after) for n, name, scope, after in ROW.findall(text)]


def word_of(text):
    """Which of the words of that table a report's text is."""
    if text == OLD:
        return "old"
    report = json.loads(text)
    faults = faults_of(report)
    if faults:
        return f"not valid: {faults}"
    code = (report["error"] or {}).get("code", "")
    return {"LAMINA_SAFE_RUN_IN_PROGRESS": "in progress", "LAMINA_SAFE_SUPERVISOR_CRASH": "crash"}.get(code, "final")


def expected(after, watched):
    """The word, of a run with or without a watchdog."""
    words = [part.strip() for part in after.replace("without a watchdog ", "").split(";")]
    return words[0] if watched or len(words) == 1 and words[0] != "crash" else \
        words[1] if len(words) > 1 else "in progress"
