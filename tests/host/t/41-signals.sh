#!/bin/bash
# Interrupts: signals to berm, and keys at its terminal.
# run as: user
# long
exec ./adversary/signals.py 'R19 ' 'Ctrl-Z' 'a terminal is left'
