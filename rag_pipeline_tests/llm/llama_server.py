"""A real llama.cpp server in a process of its own: `python -m rag_pipeline_tests.llm.llama_server MODEL`.

It prints its address and ends when its standard input does, so that it never outlives the tests.
"""

import sys

import xllamacpp


def main(model: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.warmup = False
    # On busy cores two threads wait for each other at every token.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
