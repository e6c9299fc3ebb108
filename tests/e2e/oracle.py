#!/usr/bin/env python3
"""
The journal against strace: a workload of some hundred processes runs below a
mount under `strace -f`, and the journal must record each successful write-type
call that strace saw, with the same thread, path, offset, length and author, and
nothing else. tests/support/straced/ derives the expected lines.

Every step has its own trace, so that a difference names its step. On one of
them the test then turns on itself: it takes lines out of the journal, alters
them, takes calls out of the trace, and asks that each is noticed.

    oracle.py [--keep DIR] [STEP...]
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import st
from straced import trace
from straced.match import Author, Line, Matcher
from straced.model import Model
from straced.tree import Lost, snapshot

WORK = Path(__file__).resolve().parent.parent / "support/straced/work.py"

SHELL = r"""
echo one > a; echo two >> a; printf 'three\n' >> a
echo again > a
: > empty; : > a
{ echo x; echo y; ls /; } > group 2>&1
(echo sub; (echo subsub; /bin/echo proc)) > sub
cat > here <<'END'
a here document
END
exec 5<>here; echo over >&5; read line <&5; echo after >&5; exec 5>&-
set -C; (echo no > here) 2>/dev/null; echo yes >| here; set +C
echo one | tee t1 t2 | tee -a t3 > t4
seq 1000 | head -50 > head; seq 5000 > seq; sort -rn -o seq seq
yes | head -c 200000 > yes
for i in 1 2 3 4; do (echo $i > bg$i; echo more >> bg$i) & done; wait
mkdir -p d/e/f; cd d/e; echo in > f/deep; cd ..; echo up > ../up; cd ..
cat a group sub > all; cat all >> all2; cat < all > all3
"""

FILES = r"""
mkdir -p fd/x/y/z; touch fd/a fd/b; touch -d @100 fd/a; touch -r fd/a fd/b
touch -c fd/none; touch -h -d @5 fd/a
ln fd/a fd/a2; ln -s a fd/sl; ln -sf b fd/sl; ln -f fd/b fd/a2
chmod 600 fd/a; chmod -R g+w fd/x; chmod u+s,u-s fd/a
chown "$(id -u):$(id -g)" fd/a; chown -h "$(id -u)" fd/sl
setfattr -n user.k -v 1 fd/a && setfattr -x user.k fd/a
truncate -s 5000 fd/t; truncate -s 100 fd/t; truncate -s +7 fd/t
fallocate -l 20000 fd/fa; fallocate -p -o 4096 -l 4096 fd/fa
fallocate -n -l 90000 fd/fa
mkfifo fd/p; (cat fd/p > fd/from-pipe & echo through > fd/p; wait)
dd if=/dev/zero of=fd/dd bs=777 count=5 2>/dev/null
dd if=/dev/zero of=fd/dd bs=333 seek=3 count=2 conv=notrunc 2>/dev/null
dd if=/dev/zero of=fd/dd bs=100 seek=100 count=1 2>/dev/null
dd if=/dev/zero of=fd/dd bs=50 count=3 oflag=append conv=notrunc 2>/dev/null
dd if=/dev/zero of=fd/big bs=1M count=3 2>/dev/null
dd if=/dev/zero of=fd/big bs=100001 seek=1 count=9 conv=notrunc 2>/dev/null
cp fd/big fd/big2; cp --reflink=auto fd/big fd/big3
cp --reflink=always fd/big fd/big4 2>/dev/null
cp --sparse=always fd/big fd/big5; cp -a fd/. fd2; cp -l fd/a fd/al
cp --remove-destination fd/a fd/b; cp -b fd/a fd/b
install -m 644 fd/a fd/inst; install -D fd/a fd/i/j/k
split -b 700000 fd/big fd/part.; cat fd/part.* > fd/joined; rm fd/part.*
mv fd/a fd/x/moved; mv fd/x/moved fd/x/y fd2/; mv -f fd2/moved fd/b
mv fd2 fd/inside; mv fd/inside/y fd/y
rm fd/none 2>/dev/null; rmdir fd/x 2>/dev/null
rm -r fd/inside; rm -f fd/big*; rmdir -p fd/y/z
"""

EDITORS = r"""
seq 200 > doc; seq 200 > doc2
sed -i 's/1/one/' doc; sed -i.orig '5d' doc; sed -i -e '$a end' doc doc2
# Atomic save; then backup by rename; then backup by link.
seq 100 > .doc.tmp; sync .doc.tmp; mv .doc.tmp doc
mv doc doc~; seq 90 > doc; ln doc2 doc2~~; cp doc2 .new; mv .new doc2
if command -v ed >/dev/null; then
	printf '1i\nfirst\n.\n$d\nw\nq\n' | ed -s doc
fi
if command -v vim >/dev/null; then
	vim -u NONE -i NONE -es +'%s/7/seven/' +wq doc
	vim -u NONE -i NONE -n -es +'set backup backupcopy=yes' +'1d' +wq doc
	vim -u NONE -i NONE -es +'set backupcopy=no writebackup' +'1d' +wq doc2
