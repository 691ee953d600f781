#!/bin/sh
# From an artifact to a checked budget. Run it anywhere: it needs nothing but Go.
set -eu
cd "$(dirname "$0")"
memspec() { go run ../../cmd/memspec "$@"; }
model=../../testdata/artifacts/torchvision/mobilenet_v3_small.script.pt

# What does it take?
memspec estimate "$model" --input 'x=float32[B,3,224,224]' --dim B=16 --device t4 --runtime eager

# A first memspec.yaml, with budgets = predictions rounded up.
memspec init "$model" --input 'x=float32[B,3,224,224]' --dim B=1,16 --device t4 --runtime eager

# The budgets of this folder's memspec.yaml. One case is over and only warns.
memspec check

# Who holds the peak of that case?
memspec explain --case 'too big' --by module
