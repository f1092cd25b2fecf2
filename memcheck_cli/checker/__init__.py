"""SGLang's pool checker re-implemented as pure functions, by release. Usable without the command.

Each rule is data bound to a span of releases and names the SGLang function it re-implements; none of SGLang's code is
in here. Numbers are tokens (slots for the mamba and request pools).

* `releases`   the order of SGLang's releases, and spans of them
* `terms`      what a pool's slots are counted as
* `invariant`  which terms are summed, where the total comes from, what is a leak (`self_check_during_busy`,
  `check_memory`, `self_check_during_idle`, `on_idle`)
* `state`      what the busy check looks at: batches, requests, session rows, pool counters
* `uncached`   the uncached sizes of the requests in flight, and the ways in which computing them can die
  (`_get_batch_uncached_size`, `_get_total_uncached_sizes`, `_add_owner`)
* `messages`   every text as a template that both reads and prints it
* `printing`   the busy check's messages from numbers
* `server`     levels, the ring of 1000 messages, what is printed when, and how the process ends

    >>> from memcheck_cli.checker.printing import PoolCheck
    >>> from memcheck_cli.checker.server import Server
    >>> server = Server("0.5.23", level=1)
    >>> numbers = {"available": 59, "evictable": 0, "protected": 0, "session_held": 0, "uncached": 40}
    >>> server.check([PoolCheck("full", 100, numbers)]).raised
    'AssertionError: Full Pool Mem Leak Detected! [full] total=100, available=59, evictable=0, protected=0, session_held=0, uncached=40'
"""  # noqa: E501 - the assertion stands on one line
