#!/bin/bash
# berm is killed at each boundary of a run, where a run has all of them.
# run as: user root
# long
exec ./crash/boundaries.py "$BERM_BUILD/tests/lib/kill-at" "killed at each boundary"
