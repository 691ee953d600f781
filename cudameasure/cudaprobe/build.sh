#!/bin/sh
# Builds cudaprobe against the headers of CUDA 11.8 and a stub of the driver made from them; no GPU, driver or toolkit is needed.
#
#   build.sh OUT               the probe
#   build.sh OUT FAKE.c DIR    also DIR/libcuda.so.1, a driver of FAKE.c's functions, the rest from the stub
#   build.sh --fetch           put the headers where this script looks (PyPI: nvidia-cuda-runtime-cu11 11.8.89)
#
# The headers: $CUDA_INCLUDE, else .cache/cuda-11.8 (--fetch), else /usr/include/cuda.h (Debian's nvidia-cuda-dev). Status 3: there are none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache="$root/.cache/cuda-11.8"

if [ "${1:-}" = --fetch ]; then
	[ ! -f "$cache/nvidia/cuda_runtime/include/cuda.h" ] || exit 0
	mkdir -p "$cache"
	"${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-deps --target "$cache" nvidia-cuda-runtime-cu11==11.8.89
	exit 0
fi
[ $# -eq 1 ] || [ $# -eq 3 ] || { echo "usage: build.sh OUT [FAKE.c DIR] | --fetch" >&2; exit 2; }

include=${CUDA_INCLUDE:-}
for dir in "$cache/nvidia/cuda_runtime/include" /usr/include; do
	[ -n "$include" ] || [ ! -f "$dir/cuda.h" ] || include=$dir
done
[ -n "$include" ] || { echo "build.sh: got no cuda.h, want CUDA_INCLUDE, build.sh --fetch or nvidia-cuda-dev" >&2; exit 3; }
command -v "${CC:-cc}" >/dev/null || { echo "build.sh: got no C compiler" >&2; exit 3; }

# The folder's name is in the build cache's key, so it stays.
stub="$root/.cache/cudaprobe"
mkdir -p "$stub"
tmp=$(mktemp -d "$stub/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# Every function that the header declares, under the name that it has in the driver (cuMemAlloc is cuMemAlloc_v2). 801: not supported.
echo '#include <cuda.h>' | "${CC:-cc}" -E -I"$include" - | tr '\n' ' ' | grep -oE '\bcu[A-Z][A-Za-z0-9_]*[[:space:]]*\(' | tr -d ' (' | sort -u |
	sed 's/.*/__attribute__((weak)) int &(void) { return 801; }/' >"$tmp/stub.c"
"${CC:-cc}" -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$tmp/libcuda.so" "$tmp/stub.c"
mv -f "$tmp/libcuda.so" "$stub/libcuda.so"

# Lazy: a driver that lacks one of the functions serves those that it has.
cd "$root"
CGO_ENABLED=1 CGO_CFLAGS="-I$include" CGO_LDFLAGS="-L$stub -Wl,-z,lazy" "${GO:-go}" build -tags cuda -o "$1" ./cudameasure/cudaprobe
if [ $# -eq 3 ]; then
	mkdir -p "$3"
	"${CC:-cc}" -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$3/libcuda.so.1" "$2" "$tmp/stub.c"
fi
