import sys

from vllm.engine.arg_utils import EngineArgs

if __name__ == "__main__":
    print("the engine prints")
    if sys.argv[1] == "wrong":
        sys.exit("fake engine: error: no such command")
    if sys.argv[1] == "serve":
        config = EngineArgs(sys.argv[2]).create_engine_config()
        from vllm.v1.engine.core import EngineCore

        EngineCore(config)
        print("never printed: the engine is ended once its cache is made")
        sys.exit(9)
