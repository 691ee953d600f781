"""In every process of an engine under `memshim serve`: what is missing of the model is made up, the
driver's memory is charged, and the engine's figures are read from its objects. Where they are to be
recorded, so is what the engine's processes read.

Started by startup/sitecustomize.py, where the environment asks for it. The engine's classes are
wrapped as they are imported; what they compute is the engine's. A process leaves files in the
command's folder: arguments.json, worker.RANK.PID.json, engine.PID.json of each replica, generated.json,
error.PID.json, reads.PID.json, made.json.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from memshim.files import write_whole
from memshim.gpu.failure import first_line, out_of_memory
from memshim.origin import reads
from memshim.origin.dependencies import Depends
from memshim.pretend import unbuilt
from memshim.pretend.after_import import After
from memshim.serving import driver_memory, generation, larger, model_folder
from memshim.serving.attributes import Moved, read
from memshim.serving.graph_memory import Charges

# JSON: the folder for this module's files, the bytes that are charged for the driver (of one GPU, of each
# that shares layers with others, and of a stage of a pipeline), how many tokens each request generates,
# and of a recording its file, the script that makes the engine ("" for none), the folder that paths start
# from, the command and depends: (command.py).
WANTED = "MEMSPEC_SERVE"
ARGUMENTS, ENGINES, WORKERS, ERRORS = "arguments.json", "engine.*.json", "worker.*.json", "error.*.json"
READS, MADE, GENERATED = "reads.*.json", "made.json", "generated.json"
PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")  # GPUs, as they multiply
CACHES = "vllm.v1.core.kv_cache_utils"
LAST_REPLICA = 600.0  # seconds that a replica with a KV cache waits for the others
GENERATION = "generation"  # a stage
UNBUILT = "unbuilt"  # of a worker's figures: whether functions that do nothing stood for kernels
QUANTIZED = "_already_called_process_weights_after_loading"  # of a layer, by the engine
_SEEN = "_memshim_seen"  # of an error that is written already


def said(error: BaseException) -> str:
    """The line of an error that says what is wrong; of several that pydantic found, the first."""
    found = getattr(error, "errors", None)
    if type(error).__name__ == "ValidationError" and callable(found) and (one := next(iter(found()), None)):
        return str(one["msg"]).strip().splitlines()[0]
    return first_line(error)


def quantize_layers(module: Any, model: Any, device: AbstractContextManager[Any]) -> None:
    """Make the weights of a model that are on no device yet, and quantize each layer at once. module:
    vLLM's dummy_loader."""
    for layer in model.modules():
        tensors = {n: t for n, t in module.get_layer_tensors(layer).items() if t.device.type == "meta"}
        if not tensors:
            continue
        with device:
            for name, tensor in tensors.items():
                setattr(layer, name, module.materialize_meta_tensor(tensor))
            read(layer, "quant_method").process_weights_after_loading(layer)
        if not getattr(layer, QUANTIZED, False):  # it would be quantized twice
            raise Moved(f"{type(layer).__name__}.{QUANTIZED}")


def captured(config: Any) -> dict[str, Any] | None:
    """How many batch sizes an engine captures as CUDA graphs, and of what: for each a piecewise and a full
    graph. None where it captures none, or other kinds."""
    if read(config, "model_config.enforce_eager"):
        return None
    if getattr(read(config, "compilation_config.cudagraph_mode"), "name", None) != "FULL_AND_PIECEWISE":
        return None
    return {
        "sizes": len(read(config, "compilation_config.cudagraph_capture_sizes")),
        "layers": int(read(config, "model_config.get_num_layers")(read(config, "parallel_config"))),
        "experts": bool(read(config, "model_config.is_moe")),
    }


def measured(worker: Any) -> tuple[int, int, int]:
    """What a worker's profile run found: the peak of activations, what is neither that nor what loading left,
    and what is taken off the KV cache for CUDA graphs."""
    environment = importlib.import_module("vllm.envs")
    graphs = int(getattr(worker, "cudagraph_memory_estimate", 0))
    in_kv = graphs if getattr(environment, "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", False) else 0
    activation = int(read(worker, "peak_activation_memory"))
    if hasattr(worker, "total_consumed"):  # later releases: what is no longer free, weights and all
        return (
            activation - in_kv,
            int(worker.total_consumed) - int(read(worker, "model_runner.model_memory_usage")),
            in_kv,
        )
    return activation, int(read(worker, "non_torch_memory")), in_kv


