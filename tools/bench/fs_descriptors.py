"""
tools/bench/fs --descriptors: the mount of a tree with more files than the file
system process may have descriptors. The contenders are mounts with 256, 1024,
4096 and 20,000 descriptors; each figure is the first walk on a new mount (the
directory below is cached), or one of the next. Shown are the medians over rounds of the
ratios to 20,000 descriptors, and to the plain directory.
"""

import statistics
import subprocess

SIZES = (256, 1024, 4096, 20000)
MOST = 2.0  # times the walk with 20,000 descriptors
PER_DIR = 30


def make_tree(fs, top, files):
    git = ["git", "-C", top]
    for n in range(files):
        d = top / f"part{n // PER_DIR // 20}" / f"{n // PER_DIR}"
        d.mkdir(parents=True, exist_ok=True)
        (d / f"file{n}.txt").write_text(f"line {n}\n" * 20)
    fs.run("git", "init", "-q", "-b", "main", top)
    fs.run(*git, "add", "-A")
    fs.run(*git, "commit", "-qm", "all")
    fs.run(*git, "gc", "-q")


def mount_with(fs, size):
    """Root would raise the limit again: without that capability."""
    few = ["prlimit", f"--nofile={size}:{size}", "setpriv",
           "--bounding-set=-sys_resource"]
    return lambda c: [*few, fs.statetape(), "mount", "--foreground", c.below,
                      c.at]


def walks(c):
    """Name -> command line."""
    return {"find": ["find", c.at, "-printf", "%s %T@ %m\n"],
            "status": ["git", "-C", c.at, "status", "--porcelain"],
            "rg": ["rg", "-c", "no_such_name_anywhere", c.at]}


def round_of(fs, bench, c):
    """{figure: seconds}, each walk on a mount of its own, then once more."""
    times = {}
    for name, argv in walks(c).items():
        c.stop()
        c.start()
        # Reads what is below, and git's index is written where need be.
        fs.run("git", "-C", c.below, "status", "--porcelain")
        argv = walks(c)[name]
        for figure in (f"first {name}", name):
            times[figure] = bench.timed(c, *argv, times=1, may_fail=True)
    return times


def compare(times, c, base):
    return {figure: statistics.median(
        a[figure] / b[figure] for a, b in zip(times[c], times[base]))
        for figure in times[c][0]}


def bench_tree(fs, bench, work, files):
    tree = type("Tree", (), {"top": work / "tree"})
    make_tree(fs, tree.top, files)
    contenders = [fs.Contender("plain", work, tree)] + [
        fs.Contender(str(size), work, tree, mount_with(fs, size))
        for size in SIZES]
    times = {c.name: [] for c in contenders}
    try:
        for n in range(bench.args.rounds + 1):
            k = n % len(contenders)
            for c in contenders[k:] + contenders[:k]:
                times[c.name].append(round_of(fs, bench, c))
            if n == 0:  # only to warm up
                for t in times.values():
                    t.clear()
    finally:
        for c in contenders:
            c.stop()
    return {c: {"to_20000": compare(times, c, str(SIZES[-1])),
                "to_plain": compare(times, c, "plain"),
                "seconds": {f: statistics.median(t[f] for t in times[c])
                            for f in times[c][0]}}
            for c in times}


def show(files, result):
    for c, r in result.items():
        print(f"{files} files, {c:>5} descriptors:", "  ".join(
            f"{figure} {r['to_20000'][figure]:.2f} "
            f"({r['to_plain'][figure]:.1f})" for figure in r["seconds"]),
            flush=True)
    worst = max(result[str(SIZES[0])]["to_20000"].values())
    print(f"{files} files: worst at {SIZES[0]} descriptors "
          f"{worst:.2f} <= {MOST} {'PASS' if worst <= MOST else 'over'}")


def bench(fs, args, work):
    """{files: {contender: {...}}}"""
    if subprocess.run(["setpriv", "--version"], capture_output=True,
                      check=False).returncode:
        raise SystemExit("setpriv is not installed")
    meter = fs.Meter(args)
    results = {}
    for files in (300,) if args.quick else (7000, 20000):
        results[files] = bench_tree(fs, meter, work / str(files), files)
        if not args.json:
            show(files, results[files])
    return results
