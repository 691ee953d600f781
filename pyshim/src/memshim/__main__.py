"""python -m memshim COMMAND …

The exit codes are memspec's: 0 all pass, 1 a budget is broken, 2 wrong usage or unreadable input, 3
could not say.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback

from memshim.printed import say

# command: module whose main(arguments), or another function, runs it and returns the exit code, and
# what it does. A module is imported when it is asked for.
COMMANDS = {
    "run": ("memshim.program.command", "run any program on a pretend GPU and report what it takes"),
    "check": ("memshim.judge.check", "check a memspec.yaml, and where there is a GPU run its cases and compare"),
    "init": (
        "memshim.workspace.answers:init",
        "memspec init, with cuDNN's own answers for the workspace of convolutions",
    ),
    "fit": ("memshim.judge.search:fit", "find the largest batch, or any size, that fits: of a case or of any program"),
    "sweep": ("memshim.judge.search:sweep", "print the peaks of a case over the values of a dim"),
    "serve": ("memshim.serving.command", "start a serving engine and report how many tokens of KV cache are left"),
    "advise": ("memshim.judge.advise", "try what would make a case or a program fit, each change by a run"),
    "export": ("memshim.exporting.command", "write an artifact that memspec reads, with its inputs beside it"),
    "capture": (
        "memshim.case.capture",
        "run a model or a training step and keep what the allocator did, as an artifact that memspec reads",
    ),
    "measure": ("memshim.case.measure", "run cases for real and record what they take"),
    "trace": ("memshim.look.trace", "run a script and show who held the most memory, by source line"),
    "track": ("memshim.look.track", "run a script and show what changed between some of its lines"),
    "profile": ("memshim.look.profile", "run training steps of a model and show what they are made of, by layer"),
    "workspace": (
        "memshim.workspace.command",
        "query cuDNN for the workspace of the convolutions of a memspec.yaml, without a GPU",
    ),
}

OF_CASES = ("check", "capture", "measure", "advise")  # which run them in separate processes and folders
RUNS_SCRIPTS = ("trace", "track")  # whose errors are theirs, as python SCRIPT states them
USAGE = 2
INTERRUPTED = 130  # as a shell has it: 128 and the number of SIGINT


def _end(number: int, frame: object) -> None:
    sys.exit(128 + number)


def usage() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:{width}}  {what}" for name, (_, what) in COMMANDS.items())
    return f"usage: python -m memshim COMMAND …\n\n{rows}\n\npython -m memshim COMMAND --help has the options."


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        say(usage(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else USAGE
    if arguments[0] in ("--version", "version"):
        from memshim.origin.provenance import version

        say(f"memshim {version() or '(of a checkout)'}")
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        say(f"memshim: got command {name!r}, want one of {', '.join(COMMANDS)}", file=sys.stderr)
        return USAGE
    if name in OF_CASES and "--request" not in rest and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)  # as from timeout, or from a CI that gives up: nothing is left behind
    try:
        module, _, function = COMMANDS[name][0].partition(":")
        return int(getattr(importlib.import_module(module), function or "main")(rest))
    except BrokenPipeError:  # whoever read our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as e:
        from memshim.case.errors import TORCH_MISSING
        from memshim.gpu.failure import describe

        if isinstance(e, ModuleNotFoundError) and e.name == "torch":
            say(f"memshim: {TORCH_MISSING}", file=sys.stderr)
        elif name in RUNS_SCRIPTS:
            raise
        else:  # of a user's model, most likely: where it is from, and on the last line what it is
            if not isinstance(e, OSError):
                say("".join(traceback.format_exception(e)), end="", file=sys.stderr)
            say(f"memshim: {describe(e)}", file=sys.stderr)
    except KeyboardInterrupt:
        say("memshim: interrupted", file=sys.stderr)
        return INTERRUPTED
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
