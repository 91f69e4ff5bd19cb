#!/bin/bash
# Time limits that a payload does not heed.
# run as: user
# long
exec ./adversary/deadlines.py 'X1 ' 'R36 '
