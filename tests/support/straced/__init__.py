"""
The oracle: what the journal must say, derived from strace and nothing else.

trace.py reads strace's text, model.py replays the system calls on a model of
the tree (names, inodes, open files, offsets, processes), match.py compares
what the model expects with what the journal holds. None of the three knows
the file system under test.
"""
