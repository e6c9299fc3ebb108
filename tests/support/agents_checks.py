"""What must hold for every session of agents.py, with any agent."""

import os

import agents
import fakemodel
import st
from agents import LAST_WORDS, MARK
from recorder import HOP


def results(r):
    """[(call id, the result's text)] in the order of the transcript."""
    out = []
    for m in (r.json.get("messages") or []) if r.dialect != "responses" \
            else []:
        if m.get("role") == "tool":
            out.append((m["tool_call_id"], words(m.get("content"))))
        out += [(b["tool_use_id"], words(b.get("content")))
                for b in fakemodel.blocks(m) if b.get("type") == "tool_result"]
    if r.dialect == "responses":
        out = [(i["call_id"], words(i.get("output")))
               for i in fakemodel.items(r.json)
               if (i.get("type") or "").endswith("_call_output")]
    return out


def words(content):
    if isinstance(content, str):
        return content
    return "".join(p.get("text") or "" for p in content or [])


def behind(r, call):
    """All texts after that call's result, and the result's own."""
    items = r.json.get("messages") or fakemodel.items(r.json)
    parts = []
    for m in items:
        if r.dialect == "responses" or m.get("role") == "tool":
            own = m.get("tool_call_id") or (
                m.get("call_id") if "output" in m else None)
            parts.append((own, words(m.get("output") or m.get("content"))))
            continue
        for b in fakemodel.blocks(m):
            parts.append((b.get("tool_use_id"), words(b.get("content"))
                          if b.get("type") == "tool_result"
                          else b.get("text") or ""))
    for n, (own, text) in enumerate(parts):
        if own == call:
            return text, [t for _, t in parts[n:]]
    raise AssertionError("no result of " + call)


def ours(texts):
    """Our notes in these texts."""
    return [MARK + piece for t in texts for piece in t.split(MARK)[1:]]


def all_notes(r):
    found = []
    for m in r.json.get("messages") or fakemodel.items(r.json):
        if m.get("role") == "assistant":
            continue
        if "output" in m or m.get("role") == "tool":
            found.append(words(m.get("output") or m.get("content")))
            continue
        for b in fakemodel.blocks(m):
            found.append(words(b.get("content")) if b.get("type") ==
                         "tool_result" else b.get("text") or "")
    return ours(found)


# -- one request, as sent and as it arrived -----------------------------------

def is_ours(part):
    return isinstance(part, dict) and \
        str(part.get("text", "")).startswith(MARK)


def same_but_for_ours(sent, got, at=""):
    """Nothing changed but texts that have our mark, and the cache mark that
    moves behind them."""
    if isinstance(sent, dict) and isinstance(got, dict):
        a = {k: v for k, v in sent.items() if k != "cache_control"}
        b = {k: v for k, v in got.items() if k != "cache_control"}
        assert list(a) == list(b), (at, list(a), list(b))
        for k in a:
            same_but_for_ours(a[k], b[k], at + "." + k)
    elif isinstance(sent, list) and isinstance(got, list):
        left = [p for p in got if not is_ours(p)]
        assert len(sent) == len(left), (at, len(sent), len(left))
        for n, (a, b) in enumerate(zip(sent, left)):
            same_but_for_ours(a, b, "%s[%d]" % (at, n))
    elif sent != got:
        assert isinstance(got, str) and MARK in got, (at, sent, got)


def headers(r):
    """All headers but hop-by-hop ones and Accept-Encoding are passed on."""
    return [(n.lower(), v) for n, v in r.headers
            if n.lower() not in HOP | {"accept-encoding"}]


def all_arrived(s):
    """Each request arrived once, its answer is whole, calls have their results,
    and nothing changed but our texts. [(sent, got)]"""
    turns = s.turns()
    for sent, got in turns:
        assert got is not None, "a turn did not arrive"
        assert got.status == 200 and not got.refusal, got.refusal
        assert headers(sent) == headers(got)
        assert fakemodel.marks(sent.json) == fakemodel.marks(got.json)
        assert sent.call_ids() == got.call_ids()
        assert [i for i, _ in results(sent)] == [i for i, _ in results(got)]
        same_but_for_ours(sent.json, got.json)
    return turns


def unchanged(sent, got):
    return sent.body == got.body


# -- a whole session ----------------------------------------------------------

def finished(s):
    assert s.code == 0, s.code
    assert LAST_WORDS in s.out, s.out
    assert len(s.script) <= len(s.model.requests)


def threads(s):
    """The requests that arrived, by conversation, without side requests."""
    found = {}
    for r in s.model.requests:
        if r.dialect and hasattr(r, "files"):
            found.setdefault(r.header(s.agent.sub_mark) or "", []).append(r)
    return found


def told(r, call, name):
    """Is there a note that this call's view of `name` is outdated?"""
    own, after = behind(r, call)
    if MARK in own:
        return True
    return any(name in note for note in ours(after[1:]))


