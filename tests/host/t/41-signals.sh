#!/bin/bash
# Interrupts: signals to berm, and keys at its terminal.
# run as: user
exec ./adversary/signals.py 'R19 ' 'Ctrl-Z' 'a terminal is left'
