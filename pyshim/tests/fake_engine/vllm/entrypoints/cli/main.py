import os
import sys

from vllm.engine.arg_utils import EngineArgs

if __name__ == "__main__":
    print("the engine prints")
    if sys.argv[1] == "wrong":
        sys.exit("fake engine: error: no such command")
    if sys.argv[1] == "serve":
        arguments = EngineArgs(sys.argv[2])
        for name, value in zip(sys.argv[3::2], sys.argv[4::2], strict=True):
            setattr(arguments, name.removeprefix("--").replace("-", "_"), int(value))
        config = arguments.create_engine_config()
        if getattr(arguments, "data_parallel_size", 1) == 2 and os.fork() == 0:  # a replica on the other card
            os.environ["CUDA_VISIBLE_DEVICES"] = "1"
            config.cache_config.gpu_memory_utilization = 0.4
        from vllm.v1.engine.core import EngineCore

        EngineCore(config)
        print("never printed: the engine is ended once its cache is made")
        sys.exit(9)
