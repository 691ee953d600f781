"""A benchmark of Liger-Kernel's, SCRIPT, unmodified: what it measures of memory. What it measures of
speed is left out, as a pretend GPU has no times."""

import runpy
import sys
from pathlib import Path

script = Path(sys.argv[1]).resolve()
sys.path[:0] = [str(script.parents[2] / "src"), str(script.parents[2]), str(script.parent)]
import utils  # the benchmarks' own

run_benchmarks = utils.run_benchmarks


def run_memory_benchmarks(*arguments: object, **named: object) -> None:
    if named["metric_name"] == "memory":
        run_benchmarks(*arguments, **named)


utils.run_benchmarks = run_memory_benchmarks
sys.argv = [str(script), "--overwrite"]
runpy.run_path(str(script), run_name="__main__")
