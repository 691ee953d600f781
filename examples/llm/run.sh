#!/bin/sh
# Budgets of prefill and decode over batch and context, and who holds the peak of the longest prompt, by the line of source.
set -eu
cd "$(dirname "$0")"
memspec() { go run ../../cmd/memspec "$@"; }
memspec check
memspec explain --case 'prefill[B=1,T=8192]' --by line
