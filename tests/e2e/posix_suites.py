#!/usr/bin/env python3
"""Third-party suites, where they are installed: pjdfstest and fsx.

PJDFSTEST names a directory with pjdfstest's program and its tests/, FSX an
fsx program (xfstests has one). Each is run on a plain directory and on a
mount of the same file system, and whatever comes out differently must be
listed, with its reason, in posix-known.txt beside this file."""

import concurrent.futures
import os
import random
import re
import subprocess

import st

KNOWN = os.path.dirname(os.path.abspath(__file__)) + "/posix-known.txt"
FSX_OPS = os.environ.get("FSX_OPS", "10000")
FSX_WAYS = {
    "plain": (),
    "reopening": ("-c", "20"),
    "small": ("-l", "9000", "-o", "3000"),
    "synchronous": ("-y",),
    "flushing": ("-f",),
    "direct": ("-Z", "-R", "-W", "-r", "4096", "-w", "4096", "-t", "4096"),
    "unwaited": ("-A", "-Z", "-R", "-W", "-r", "4096", "-w", "4096",
                 "-t", "4096"),
}


def known():
    """{id: reason}; a line is an id, blanks, and a reason."""
    found = {}
    with open(KNOWN) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, reason = line.split(None, 1)
                found[name] = reason.strip()
    return found


def judge(plain, mount):
    """Compare {id: outcome} of both sides."""
    expected, unknown = known(), []
    for name in sorted(set(plain) | set(mount)):
        a, b = plain.get(name, "missing"), mount.get(name, "missing")
        if a == b:
            continue
        if name in expected:
            print("known: %s: %s" % (name, expected[name]))
            continue
        unknown.append(name)
        print("%s: plain: %s; mount: %s" % (name, a, b))
    bad = [name for name in sorted(plain) if plain[name] != "ok"]
    print("%d outcomes compared, %d of them not ok on the plain side" % (
        len(plain), len(bad)))
    for name in bad:
        print("  %s: %s" % (name, plain[name]))
    assert len(plain) > 0, "nothing was run"
    assert not unknown, "%d unknown differences" % len(unknown)


def fake_df(top, kind):
    """pjdfstest asks df for the file system and skips what is known not to
    work there. Both sides must run the same tests."""
    os.mkdir(top + "/bin")
    with open(top + "/bin/df", "w") as f:
        f.write("#!/bin/sh\necho Filesystem Type\necho none %s\n" % kind)
    os.chmod(top + "/bin/df", 0o755)
    return dict(os.environ, PATH=top + "/bin:" + os.environ["PATH"])


def outcomes(name, text):
    """The lines of one test file. What was tried has a random name in it;
    what came of it is at the end."""
    found = {}
    for line in text.splitlines():
        m = re.match(r"(not )?ok (\d+)(.*)", line)
        if not m:
            continue
        got = re.search(r"expected .*", m.group(3))
        found["%s:%s" % (name, m.group(2))] = "ok" if not m.group(1) else \
            "not ok, " + (got.group(0) if got else m.group(3).strip())
    return found or {name: "no outcome: " + text[-200:]}


def pjdfstest():
    suite = os.environ.get("PJDFSTEST")
    if not suite:
        st.skip("PJDFSTEST does not name a built pjdfstest")
    st.need_root("pjdfstest")
    suite = os.path.abspath(suite)
    tests = sorted(os.path.relpath(os.path.join(d, f), suite + "/tests")
                   for d, _, files in os.walk(suite + "/tests")
                   for f in files if f.endswith(".t"))
    wanted = os.environ.get("PJDFSTEST_ONLY", "")
    tests = [t for t in tests if wanted in t]
    with st.Mount(mountpoint=True) as m:
        kind = subprocess.check_output(
            ["stat", "-f", "-c", "%T", m.repo], text=True).strip()
        env = fake_df(m.home.top, "ext4" if kind == "ext2/ext3" else kind)
        sides = {"plain": m.home.mkdir("plain"), "mount": m.path}

        def run(side, test):
            cwd = sides[side] + "/" + test.replace("/", "-")
            os.mkdir(cwd)
            os.chmod(cwd, 0o755)
            r = subprocess.run(["sh", suite + "/tests/" + test], cwd=cwd,
                               env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
            return side, outcomes(test, r.stdout)

        found = {"plain": {}, "mount": {}}
        # They sleep most of the time.
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for side, some in pool.map(lambda job: run(*job),
                                       [(s, t) for t in tests
                                        for s in sides]):
                found[side].update(some)
        judge(found["plain"], found["mount"])


def fsx():
    program = os.environ.get("FSX")
    if not program:
        st.skip("FSX does not name an fsx program")
    seed = random.SystemRandom().getrandbits(31)
    print("seed", seed)
    found = {"plain": {}, "mount": {}}
    with st.Mount(mountpoint=True) as m:
        for side, d in ("plain", m.home.mkdir("plain")), ("mount", m.path):
            for way, args in FSX_WAYS.items():
                logs = m.home.mkdir("fsx-%s-%s" % (side, way))
                r = subprocess.run(
                    [program, "-N", FSX_OPS, "-S", str(seed), "-q",
                     "-P", logs, *args, d + "/" + way],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True,
                    errors="backslashreplace")
                if r.returncode:
                    print("fsx, %s, %s:\n%s" % (way, side, r.stdout[-4000:]))
                found[side]["fsx:" + way] = \
                    "ok" if r.returncode == 0 else "exit %d" % r.returncode
    judge(found["plain"], found["mount"])


if __name__ == "__main__":
    st.main(pjdfstest, fsx)
