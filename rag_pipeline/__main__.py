"""`python -m rag_pipeline` is `rag-pipeline`."""

from rag_pipeline.cli.main import main

if __name__ == "__main__":
    main()
