"""A CI run's bundle: which job, which test and which attempt leaked.

`read_bundle` reads sources of any kind (the logs of jobs, server logs, JUnit files) and answers a `Bundle`; see
`memcheck_cli.artifacts.model`.
"""

from memcheck_cli.artifacts.bundle import accept, read_bundle
from memcheck_cli.artifacts.model import Bundle, Group, Known, Test

__all__ = ["Bundle", "Group", "Known", "Test", "accept", "read_bundle"]
