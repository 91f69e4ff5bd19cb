#!/bin/bash
# A set-uid program that the ordinary user who runs it may not signal. Only root can make one; the run
# is that user's.
# run as: root
set -euo pipefail
folder=$(mktemp -d /home/untouchable.XXXXXX)
trap 'rm -r "$folder"' EXIT
chmod 755 "$folder"
install -m 4755 "$BERM_BUILD/tests/fixtures/attack" "$folder/untouchable"
/host/lib/launch user -- env UNTOUCHABLE="$folder/untouchable" ./adversary/untouchable.py
