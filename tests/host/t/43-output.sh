#!/bin/bash
# Output that is too much, that nobody reads and that has nowhere to go.
# run as: user
# long
exec ./adversary/output.py 'O1 output of exactly' 'O3 ' 'O7 ' 'yes | head' 'does not read' '/dev/full as stdout: '
