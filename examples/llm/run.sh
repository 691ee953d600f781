#!/bin/sh
# A decoder on a card of 24 GB, from two small files: it needs nothing but Go.
set -eu
cd "$(dirname "$0")"
memspec() { go run ../../cmd/memspec "$@"; }

# The budgets of prefill and decoding over batch and context.
memspec check

# Who holds the peak of a prompt of 8,192 tokens, by the line of source: parameters, the cache that grows, the mask, the rest.
memspec explain --case 'prefill[B=1,T=8192]' --by line

# The longest context, to a factor of two, at which a token can still be decoded: what does not fit is exit code 1.
context=1024
while memspec estimate decode.pt2 --input 'int64[1,1]' --input "bfloat16[36,2,1,8,$((2 * context)),128]" --device rtx-4090 >/dev/null 2>&1; do
	context=$((2 * context))
done
echo "longest context: $context tokens"
