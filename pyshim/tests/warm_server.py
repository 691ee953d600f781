"""A Python process that has imported torch and forks another for each command that it is asked to
run: the command finds torch, torch._dynamo and what they import at hand, and imports each of them
in a few milliseconds; Python programs that the command starts are forked too. warm.py starts it and
says what holds.

Its code bears the name of runpy, whose frames are left out of stacks."""

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import multiprocessing.util
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import weakref

LARGEST = 1 << 20  # bytes of a request
# read when torch or Python starts, or by what torch loads: a command for which one differs is not forked
EARLY = ("LD_", "TORCH", "PYTORCH", "CUDA", "CUDNN", "CUBLAS", "OMP_", "MKL_", "KMP_", "NCCL_", "TRITON", "PYTHON")
LATE = {"PYTHONPATH", "CUDA_VISIBLE_DEVICES", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"}
LATE |= {"PYTHONIOENCODING", "OMP_NUM_THREADS"}  # read_late
THREADS = "TORCHINDUCTOR_COMPILE_THREADS"  # read when inductor's settings are imported: configure
LATE |= {THREADS}
LATE_TOO = ("TORCHELASTIC_", "TORCH_NCCL_")  # when process groups are made
HIDES = ["-P", "-X", "memshim-shown"]  # memshim.workdir.module
SAME = {*subprocess._args_from_interpreter_flags(), "-u"}  # of this process; and one that become does
PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37  # linux/prctl.h
PRCTL, NOUGHT = ctypes.CDLL(None).prctl, ctypes.c_ulong(0)
MADV_COLLAPSE = 25  # asm-generic/mman-common.h
SHELF = None  # of this process, once it is loaded
PYTHON = sys.executable  # a test may say that it is another
INTERRUPT = signal.getsignal(signal.SIGINT)  # ignored where this process was started so
PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")  # as subprocess has them


def early(environ):
    """The variables that must be those of this process."""
    return {n: v for n, v in environ.items() if n.startswith(EARLY) and n not in LATE and not n.startswith(LATE_TOO)}


class Loader(importlib.abc.Loader):
    """Gives a module that was loaded before the fork, and with it its group's others."""

    def __init__(self, shelf, name):
        self.shelf, self.name = shelf, name
        self.module, self.spec, self.loader = shelf.modules[name]

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        del self.shelf.modules[self.name]
        module.__spec__, module.__loader__ = self.spec, self.loader
        self.shelf.bring(self.name)


class Shelf(importlib.abc.MetaPathFinder):
    """Modules that are loaded and not yet imported, in groups: what imports of one name loaded."""

    def __init__(self):
        self.modules, self.groups, self.attributes, self.variables = {}, [], {}, {}
        self.group_of = {}  # by each name, the first group that has it

    def load(self, name, *brings):
        """Import a name: a group of what that loaded, except the standard library's, and one of each
        other package of it, which a program may import alone. brings: names of groups before it that
        it imports too."""
        before, environ = set(sys.modules), dict(os.environ)
        importlib.import_module(name)
        new = [n for n in sys.modules if n not in before and n.partition(".")[0] not in sys.stdlib_module_names]
        packages = dict.fromkeys(n.partition(".")[0] for n in new)
        packages.pop(name.partition(".")[0], None)
        self.groups += [[n for n in new if n.partition(".")[0] == package] for package in packages]
        self.groups.append([*brings, *new])
        self.variables[name] = {n: v for n, v in os.environ.items() if n not in environ}

    def take(self):
        for group in self.groups:
            for name in [*group]:
                module = sys.modules[name]
                spec = getattr(module, "__spec__", None)
                if type(module) is not types.ModuleType or spec is None or spec.name != name:
                    continue
                if name.rpartition(".")[2].startswith("test_"):  # which pytest would load itself
                    continue
                self.modules[name] = module, spec, getattr(module, "__loader__", None)
        for group in self.groups:
            for name in group:
                parent, _, child = name.rpartition(".")
                of = sys.modules.get(parent) or self.modules.get(parent, (None,))[0]
                if of is not None and child in of.__dict__:
                    self.attributes[name] = of, of.__dict__[child]
        self.loose = {n: sys.modules[n] for g in self.groups for n in g if n not in self.modules}
        for group in reversed(self.groups):
            self.group_of.update(dict.fromkeys(group, group))
        for name in (n for g in self.groups for n in g):
            sys.modules.pop(name, None)
        for name, (of, _) in self.attributes.items():
            of.__dict__.pop(name.rpartition(".")[2], None)

    def put_back(self):
        """At the end of a process, for what torch has registered to do there."""
        for name, (module, _, _) in self.modules.items():
            sys.modules[name] = module
        sys.modules.update(self.loose)
        for name, (of, value) in self.attributes.items():
            of.__dict__[name.rpartition(".")[2]] = value

    def others(self, name):
        """What its group has beside a name, the first time."""
        group = self.group_of.get(name, [])
        for n in group:
            if self.group_of.get(n) is group:
                del self.group_of[n]
            os.environ.update({k: v for k, v in self.variables.pop(n, {}).items() if k not in os.environ})
            if n in self.loose:
                sys.modules[n] = configure(n, self.loose.pop(n))
        return group

    def bring(self, name):
        """Import what its group has beside a name: as ever where a finder before this one may wait
        for it, else without Python's steps, each of which would touch pages of all these modules."""
        for other in self.others(name):
            if other in self.modules:
                before = sys.meta_path[: sys.meta_path.index(self)]
                if any(getattr(finder, "name", other) == other for finder in before):
                    importlib.import_module(other)
                else:
                    sys.modules[other] = self.modules.pop(other)[0]
                    self.bring(other)
            if other in self.attributes:
                parent, value = self.attributes.pop(other)
                parent.__dict__[other.rpartition(".")[2]] = value

    def find_spec(self, name, path=None, target=None):
        if name not in self.modules:
            return None
        module, spec, _ = self.modules[name]
        found = importlib.machinery.ModuleSpec(name, Loader(self, name), origin=spec.origin)
        found.submodule_search_locations = spec.submodule_search_locations
        found.cached, found.has_location = spec.cached, spec.has_location
        return found


def configure(name, module):
    """The module, with what it would have read from the environment had it been loaded now."""
    if name == "torch._inductor.config" and (threads := os.environ.get(THREADS)):
        module.compile_threads = int(threads)
    return module


def receive(connection):
    """A request and its file descriptors; None at the end."""
    data, fds, _, _ = socket.recv_fds(connection, LARGEST, 16)
    return (pickle.loads(data), fds) if data else (None, fds)


def read_late(environ):
    """Do what Python and torch do when they start with these variables."""
    if given := environ.get("PYTHONIOENCODING"):
        encoding, _, errors = given.partition(":")
        how = {"encoding": encoding or None, "errors": errors or None, "closefd": False}
        sys.stdin, sys.stdout = open(0, **how), open(1, "w", **how)
    if threads := environ.get("OMP_NUM_THREADS"):
        SHELF.modules["torch"][0].set_num_threads(int(threads))


def become(request, fds):
    """Make this process what `python ARGUMENTS` would be at its start. The code to run, and its
    globals."""
    above = max(*fds, *request["numbers"]) + 1
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in fds]
    for fd in fds:
        os.close(fd)
    for number, fd in zip(request["numbers"], moved):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    read_late(os.environ)
    if request["unbuffered"]:
        out = sys.stdout
        raw = open(1, "wb", 0, closefd=False)
        sys.stdout = io.TextIOWrapper(raw, encoding=out.encoding, errors=out.errors, write_through=True)
    arguments = request["arguments"]
    sys.orig_argv = [sys.orig_argv[0], *request["given"]]
    sys.path[:] = dict.fromkeys([*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *INSTALLED])
    if request["before"]:
        function, given = pickle.loads(request["before"])
        function(*given)
        for name in [n for n in sys.modules if n.partition(".")[0] == "memshim"]:
            del sys.modules[name]
    sys.modules.pop("sitecustomize", None)
    importlib.invalidate_caches()
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    importlib.import_module("sitecustomize")
    kind = arguments[0] if arguments[0] in ("-c", "-m") else ""
    if kind == "-m":
        import runpy

        sys.path.insert(0, os.getcwd())
        sys.argv = ["-m", *arguments[2:]]
        return compile("_run(_module)", "<frozen runpy>", "exec"), {
            "_run": runpy._run_module_as_main,
            "_module": arguments[1],
        }
    if kind:
        sys.path.insert(0, "")
        sys.argv = ["-c", *arguments[2:]]
        return compile(arguments[1], "<string>", "exec"), main.__dict__
    script = os.path.abspath(arguments[0])
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    sys.argv = arguments
    main.__file__, main.__cached__ = script, None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
    with open(script, "rb") as f:
        return compile(f.read(), script, "exec"), main.__dict__