def edited_since(r, call, name, script):
    """Did only edit calls behind this view of `name` change it? They say
    themselves what changed."""
    ops = [op for step in script for op in step]
    if any(op[0] in ("outside", "task") and name in str(op[1:]) for op in ops):
        return False
    calls = [i for i, _ in results(r)]
    return any(op[0] in ("edit", "write") and op[1] == name
               for i in calls[calls.index(call) + 1:]
               for op in ops_of(script, i))


def nothing_stale(s):
    """Every read of a file that changed since has a note, or the call of an
    edit behind it, and no read of a file that did not. Returns how many did."""
    needed = 0
    for sub, requests in threads(s).items():
        script = s.sub if sub else s.script
        born = {}
        for r in requests:
            for call, _ in results(r):
                born.setdefault(call, r.files)
            for call, then in born.items():
                for op in ops_of(script, call):
                    needed += check_one(r, call, op, then, script)
            changed = {n for n in set(r.files) | set(s.before)
                       if any(n in q.files and q.files[n] != s.before.get(n)
                              or n not in q.files for q in requests)}
            for note in all_notes(r):
                if note.startswith(MARK + " This is an automatic note"):
                    continue
                assert any(n in note for n in changed), (changed, note)
    return needed


def ops_of(script, call):
    """The scripted operation that a call belongs to."""
    _, step, n = call.rsplit("_", 2)
    ops = [op for op in script[int(step[1:])] if op[0] != "outside"]
    return ops[int(n):int(n) + 1]


def check_one(r, call, op, then, script):
    if call not in [i for i, _ in results(r)]:
        return 0
    if op[0] == "read" and r.files.get(op[1]) != then.get(op[1]):
        assert told(r, call, op[1]) or \
            edited_since(r, call, op[1], script), \
            "%s is shown as it no longer is, and no word of it" % op[1]
        return 1
    if op[0] == "run" and "unittest" in op[1] and any(
            r.files.get(n) != then.get(n) for n in ("app.py", "helper.py")):
        assert told(r, call, "unittest"), "an old run, and no word of it"
        return 1
    return 0


def parts(r):
    """A transcript as a cache sees it, piece by piece."""
    out = []
    for m in r.json.get("messages") or fakemodel.items(r.json):
        m = fakemodel.bare(m)
        where = "output" if "output" in m else "content"
        inside = m.pop(where, None)
        out.append(m)
        out += [{"type": "text", "text": inside}] \
            if isinstance(inside, str) else inside or []
    return out


def prefix_kept(s):
    """Every request begins with the one before, our texts included: prompt
    caches depend on it. Only behind the last piece may there be more."""
    for requests in threads(s).values():
        for a, b in zip(requests, requests[1:]):
            x, y = parts(a), parts(b)
            assert y[:len(x) - 1] == x[:-1], next(
                (p, q) for p, q in zip(x, y) if p != q)
            last, then = dict(x[-1]), dict(y[len(x) - 1])
            for text in ("text", "content"):
                own = last.pop(text, "")
                assert then.pop(text, "")[:len(own)] == own
            assert last == then, (last, then)


def left(s):
    """The repository as it is now: names, modes, contents."""
    return s.tree(), s.git("status", "--porcelain"), s.git("fsck")


_alone = {}


def left_alone(agent, script):
    """The repository after the agent ran the script without us."""
    key = type(agent), agent.model, str(script)
    if key not in _alone:
        with agents.Session(agent, script) as s:
            s.run_plain()
            finished(s)
            _alone[key] = left(s)
    return _alone[key]


def whole_script(agent, *options, script=agents.SCRIPT):
    """Run a session with `options` and check what must hold for any. Returns
    the session and its turns."""
    with agents.Session(agent, script) as s:
        s.run(*options)
        finished(s)
        turns = all_arrived(s)
        nothing_left(s)
        assert left(s) == left_alone(agent, script)
        return s, turns


def was_told(s, turns):
    """In pinned mode nothing is told before the edit; a sub-agent that edits
    nothing is told nothing."""
    assert nothing_stale(s) > 0
    prefix_kept(s)
    same = [unchanged(*t) for t in turns if not agents.is_aside(t[0])]
    assert same[:3] == [True] * 3, same
    for t in turns:
        if t[0].header(s.agent.sub_mark):
            assert unchanged(*t)


def nothing_left(s):
    """No mount, nothing in the repository, no process in it."""
    assert not st.mounted(s.repo)
    names = os.listdir(s.repo)
    assert not any("statetape" in n for n in names), names
    st.eventually(lambda: not processes(s.home.top), "all processes end")


def processes(top):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                text = f.read()
        except OSError:
            continue
        if os.fsencode(top) in text:
            found.append((pid, text))
    return found