fi
if command -v perl >/dev/null; then
	perl -pi -e 's/2/two/' doc2; perl -i.pl -pe 's/3/three/' doc2
fi
"""

PATCH = r"""
mkdir p; seq 300 > p/f; cp p/f p/g; cp p/f p/orig
sed 's/^50$/fifty/; s/^200$/x/' p/f > p/new
diff -u p/f p/new > p/patch
patch -s p/f < p/patch; patch -s -b p/g < p/patch
patch -s -R p/f < p/patch; patch -s --dry-run p/f < p/patch
printf -- '--- /dev/null\n+++ b/p/made\n@@ -0,0 +1 @@\n+hello\n' | patch -s -p1
echo broken > p/h; patch -s p/h < p/patch
"""

TAR = r"""
mkdir -p t/a/b; for i in 1 2 3 4 5; do seq $i$i$i > t/a/b/$i; done
ln t/a/b/1 t/a/hard; ln -s b/2 t/a/soft; mkfifo t/a/pipe
tar cf t.tar t; mkdir out; tar xf t.tar -C out; tar xf t.tar -C out
tar czf t.tgz t/a; tar xzf t.tgz -C out --overwrite; tar xOf t.tar t/a/b/3 > one
tar rf t.tar one; tar --delete -f t.tar t/a/b/1; rm -rf out t
"""

GIT = r"""
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a
export GIT_COMMITTER_EMAIL=a@b GIT_EDITOR=true
git init -q -b main g && cd g
mkdir -p src/deep; for i in 1 2 3 4 5 6; do seq $i 300 > src/f$i; done
seq 50 > src/deep/x; git add .; git commit -qm one
git checkout -q -b side; seq 40 > src/deep/x; git mv src/f1 src/g1
git commit -qam two; git checkout -q main; seq 99 > src/f2; git commit -qam 3
git merge -q --no-edit side; echo wip >> src/f3; git stash -q
git checkout -q main~1; git checkout -q main; git stash pop -q
git reset -q --hard; git tag v1; git rm -q src/f6; git reset -q --hard HEAD~1
git status >/dev/null; git gc -q --prune=now; git worktree add -q ../wt side
echo z > ../wt/z; git worktree remove --force ../wt; git clean -qfdx
git bundle create -q ../g.bundle HEAD main; git clone -q ../g.bundle ../clone
"""

PARALLEL = r"""
mkdir par; seq 48 | xargs -P 8 -n 1 sh -c '
	echo "start $1" >> par/log; seq $1 50 > par/$1.tmp
	mv par/$1.tmp par/$1; echo "end $1" >> par/log' sh
"""

USER = r"""
mkdir shared; chmod 777 shared
setpriv --reuid 65534 --regid 65534 --clear-groups sh -c '
	echo mine > shared/f; echo more >> shared/f; chmod 600 shared/f
	echo no > not-mine 2>/dev/null; chmod 777 . 2>/dev/null
	mkdir shared/d; mv shared/f shared/d; rm -r shared/d'
"""


def python(*names):
    return [sys.executable, "-I", "-S", str(WORK), *names]


def shell(text):
    return ["sh", "-c", text]


STEPS = {
    "shell": shell(SHELL),
    "files": shell(FILES),
    "editors": shell(EDITORS),
    "patch": shell(PATCH),
    "tar": shell(TAR),
    "git": shell(GIT),
    "parallel": shell(PARALLEL),
    "user": shell(USER),
    "python": python("buffered", "positioned", "appends", "shared_offset",
                     "atomic_saves"),
    "names": python("unnamed", "deleted", "renamed", "exchanged",
                    "directories", "odd_names", "sockets"),
    "attributes": python("attributes"),
    "kernel": python("in_kernel", "large"),
    "mapped": python("mapped", "database"),
    "threads": python("threads"),
    "failing": python("failing"),
    "killed": python("killed"),
}


def unescaped(text, escaped):
    """Bytes of a path in the journal's JSON."""
    if not escaped:
        return text.encode()
    return trace.unescape(text)


def author(j):
    if j is None:
        return None
    up = None
    for a in reversed([j] + j.get("ancestors", [])):
        up = Author(a["pid"], os.fsencode(a["comm"]),
                    os.fsencode(a["cmdline"]), up)
    return up


def line(j):
    """A line of `statetape journal --json` as match.py wants it."""
    def path(key):
        text = j.get(key)
        if text is None:
            return None
        p = unescaped(text, j.get(key + "_escaped"))
        if key == "path2" and j["op"] == "symlink":
            return p
        return b"" if p == b"." else b"#" if p[:1] == b"#" and \
            p[1:].isdigit() else p
    return Line(j["n"], j["op"], path("path") or b"", path("path2"),
                j.get("off"), j.get("len"), j.get("res", 0), j.get("pid", 0),
                j.get("tid", 0), j.get("ino", 0), j.get("detail"),
                author(j.get("author")), j.get("uid"))


