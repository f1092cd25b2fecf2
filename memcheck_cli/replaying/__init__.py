"""The checker of any release, run again over what a server log or a recording holds.

`recordings` replays recordings, `logs` server logs; `changes` are the what-ifs, `emit` prints what a server would have
printed, `as_test` writes a test, `run` does all that for the paths of a command line. Everything is folded record by
record, in bounded memory.
"""