class Programs:
    """Starts Python programs as children of this process, each forked by the process at the other end
    of a connection. generations: how many of the programs that those start, and that these start,
    are forked."""

    generations = 9

    def __init__(self, connection):
        self.connection, self.lock, self.process = connection, threading.Lock(), os.getpid()

    def start(self, request, fds):
        """The process id of the program of a request, which has these file descriptors."""
        before = ctypes.c_int()
        with self.lock:
            PRCTL(PR_GET_CHILD_SUBREAPER, ctypes.byref(before), NOUGHT, NOUGHT, NOUGHT)
            PRCTL(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), NOUGHT, NOUGHT, NOUGHT)
            try:
                socket.send_fds(self.connection, [pickle.dumps(request)], fds)
                answer = self.connection.recv(64)
            finally:
                PRCTL(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(before.value), NOUGHT, NOUGHT, NOUGHT)
        assert answer, "the process that forks programs ended"
        return json.loads(answer)


def fork_programs(find):
    """Python programs that this process starts from here on are forked. find: the Programs that start
    one, by its arguments and environment; None for one that is started as ever."""
    execute, execve = subprocess.Popen._execute_child, os.execve

    def give(arguments, environ, folder, numbers, fds, before=None, session=False):
        """The process id of a program that is forked; None where it cannot be."""
        arguments = [os.fsdecode(a) for a in arguments]
        if arguments[:1] != [PYTHON] or not os.path.isdir(folder or "."):
            return None
        words = arguments[1:]
        if words[:3] == HIDES:  # memshim does the same without them
            words = words[3:]
        unbuffered = False
        while words and words[0] in SAME:
            unbuffered = unbuffered or words[0] == "-u"
            words = words[1:]
        given = words
        if words and words[0][:2] == "-m" and words[0] != "-m":
            words = ["-m", words[0][2:], *words[1:]]
        if not words or words[0].startswith("-") and words[0] not in ("-c", "-m"):
            return None
        if isinstance(before, types.FunctionType) or before is not None and not hasattr(before, "func"):
            return None
        programs = find(words, environ)
        if programs is None or programs.process != os.getpid():
            return None
        request = {
            "arguments": words,
            "given": given,
            "environment": dict(environ),
            "folder": os.path.abspath(folder or "."),
            "numbers": numbers,
            "before": before and pickle.dumps((before.func, before.args)),
            "session": session,
            "generations": programs.generations,
            "unbuffered": unbuffered,
        }
        return programs.start(request, fds)

    def started(self, *arguments):
        names = execute.__code__.co_varnames[1 : execute.__code__.co_argcount]
        a = dict(zip(names, arguments))
        plain = not a["shell"] and not a["pass_fds"] and not isinstance(a["args"], (str, bytes))
        streams = [(0, a["p2cread"]), (1, a["c2pwrite"]), (2, a["errwrite"])]
        fds = [number if fd == -1 else fd for number, fd in streams]
        pid = None
        if plain and a.get("process_group", -1) == -1:
            sys.stdout.flush()
            session = a.get("start_new_session", False)
            environ = a["env"] if a["env"] is not None else os.environ
            pid = give(a["args"], environ, a["cwd"], [0, 1, 2], fds, a["preexec_fn"], session)
        if pid is None:
            return execute(self, *arguments)
        self.pid, self._child_created = pid, True
        self._close_pipe_fds(*(a[n] for n in PIPES))

    def replaced(path, arguments, environ):
        pid = give([path, *arguments[1:]], environ, None, [0, 1, 2], [0, 1, 2])
        if pid is None:
            execve(path, arguments, environ)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, frame: os.kill(pid, number))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code < 0:
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)

    def spawned(path, arguments, passed):
        """As multiprocessing starts a process."""
        pid = give([path, *arguments[1:]], os.environ, None, [0, 1, 2, *passed], [0, 1, 2, *passed])
        return spawn(path, arguments, passed) if pid is None else pid

    started.forks = True
    spawn, multiprocessing.util.spawnv_passfds = multiprocessing.util.spawnv_passfds, spawned
    subprocess.Popen._execute_child, os.execve = started, replaced