class Step:
    """One traced run: what strace saw, what the journal says."""

    def __init__(self, name, mount, keep):
        self.name, self.mount = name, mount
        self.log = keep / f"{name}.strace"
        self.out = keep / f"{name}.out"
        self.before = snapshot(mount.path)
        self.model = Model(mount.path, self.before)
        self.since = mount.head()

    def run(self, argv):
        env = dict(self.mount.home.env, LC_ALL="C",
                   TMPDIR=self.mount.home.mkdir("tmp"))
        with open(self.out, "wb") as out:
            self.proc = subprocess.Popen(
                trace.command(self.log, argv), cwd=self.mount.path, env=env,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            self.proc.wait(st.DEADLINE)
        self.trace = self.log.read_text(errors="surrogateescape").split("\n")
        self.trace = [ln for ln in self.trace if ln]
        self.model.replay(self.trace)

    def read_journal(self):
        """
        Releases reach the file system after the close that caused them has
        returned, so their lines may still be on the way.
        """
        def whole():
            self.lines = [line(j) for j in self.mount.journal(self.since)
                          if "gone" not in j]
            m = Matcher(self.model, self.lines)
            m.compare()
            return not m.unreleased
        try:
            st.eventually(whole, "all releases", deadline=5)
        except AssertionError:
            pass

    def compared(self):
        m = Matcher(self.model, self.lines, root_pid=os.getpid())
        m.compare()
        for text in self.out.read_text(errors="replace").split("\n"):
            word = text.split()
            if word[:1] == ["dirtied"]:
                m.dirtied(os.fsencode(word[1]), int(word[2]), int(word[3]))
        for of in m.unreleased:
            m.problems.append(f"never released: {sorted(of.inode.ever)}")
        return m

    def problems(self):
        """What is wrong: with the journal, the oracle, or the workload."""
        out = self.out.read_text(errors="replace").split("\n")
        return (self.compared().problems + self.model.tree.differences() +
                ["workload: " + text for text in out
                 if "did not fail" in text or "Traceback" in text])


def changes(lines):
    """Lines that a call of some thread must account for."""
    return [x for x in lines if x.res >= 0 and x.op not in
            ("session", "actor", "gap", "mmap", "close")]


def turn_on_itself(step, rng):
    """Take things out and put things in; each must be noticed."""
    sound = list(step.lines)

    def noticed(lines, what):
        step.lines = lines
        assert step.compared().problems, f"nobody minded {what}"

    for victim in rng.sample(changes(sound), 25):
        at = sound.index(victim)
        noticed(sound[:at] + sound[at + 1:], f"that {victim} is gone")
        noticed(sound[:at] + [victim] + sound[at:], f"{victim} twice")
        for fact, wrong in (("pid", 1), ("tid", 1), ("uid", 4711),
                            ("path", b"no/where"), ("path2", b"no/where"),
                            ("off", 1 << 40), ("len", 1 << 40),
                            ("res", -5), ("author", None)):
            right = getattr(victim, fact)
            if right is not None:
                setattr(victim, fact, wrong)
                noticed(sound, f"{fact} of {victim}")
                setattr(victim, fact, right)
    step.lines = sound
    blind_to_calls(step, rng)
    assert not step.compared().problems


def blind_to_calls(step, rng):
    """A call strace did not see leaves a line without its cause."""
    whole = [e for e in step.model.events if e.call.begin == e.call.end]
    model = step.model
    for e in rng.sample(whole, 25):
        at = e.call.begin
        step.model = Model(step.mount.path, step.before)
        try:
            step.model.replay(step.trace[:at] + step.trace[at + 1:])
        except (Lost, KeyError):
            continue	# noticed even before the comparison
        assert step.compared().problems, f"nobody missed {e.call}"
    step.model = model


def report(step):
    m = step.model
    problems = step.problems()
    print(f"{step.name}: {m.processes} processes, {m.calls} calls, "
          f"{len(m.events)} changes, {len(step.lines)} lines, "
          f"{len(problems)} differences")
    for text in problems[:20]:
        print("  " + text)
    return len(problems)


def run(args, keep):
    rng = random.Random(args.seed)
    bad = processes = events = 0
    with st.Mount() as m:
        for name in args.steps or STEPS:
            if name == "user" and not (st.is_root() and st.which("setpriv")):
                print("user: left out, needs root and setpriv")
                continue
            step = Step(name, m, keep)
            step.run(STEPS[name])
            step.read_journal()
            wrong = report(step)
            if name == "files" and not wrong:
                turn_on_itself(step, rng)
                print("  and each alteration of it was noticed")
            bad += wrong
            processes += step.model.processes
            events += len(step.model.events)
    print(f"{processes} processes, {events} changes, {bad} differences")
    return 1 if bad else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--keep", help="keep traces and outputs in this directory")
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("steps", nargs="*", choices=[[], *STEPS])
    args = p.parse_args()
    print("seed", args.seed)
    why = trace.unavailable()
    if why:
        st.skip(why)
    with tempfile.TemporaryDirectory(prefix="oracle.") as scratch:
        keep = Path(args.keep or scratch)
        keep.mkdir(parents=True, exist_ok=True)
        sys.exit(run(args, keep))


if __name__ == "__main__":
    main()
