"""Read what a TAP program said, believing nothing that does not add up.

parse() turns the output of one program and how it ended into cases. What a program leaves open
becomes a failed case of its own: no plan, a plan that was not kept, a number out of order, an exit
status that its cases do not explain.

Limitations  nested (indented) TAP is read as diagnostics of the case around it.
"""

import re
from typing import NamedTuple

CASE = re.compile(r"(not )?ok\b(?:\s+(\d+))?(?:\s+-)?\s*(.*)", re.DOTALL)
SKIP = re.compile(r"(?:^|\s)#\s*skip\b[:\s]*(.*)", re.IGNORECASE)
PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*(.*))?$")
DETAIL_LINES = 40


class Case(NamedTuple):
    name: str
    status: str  # passed, failed, skipped
    detail: str  # diagnostics of a failure, reason of a skip


def parse(text, ended="exit 0"):
    """Cases of one program; `ended` is "exit N", "signal N", "timeout" or "unknown"."""
    cases, faults, plans = [], [], []
    skip_all = None
    details = []  # of the newest case
    for line in text.splitlines():
        plan, case = PLAN.match(line), CASE.match(line)
        if plan:
            plans.append(int(plan[1]))
            skip_all = plan[2]
        elif line.startswith("Bail out!"):
            faults.append(line)
        elif case:
            cases.append(read_case(case, details := []))
            if case[2] and int(case[2]) != len(cases):
                faults.append(f"case {len(cases)} calls itself {case[2]}")
        elif len(details) < DETAIL_LINES:
            details.append(line.removeprefix("#").strip())
    cases = [Case(c.name, c.status, c.detail or "\n".join(lines)) for c, lines in cases]

    if not plans:
        faults.append("no plan: the program died early or is no TAP program")
    elif len(plans) > 1:
        faults.append("more than one plan")
    elif plans[0] != len(cases):
        faults.append(f"planned {plans[0]} cases, showed {len(cases)}")
    elif not cases:
        if skip_all:
            cases.append(Case("(all)", "skipped", skip_reason(skip_all)))
        else:
            faults.append("no case at all")
    explained = ended == "exit 0" or (
        re.fullmatch(r"exit ([1-9]|[1-9]\d|1[01]\d|12[0-7])", ended)
        and any(c.status == "failed" for c in cases))
    if not explained:
        faults.append(f"ended by {ended}")
    return cases + [Case("(program)", "failed", fault) for fault in faults]


def read_case(match, details):
    name = match[3].strip()
    skip = SKIP.search(name)
    if skip:
        reason = skip[1].strip()
        return Case(name[:skip.start()].strip() or reason, "skipped", reason), details
    return Case(name, "failed" if match[1] else "passed", ""), details


def skip_reason(text):
    skip = SKIP.search("#" + text)
    return skip[1] if skip else text
