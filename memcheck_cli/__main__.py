"""`python -m memcheck_cli` and the console script."""

from memcheck_cli.cli.main import main

if __name__ == "__main__":
    main()
