"""What the benchmarks share: interleaved runs, medians, and an A/A pair that judges the machine.

A figure is a ratio of medians of runs that took turns, never a time. The baseline runs twice in
every round; when its two medians differ by more than 5 %, the machine was too noisy and the
benchmark says `invalid` instead of a verdict.
"""

import os
import random
import statistics
import time

NULL = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)


def wall_s(argv, env, stdout=NULL):
    """Wall time of one whole process; raises when it fails."""
    actions = [(os.POSIX_SPAWN_DUP2, NULL, 0), (os.POSIX_SPAWN_DUP2, stdout, 1),
               (os.POSIX_SPAWN_DUP2, NULL, 2)]
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    _, status, _ = os.wait4(pid, 0)
    took = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(argv)}: ended with {status:#x}")
    return took


def interleave(rounds, things):
    """things: {name: function}. {name: [seconds]} of rounds in which each had its turn, in an order
    that is shuffled anew: what follows a sandbox pays for the end of its namespaces."""
    names = list(things)
    shuffled = random.Random(0)
    times = {name: [] for name in names}
    for function in things.values():
        function()                                  # one warm-up each, not counted
    for _ in range(rounds):
        shuffled.shuffle(names)
        for name in names:
            times[name].append(things[name]())
    return times


def median_ms(values):
    return statistics.median(values) * 1000


def spread(values):
    ordered = sorted(values)
    return (f"{median_ms(values):8.2f} ms  (quartiles {ordered[len(ordered) // 4] * 1000:.2f}"
            f"..{ordered[len(ordered) * 3 // 4] * 1000:.2f}, n {len(values)})")


def verdict(what, ratio, limit, a_a, at_most=True):
    """One line; False when the goal was missed on a quiet machine."""
    sign = "<=" if at_most else ">="
    met = ratio <= limit if at_most else ratio >= limit
    if not 0.95 <= a_a <= 1.05:
        print(f"{what}: {ratio:.2f} (goal {sign} {limit}), but A/A {a_a:.3f}: invalid")
        return True
    print(f"{what}: {ratio:.2f} (goal {sign} {limit}), A/A {a_a:.3f}: {'met' if met else 'MISSED'}")
    return met
