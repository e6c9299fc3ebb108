#!/usr/bin/env python3
"""The file exerciser (tests/prop/fs/fsx.c) on a mount: one file through three
descriptors and a lasting mapping, compared below as well. A failure prints
its seed and the operations that led there; FSX_SEED repeats it, FSX_OPS makes
it longer."""

import os
import random
import subprocess

import st

OPS = int(os.environ.get("FSX_OPS", "2000"))
SEED = int(os.environ.get("FSX_SEED") or random.SystemRandom().getrandbits(32))


def fsx(m, seed, name, *args):
    program = os.environ["TEST_BIN"] + "/prop/fs/fsx"
    return subprocess.Popen(
        [program, "--seed", str(seed), "--ops", str(OPS),
         "--below", m.below + "/" + name, *args, m.path + "/" + name])


def finish(*running):
    codes = [p.wait() for p in running]
    assert not any(codes), "fsx ended with %r, seed %d" % (codes, SEED)


def one_file_keeps_every_promise():
    with st.Mount() as m:
        finish(fsx(m, SEED, "f"))


def a_small_file_keeps_every_promise():
    """Small enough that nearly every operation meets the others."""
    with st.Mount() as m:
        finish(fsx(m, SEED + 1, "f", "--size", "20000"))


def several_files_at_once_keep_every_promise():
    with st.Mount(mountpoint=True) as m:
        finish(*[fsx(m, SEED + 2 + n, "f%d" % n, "--size", "2000000")
                 for n in range(3)])


if __name__ == "__main__":
    st.main(one_file_keeps_every_promise, a_small_file_keeps_every_promise,
            several_files_at_once_keep_every_promise)
