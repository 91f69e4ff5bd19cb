#!/usr/bin/python3
"""An independent check of `lamina.safe-runner-report/v1`, written from the published rules.

It shares nothing with berm: no table, no schema file, no code. `faults_of(report)` lists what is wrong.

    validate_report.py FILE...      one line a file; exit 1 when any is not valid
"""

import json
import re
import sys
from datetime import datetime

OUTCOMES = {"success", "command_failed", "safety_limit_exceeded", "preflight_refused",
            "interrupted", "internal_error"}
LAUNCHED = {"success", "command_failed", "safety_limit_exceeded", "interrupted"}
# RFC 3339, which lets its two letters be of either case.
DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$")


def is_int(value):
    """JSON Schema's integer: a number without a fraction, however it is written."""
    return (isinstance(value, int) and not isinstance(value, bool)) or \
        (isinstance(value, float) and value.is_integer())


def truthy(value):
    """As JavaScript has it, whose word the published rule uses: an empty array is, too."""
    return isinstance(value, (list, dict)) or bool(value)


def natural(value):
    return is_int(value) and value >= 0


def text(value):
    return isinstance(value, str)


def date(value):
    if not text(value) or not DATE.match(value):
        return False
    try:
        datetime.fromisoformat(value.upper().replace("Z", "+00:00"))
    except ValueError:
        return False
    return True


def maybe(rule):
    return lambda value: value is None or rule(value)


def one_of(*allowed):
    return lambda value: any(value is a or (type(value) is type(a) and value == a) for a in allowed)


def list_of(rule):
    return lambda value: isinstance(value, list) and all(rule(item) for item in value)


def open_object(value):
    return isinstance(value, dict)


def closed(required, optional=None):
    """An object with exactly these members; the rule answers with a list of faults or a bool."""
    def check(value):
        if not isinstance(value, dict):
            return ["is no object"]
        known = dict(required) | (optional or {})
        faults = [f"{name}: is missing" for name in required if name not in value]
        faults += [f"{name}: is unknown" for name in value if name not in known]
        for name, rule in known.items():
            if name in value:
                answer = rule(value[name])
                if isinstance(answer, list):
                    faults += [f"{name}.{fault}" for fault in answer]
                elif not answer:
                    faults.append(f"{name}: is wrong")
        return faults
    return check


def limits(value):
    return value is None or (isinstance(value, dict) and
                             value.get("stdout_tail_max_bytes") in (8192, 1048576) and
                             value.get("stderr_tail_max_bytes") == 8192)


MEASURES = {"aggregate_rss_bytes": natural, "cgroup_memory_bytes": natural, "pids": natural,
            "temporary_bytes": natural, "temporary_inodes": natural}
SAMPLE = closed({"elapsed_ms": natural} | MEASURES)

REPORT = closed({
    "schema": one_of("lamina.safe-runner-report/v1"), "schema_version": one_of(1),
    "run_id": lambda value: text(value) and value != "", "report_file": maybe(text),
    "outcome": one_of(*OUTCOMES), "tier": one_of("small", "medium", "large", None),
    "command": list_of(text), "cwd": text, "started_at": date, "finished_at": date,
    "duration_ms": natural, "adapter": maybe(open_object), "limits": limits,
    "preflight": maybe(open_object),
    "samples": lambda value: isinstance(value, list) and not any(SAMPLE(item) for item in value),
    "peaks": closed(MEASURES), "descendants": list_of(open_object),
    "output": closed({"stdout_bytes": natural, "stderr_bytes": natural, "total_bytes": natural,
                      "stdout_tail": text, "stderr_tail": text,
                      "truncated": lambda value: isinstance(value, bool)}),
    "termination": closed({"reason": maybe(text), "limit": maybe(text),
                           "requested_signals": list_of(text), "child_exit_code": maybe(is_int),
                           "child_signal": maybe(text), "cgroup_events": open_object}),
    "cleanup": closed({"attempted": lambda value: isinstance(value, bool),
                       "descendants_remaining": list_of(is_int),
                       "managed_paths_remaining": list_of(text),
                       "scope_removed": one_of(True, False, None),
                       "temporary_directory_removed": one_of(True, False, None),
                       "lock_released": one_of(True, False, None), "errors": list_of(text)},
                      {"oracle_quota_abort": open_object}),
    "error": lambda value: [] if value is None else closed({"code": text, "message": text})(value),
})


def cross_rules(report):
    """The rules that no schema can say, as far as they are for such an outcome; only for what satisfies the schema."""
    outcome, ending, clean = report["outcome"], report["termination"], report["cleanup"]
    rules = [(report["output"]["total_bytes"] == report["output"]["stdout_bytes"]
              + report["output"]["stderr_bytes"], "total_bytes is not the sum of both streams")]
    for name in MEASURES:
        largest = max((sample[name] for sample in report["samples"]), default=0)
        rules.append((report["peaks"][name] >= largest, f"peaks.{name} is below a sample"))
    if outcome in LAUNCHED:
        rules += [
            (truthy((report["adapter"] or {}).get("id")), "adapter.id is empty"),
            (report["limits"] is not None, "limits is null"),
            ((report["preflight"] or {}).get("ok") is True, "preflight.ok is not true"),
            (len(report["samples"]) >= 1, "there is no sample"),
            (clean["attempted"] is True, "cleanup was not attempted"),
            (clean["descendants_remaining"] == [], "descendants remain"),
            (clean["managed_paths_remaining"] == [], "managed paths remain"),
            (clean["scope_removed"] is True, "scope_removed is not true"),
            (clean["temporary_directory_removed"] is True,
             "temporary_directory_removed is not true"),
            (clean["errors"] == [], "cleanup has errors"),
        ]
    reason, limit = ending["reason"], ending["limit"]
    if outcome == "success":
        rules.append((reason == "completed", "a success whose reason is not 'completed'"))
    if outcome == "command_failed":
        rules += [(reason == "command_failed", "reason is not 'command_failed'"),
                  (is_int(ending["child_exit_code"]) and ending["child_exit_code"] != 0,
                   "command_failed without an exit code other than 0")]
    if outcome == "safety_limit_exceeded":
        rules += [(reason == "safety_limit_exceeded", "reason is not 'safety_limit_exceeded'"),
                  (bool(limit), "no limit is named")]
    if outcome == "interrupted":
        rules += [(reason == "interrupted", "reason is not 'interrupted'"),
                  (limit == "signal", "limit is not 'signal'")]
    if outcome == "preflight_refused":
        rules.append(((report["preflight"] or {}).get("ok") is False, "preflight.ok is not false"))
    if (report["error"] or {}).get("code") == "LAMINA_SAFE_RUN_IN_PROGRESS":
        rules += [(outcome == "internal_error", "in progress, but not internal_error"),
                  (reason == "run_in_progress", "in progress, but the reason is another")]
    return rules


def faults_of(report):
    return REPORT(report) or [fault for holds, fault in cross_rules(report) if not holds]


def main(paths):
    bad = 0
    for path in paths:
        with open(path, "rb") as file:
            try:
                faults = faults_of(json.load(file))
            except ValueError as error:
                faults = [f"not JSON: {error}"]
        bad += bool(faults)
        print(f"{path}: {'; '.join(faults) if faults else 'valid'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