def serve(connection):
    """Fork for each request, and answer with the process id. In a forked process: the code that it
    is to run."""
    while True:
        request, fds = receive(connection)
        if request is None:
            os._exit(0)
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            between, pid = os.getpid(), os.fork()
            if pid:
                os.write(writing, json.dumps(pid).encode())
                os._exit(0)
            for other in (connection.detach(), reading, writing):
                os.close(other)
            while os.getppid() == between:  # until it is a child of the process that started it
                time.sleep(0.0002)
            if request["session"]:
                os.setsid()
            if not request["generations"]:
                return become(request, fds)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            if os.fork():  # the other one forks what the program starts
                theirs.close()
                signal.signal(signal.SIGINT, INTERRUPT)
                code = become(request, fds)
                programs = Programs(ours)
                programs.generations = request["generations"] - 1
                fork_programs(lambda words, environ: programs if early(environ) == EARLIEST else None)
                return code
            ours.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for fd in fds:
                os.close(fd)
            connection = theirs
            continue
        os.close(writing)
        os.waitpid(between, 0)
        connection.send(os.read(reading, 64))
        for fd in (reading, *fds):
            os.close(fd)


def end(error):
    """End this process as Python does after its program, but for taking down the modules, which
    costs as much as an import."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        if code == 1 and error.code != 1:
            print(error.code, file=sys.stderr)
    elif error is not None:
        code = 1
        error = error.with_traceback(error.__traceback__.tb_next)  # less the frame of this file
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)


def load():
    """Import what the commands will; none of it is imported for them yet."""
    global SHELF
    shelf = SHELF = Shelf()
    shelf.load("numpy")
    shelf.load("torch", "numpy")
    shelf.load("torch._dynamo")
    shelf.take()
    sys.meta_path.insert(0, shelf)
    weakref.finalize._registry.clear()  # torch's, for the end of a process
    atexit.register(shelf.put_back)
    gc.collect()
    gc.freeze()
    collapse()


def collapse():
    """Put this process's memory into huge pages, where the system can: a fork copies a table of all
    pages, which is a third then of what a short command takes."""
    with open("/proc/self/maps", encoding="ascii") as f:
        maps = [line.split() for line in f]
    for where, access in (m[:2] for m in maps if m[5:] in ([], ["[heap]"])):
        begin, end = (int(n, 16) for n in where.split("-"))
        if access == "rw-p":
            ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_COLLAPSE)


if __name__ == "__main__":
    EARLIEST = early(os.environ)
    INSTALLED = [p for p in sys.path[1:] if p not in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    load()
    error = None
    try:
        exec(*serve(socket.socket(fileno=int(sys.argv[-1]))))
    except BaseException as e:
        error = e
    end(error)
