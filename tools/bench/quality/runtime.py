"""The interpreter as a judge: calls that really happen while tests run.

Run as a script it is the profiler inside the test process:

    runtime.py OUT ROOT ARGS OF PYTEST...

It notes, for every Python function that a Python function of the repository
calls directly, both code objects and the line of the call. Calls that a C
function makes (sorted's key, map, operators, attribute hooks) are not in the
caller's text and are left out.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading

CO_OPTIMIZED = 1    # clear in class bodies and modules


def judge(repo, sources, arguments):
    """{(caller, callee): site} as the graph names them, and the implicit calls
    as {(caller, callee): "file:line"}."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        r = subprocess.run([sys.executable, os.path.abspath(__file__),
                            out.name, str(repo), *(arguments or ["-q"])],
                           cwd=repo, stdin=subprocess.DEVNULL,
                           env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        seen = json.loads(out.read() or b"[]")
    if not seen:
        sys.exit(f"{repo}: the tests called nothing (pytest exit "
                 f"{r.returncode})")
    return pairs(sources, seen)


def named(source, qualname):
    """A code object's name in the graph: lambdas and comprehensions belong to
    the enclosing symbol."""
    words = []
    for word in qualname.split("."):
        if word == "<locals>":
            continue
        if word.startswith("<"):
            break
        words.append(word)
    return ".".join([source.module] + words)


def pairs(sources, seen):
    """Calls for which there is a call site on their line, by name or by a
    class: not properties, operators, `with`, resumed generators, and not calls
    by a wrapper or of a value passed in, which the text does not show.
    Properties and methods like __enter__ without such a site are the implicit
    ones.
    """
    known = {s.name: s for f in sources.values() for s in f.names.values()}
    sites = {}
    for source in sources.values():
        for site in source.sites:
            sites.setdefault((source.path, site.line), []).append(site)
    found, implied = {}, {}
    for caller_file, caller, line, callee_file, callee in seen:
        if caller_file not in sources or callee_file not in sources:
            continue
        target = named(sources[callee_file], callee)
        symbol = known.get(target)
        last = target.rsplit(".", 1)[-1]
        if not symbol or "<" in callee.rsplit(".", 1)[-1]:
            continue
        if symbol.is_property or form_of(last) != "other":
            by = named(sources[caller_file], caller)
            if by in known and not any(
                    site.token == last
                    for site in sites.get((caller_file, line), [])):
                implied.setdefault((by, target), "%s:%d" % (caller_file,
                                                            line))
        if symbol.is_property:
            continue
        # A call's own line is where its callee or its arguments begin.
        for site in sites.get((caller_file, line), []):
            if site.token == last or last == "__init__" and \
                    site.token == target.split(".")[-2]:
                found.setdefault((site.caller, target), site)
    return found, implied


FORMS = {
    "with": "enter exit aenter aexit",
    "iteration": "iter next aiter anext",
    "subscript": "getitem setitem delitem class_getitem",
    "attribute": "getattr setattr delattr getattribute get set delete",
    "class": "init_subclass set_name new prepare",
    "truth, text": "bool len str repr format hash bytes int float index",
    "operator": """add radd iadd sub rsub isub mul rmul imul matmul truediv
        rtruediv floordiv mod rmod pow and rand iand or ror ior xor lshift
        rshift neg pos invert abs eq ne lt le gt ge contains await""",
}
FORM_OF = {"__%s__" % word: form for form, words in FORMS.items()
           for word in words.split()}


def form_of(name):
    """Which syntax runs a method of that name; "other": properties, what
    decorators return, and __init__."""
    return FORM_OF.get(name, "other")


class Profiler:
    def __init__(self, root):
        self.root = os.path.realpath(root) + "/"
        self.seen, self.files = set(), {}
        self.inside_c = threading.local()

    def file(self, code):
        name = code.co_filename
        if name not in self.files:
            real = os.path.realpath(name)
            self.files[name] = real[len(self.root):] \
                if real.startswith(self.root) else None
        return self.files[name]

    def event(self, frame, what, _arg):
        c = self.inside_c.__dict__.setdefault("frames", [])
        if what == "c_call":
            c.append(frame)
        elif what in ("c_return", "c_exception"):
            if c:
                c.pop()
        elif what == "call":
            self.call(frame, frame.f_back, c)

    def call(self, frame, back, c):
        code = frame.f_code
        if back is None or (c and c[-1] is back) or \
                not code.co_flags & CO_OPTIMIZED:
            return
        callee = self.file(code)
        caller = callee and self.file(back.f_code)
        if caller:
            self.seen.add((caller, back.f_code.co_qualname, back.f_lineno,
                           callee, code.co_qualname))


def main():
    out, root = sys.argv[1:3]
    import pytest
    profiler = Profiler(root)
    sys.path[:0] = [p for p in (root, root + "/src") if os.path.isdir(p)]
    threading.setprofile(profiler.event)
    sys.setprofile(profiler.event)
    try:
        status = pytest.main(["-p", "no:cacheprovider",
                              "--continue-on-collection-errors",
                              *sys.argv[3:]])
    finally:
        sys.setprofile(None)
        with open(out, "w") as f:
            json.dump(sorted(profiler.seen), f)
    sys.exit(int(status))


if __name__ == "__main__":
    main()
