"""`python -m memcheck_cli` and the console script."""

import gc
import os
import sys
from contextlib import suppress

GARBAGE = 50_000
"""New objects after which cycles are looked for: loading modules makes thousands that stay."""


def main() -> None:
    """Run the command and end the process at once: taking a hundred modules apart first is a tenth of a short run."""
    gc.set_threshold(GARBAGE)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads would wait for matrices that never come
    try:
        from memcheck_cli.cli import main as cli

        cli.main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt:  # while the modules were loaded
        code = 130
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):  # told already
                stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
