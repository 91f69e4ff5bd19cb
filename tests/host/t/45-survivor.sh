#!/bin/bash
# A set-uid program that a run of the ordinary user cannot end. Only root can make one; what is tested
# then runs as that user.
# run as: root
set -euo pipefail
folder=$(mktemp -d /home/untouchable.XXXXXX)
trap 'rm -r "$folder"' EXIT
chmod 755 "$folder"
install -m 4755 "$BERM_BUILD/tests/fixtures/attack" "$folder/untouchable"
/host/lib/launch user -- env UNTOUCHABLE="$folder/untouchable" ./adversary/survivor.py \
    "exit 125"