def replicas(arguments: Any) -> int:
    """How many engines a command starts, each with its own KV cache."""
    if getattr(arguments, "data_parallel_rank", None) is not None:
        return 1  # this one of them
    local = getattr(arguments, "data_parallel_size_local", None)
    return int(local or getattr(arguments, "data_parallel_size", 1) or 1)


class Watch:
    """Of this process."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.folder = Path(wanted["folder"])
        self.charged = [int(n) for n in wanted["charged"]]
        self.recording: dict[str, Any] = wanted.get("recording") or {}
        self.tokens = int(wanted.get("generate") or 0)
        self.device = 0  # of this process's worker
        self.charges = Charges(self.take, self.give)

    def begin(self) -> None:
        if self.recording:
            reads.Reads().begin()
        After("vllm.engine.arg_utils", self.arguments)
        After("vllm.model_executor.model_loader.dummy_loader", self.dummy_weights)
        After("vllm.v1.worker.gpu_worker", self.worker)
        After("vllm.compilation.cuda_graph", lambda module: self.charges.watch_pieces(module.CUDAGraphWrapper))
        After("vllm.v1.engine.core", self.core)
        before = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            self.failed("", error)
            before(kind, error, trace)

        sys.excepthook = hook

    # What is wrapped, a module of the engine each.

    def arguments(self, module: Any) -> None:
        """Whatever the engine was started by (its command, a program), its arguments pass here."""
        self.wrap(
            module.EngineArgs,
            "create_engine_config",
            "arguments",
            before=self.make_up,
            after=lambda _: self.keep_reads(),
        )

    def dummy_weights(self, module: Any) -> None:
        """Weights that are made up and quantized as they are loaded are made on the card, a layer after
        another as those of a file are. vLLM 0.19 makes all of them in the host's memory first."""
        if not hasattr(module, "materialize_meta_tensor"):
            return  # a release before, which has no such weights
        load = module.DummyModelLoader.load_weights

        @functools.wraps(load)
        def loaded(loader: Any, model: Any, *args: Any) -> Any:
            import torch

            quantize_layers(module, model, torch.device("cuda", torch.cuda.current_device()))
            return load(loader, model, *args)

        module.DummyModelLoader.load_weights = loaded

    def worker(self, module: Any) -> None:
        import torch

        self.charges.watch_captures(torch.cuda.graph)
        self.wrap(module, "request_memory", "memory at start")
        kind = module.Worker
        self.wrap(kind, "init_device", "device")
        self.wrap(kind, "load_model", "weights")
        self.wrap(kind, "determine_available_memory", "profile run", before=self.charge, after=self.profiled)
        self.wrap(kind, "compile_or_warm_up_model", "warm-up", before=self.watch_graphs, after=self.profiled)
        if self.tokens:
            self.wrap(kind, "execute_model", GENERATION)
            self.wrap(kind, "sample_tokens", GENERATION)

    def core(self, module: Any) -> None:
        self.wrap(module, "get_kv_cache_configs", "KV cache")
        self.wrap(module.EngineCore, "__init__", "engine", after=self.made)

    def wrap(
        self,
        of: Any,
        name: str,
        stage: str,
        before: Callable[[Any], None] | None = None,
        after: Callable[[Any], None] | None = None,
    ) -> None:
        """Call before and after with the first argument of a function, and write down its error."""
        if not hasattr(of, name):
            self.failed(stage, Moved(f"{getattr(of, '__name__', of)}.{name}"))
            return
        call = getattr(of, name)

        @functools.wraps(call)
        def watched(*args: Any, **kwargs: Any) -> Any:
            try:
                if before:
                    before(args[0])
                result = call(*args, **kwargs)
                if after:
                    after(args[0])
                return result
            except Exception as e:
                self.failed(stage, e)
                raise

        setattr(of, name, watched)

    # What is done there.

    def make_up(self, arguments: Any) -> None:
        """Weights and tokenizer, where the model's folder has none."""
        model = str(read(arguments, "model"))
        folder = Path(model)
        made_up = []
        if folder.is_dir():
            if not getattr(arguments, "language_model_only", False):
                model_folder.check_processor(folder, getattr(arguments, "limit_mm_per_prompt", None) or {})
            if read(arguments, "load_format") == "auto" and not model_folder.has_weights(folder):
                arguments.load_format = "dummy"
            if not getattr(arguments, "tokenizer", None) and not model_folder.has_tokenizer(folder):
                arguments.skip_tokenizer_init = True
                made_up.append("tokenizer")
            if arguments.load_format == "dummy" and not model_folder.has_weights(folder):
                made_up += self.quantize(arguments, folder)
        if arguments.load_format == "dummy":
            made_up.append("weights")
        defaults = [n for n in ("max_num_seqs", "max_num_batched_tokens") if getattr(arguments, n, 0) is None]
        gpus = math.prod(int(getattr(arguments, name, 1) or 1) for name in PARALLEL)
        said = {"model": model, "made_up": sorted(made_up), "defaults": defaults, "gpus": gpus}
        said["replicas"] = replicas(arguments)
        self.write(ARGUMENTS, said | {"asked": larger.asked(arguments)})

    def quantize(self, arguments: Any, folder: Path) -> list[str]:
        """Give the engine what it would read from safetensors headers; what that is, for the report."""
        given = getattr(arguments, "hf_overrides", None) or {}
        if callable(given) or model_folder.QUANTIZATION in given:
            return []
        method = model_folder.quantized(folder)
        if method is None:
            return []
        arguments.hf_overrides = {**given, model_folder.QUANTIZATION: method}
        return ["quantized layers"]

    def take(self, size: int) -> bool:
        """Take bytes of the worker's card."""
        from memshim.pretend.library import Library

        return Library().take(self.device, size)

    def give(self, size: int) -> None:
        from memshim.pretend.library import Library

        Library().give(self.device, size)

    def charge(self, worker: Any) -> None:
        """What the driver takes over the profile run, and from then on for each CUDA graph: the engine sees it
        as free memory that falls."""
        alone = int(read(worker, "parallel_config.world_size")) == 1
        kind = 0 if alone else 1 if int(read(worker, "parallel_config.tensor_parallel_size")) > 1 else 2
        self.device = int(read(worker, "device.index") or 0)
        self.take(self.charged[kind])
        if graphs := captured(read(worker, "vllm_config")):
            self.charges.set(driver_memory.graph_layer(graphs["experts"]), graphs["layers"])

    def profiled(self, worker: Any) -> None:
        """A worker's figures, which later ones replace."""
        import torch

        stated = bool(read(worker, "cache_config.kv_cache_memory_bytes"))  # then the engine computes none
        activation, outside, in_kv = (None, None, 0) if stated else measured(worker)
        free, total = torch.cuda.mem_get_info(worker.device)
        figures = {
            "rank": read(worker, "rank"),
            "card": torch.cuda.get_device_name(worker.device),
            "total": read(worker, "init_snapshot.total_memory"),
            "free_at_start": read(worker, "init_snapshot.free_memory"),
            "requested": int(read(worker, "requested_memory")),
            "loaded": int(read(worker, "model_runner.model_memory_usage")),
            "activation": activation,
            "outside_pytorch": outside,
            "kv_memory": read(worker, "cache_config.kv_cache_memory_bytes")
            if stated
            else int(read(worker, "available_kv_cache_memory_bytes")),
            "graphs": getattr(worker, "_memshim_graphs", 0),
            "graphs_of_driver": self.charges.taken,
            "graphs_in_budget": in_kv,
            "allocated_peak": torch.cuda.max_memory_allocated(worker.device),
            "in_use": total - free,
            UNBUILT: bool(unbuilt.used),
        }
        self.write(WORKERS.replace("*", f"{figures['rank']}.{os.getpid()}"), figures)
        self.keep_reads()

    def watch_graphs(self, worker: Any) -> None:
        """Keep what the engine's own measurement of its CUDA graphs gives."""
        runner = read(worker, "model_runner")
        capture = read(runner, "capture_model")

        def captured(*args: Any, **kwargs: Any) -> Any:
            worker._memshim_graphs = int(capture(*args, **kwargs) or 0)
            return worker._memshim_graphs

        runner.capture_model = captured

    def made(self, core: Any) -> None:
        """The engine's KV cache is made: its figures, and its end."""
        config, cache = read(core, "vllm_config"), read(core, "scheduler.kv_cache_config")
        groups = read(cache, "kv_cache_groups")
        blocks, length = int(read(cache, "num_blocks")), int(read(config, "model_config.max_model_len"))
        requests = read(importlib.import_module(CACHES), "get_max_concurrency_for_kv_cache_config")
        concurrency = float(requests(config, cache)) if groups else 0.0
        sizes = [int(read(g, "kv_cache_spec.block_size")) for g in groups]
        figures = {
            "blocks": blocks,
            "block_size": min(sizes, default=0),
            "tokens": blocks * sizes[0] if len(groups) == 1 else int(concurrency * length),
            "concurrency": concurrency,
            "max_model_len": length,
            "kv_cache": sum(int(read(t, "size")) for t in read(cache, "kv_cache_tensors")),
            "max_num_seqs": int(read(config, "scheduler_config.max_num_seqs")),
            "max_num_batched_tokens": int(read(config, "scheduler_config.max_num_batched_tokens")),
            "gpu_memory_utilization": float(read(config, "cache_config.gpu_memory_utilization")),
            "kv_cache_dtype": str(read(config, "cache_config.cache_dtype")),
            "dtype": str(read(config, "model_config.dtype")).removeprefix("torch."),
            "quantization": read(config, "model_config.quantization"),
            "eager": bool(read(config, "model_config.enforce_eager")),
            "tensor_parallel_size": int(read(config, "parallel_config.tensor_parallel_size")),
            "captured": captured(config),
        }
        if self.tokens:
            self.generate(core, figures)
        self.make()
        self.write(ENGINES.replace("*", str(os.getpid())), figures)
        self.others()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def others(self) -> None:
        """Wait for the other replicas' figures: the engine ends all of them where one ends."""
        file, until = self.folder / ARGUMENTS, time.monotonic() + LAST_REPLICA
        wanted = json.loads(file.read_bytes())["replicas"] if file.exists() else 1
        while file.exists() and len(list(self.folder.glob(ENGINES))) < wanted and time.monotonic() < until:
            time.sleep(0.05)

    def generate(self, core: Any, figures: dict[str, Any]) -> None:
        """Generate tokens, and write down what that took."""
        try:
            wanted = generation.batch(figures, self.tokens)
            request = read(importlib.import_module("vllm.v1.request"), "Request")
            sampling = read(importlib.import_module("vllm.sampling_params"), "SamplingParams")
            self.write(GENERATED, generation.generate(core, wanted, request, sampling))
        except Exception as e:
            self.failed(GENERATION, e)
            raise

    def failed(self, stage: str, error: BaseException) -> None:
        """Write down an error, once, with where it was."""
        if getattr(error, _SEEN, False):
            return
        setattr(error, _SEEN, True)
        no_room = out_of_memory(error)
        what = {
            "stage": stage,
            "kind": type(error).__name__,
            "text": no_room or said(error),
            "moved": isinstance(error, Moved),
            "unfit": bool(no_room) or stage in ("memory at start", "KV cache") and isinstance(error, ValueError),
            "time": time.time(),
        }
        if what["unfit"]:
            self.make()
        name = ERRORS.replace("*", str(os.getpid()))
        if not (self.folder / name).exists():
            self.write(name, what)

    def keep_reads(self) -> None:
        """What this process has read so far, for the one that writes made.json."""
        seen = reads.current()
        if not self.recording or seen is None:
            return
        kept = {
            "opened": list(seen.opened),
            "written": list(seen.written),
            "listed": list(seen.listed),
            "asked": [[*at, value] for at, value in seen.asked.items()],
            "began": seen.began,
        }
        self.write(READS.replace("*", str(os.getpid())), kept)

    def make(self) -> None:
        """What the engine was made from: the files that its processes read, and its packages."""
        if not self.recording or not self.folder.is_dir():
            return
        from memshim.origin import provenance

        self.keep_reads()
        all_read = reads.Reads()
        for file in sorted(self.folder.glob(READS)):
            one = json.loads(file.read_bytes())
            all_read.opened |= dict.fromkeys(one["opened"])
            all_read.listed |= dict.fromkeys(one["listed"])
            all_read.written |= set(one["written"])
            for name, by, value in one["asked"]:
                all_read.asked.setdefault((name, by), value)
            all_read.began = min(all_read.began or one["began"], one["began"])
        wanted = self.recording
        depends = Depends(*map(tuple, wanted["depends"]))
        source, folder = f"{wanted['script']}:", wanted["folder"]
        made = provenance.made(wanted["file"], source, folder, None, wanted["command"], all_read, depends)
        self.write(MADE, made)

    def write(self, name: str, what: dict[str, Any]) -> None:
        if self.folder.is_dir():  # else this process outlived the command that began it
            write_whole(self.folder / name, json.dumps(what).encode())


def begin() -> None:
    """Watch this process, as the environment says."""
    Watch(json.loads(os.environ[WANTED])).begin()
