"""
tools/bench/fs --descriptors: the mount of a tree with more files than the file
system process may have descriptors. The contenders are mounts of one tree with
256, 1024, 4096 and 20,000 descriptors, and with 256 where files may not be opened
by their handles, as for an ordinary user. Each figure is the first walk on a new
mount (the directory below is cached), or the next one. Shown are the medians over
rounds of the ratios to 20,000 descriptors, and to the plain directory.
"""

import statistics
import subprocess

SIZES = (256, 1024, 4096, 20000)
BY_NAMES = "256-by-names"
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
    fs.run(*git, "-c", "gc.auto=0", "commit", "-qm", "all")
    fs.run(*git, "gc", "-q")


def mount_with(fs, size, without=()):
    """Root would raise the limit again: without that capability."""
    lost = ",".join(f"-{cap}" for cap in ("sys_resource", *without))
    few = ["prlimit", f"--nofile={size}:{size}", "setpriv",
           f"--bounding-set={lost}"]
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
    for name in walks(c):
        c.stop()
        c.start()
        # Reads what is below, and git's index is written where need be.
        fs.run("git", "-C", c.below, "status", "--porcelain")
        argv = walks(c)[name]
        for figure in (f"first {name}", name):
            times[figure] = bench.timed(c, *argv, times=1, may_fail=True)
    c.stop()
    return times


def compare(times, c, base):
    return {figure: statistics.median(
        a[figure] / b[figure] for a, b in zip(times[c], times[base]))
        for figure in times[c][0]}


def contenders(fs, work, top):
    mounts = {str(size): mount_with(fs, size) for size in SIZES}
    mounts[BY_NAMES] = mount_with(fs, SIZES[0], ["dac_read_search"])
    return [fs.Contender(name, work, top, command, shared=True)
            for name, command in [("plain", None), *mounts.items()]]


def bench_tree(fs, bench, work, top):
    many = contenders(fs, work, top)
    times = {c.name: [] for c in many}
    try:
        for n in range(bench.args.rounds + 1):
            k = n % len(many)
            for c in many[k:] + many[:k]:
                times[c.name].append(round_of(fs, bench, c))
            if n == 0:  # only to warm up
                for t in times.values():
                    t.clear()
    finally:
        for c in many:
            c.stop()
    return {c: {"to_20000": compare(times, c, str(SIZES[-1])),
                "to_plain": compare(times, c, "plain"),
                "seconds": {f: statistics.median(t[f] for t in times[c])
                            for f in times[c][0]}}
            for c in times}


def show(what, result):
    for c, r in result.items():
        print(f"{what}, {c:>5} descriptors:" if c != "plain"
              else f"{what}, plain directory:", "  ".join(
            f"{figure} {r['to_20000'][figure]:.2f} "
            f"({r['to_plain'][figure]:.1f})" for figure in r["seconds"]),
            flush=True)
    for c in (str(SIZES[0]), BY_NAMES):
        worst = max(result[c]["to_20000"].values())
        print(f"{what}: worst at {c} descriptors {worst:.2f} <= {MOST} "
              f"{'PASS' if worst <= MOST else 'over'}")


def bench(fs, args, work):
    """{tree: {contender: {...}}}"""
    if subprocess.run(["setpriv", "--version"], capture_output=True,
                      check=False).returncode:
        raise SystemExit("setpriv is not installed")
    meter = fs.Meter(args)
    results = {}
    sizes = ["300"] if args.quick else args.files.split(",")
    for what in [args.tree] if args.tree else sizes:
        place = work / str(len(results))
        top = place / "tree"
        place.mkdir()
        if args.tree:
            fs.run("cp", "-a", args.tree, top)
        else:
            make_tree(fs, top, int(what))
            what += " files"
        results[what] = bench_tree(fs, meter, place, top)
        if not args.json:
            show(what, results[what])
    return results
