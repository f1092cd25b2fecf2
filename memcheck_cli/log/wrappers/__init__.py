"""Takes collectors' wrapping off: docker, Kubernetes, Ray, launchers, journals, CI, terminals and pasted text.

One module per family; `interface` says what a family is, `layers` lists them, `unwrapper` drives them.

The process of a line is what the innermost wrapper that names one says; time stamps name none. It is for Ray the
actor and its pid without the ip, for docker compose the name before the bar, for kubectl and stern
`pod/NAME/CONTAINER`, for `gh run view --log` the job, for srun the label, for mpirun what stands in its tag
(`/bin/sh@<0,1>`, `1,0`), for the journal `name[pid]`.
"""

from __future__ import annotations

from memcheck_cli.log.wrappers.interface import Unwrapped
from memcheck_cli.log.wrappers.unwrapper import Unwrapper

__all__ = ["Unwrapped", "Unwrapper"]
