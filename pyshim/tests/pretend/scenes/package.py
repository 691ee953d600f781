"""A package of AOTInductor: compiled, loaded and called."""

import json
import sys

import torch
import torch._inductor.config as config

config.aot_inductor.compile_wrapper_opt_level = "O0"  # of code that is not run
config.aot_inductor.precompile_headers = False
config.cpp.vec_isa_ok = True  # else it compiles a program for each of the processor's instruction sets

x = torch.zeros(8, 64, device="cuda")
with torch.no_grad():
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10)).cuda().eval()
    path = torch._inductor.aoti_compile_and_package(torch.export.export(model, (x,)), package_path=sys.argv[1])
    before = torch.cuda.memory_allocated()
    package = torch._inductor.aoti_load_package(path)
    weights = torch.cuda.memory_allocated() - before
    torch.cuda.memory._record_memory_history(context=None)
    result = package(x)
    events = [e["size"] for e in torch.cuda.memory._snapshot()["device_traces"][0] if e["action"] == "alloc"]
print(json.dumps({"weights": weights, "events": events}))
