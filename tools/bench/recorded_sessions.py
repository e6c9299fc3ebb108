"""
Recorded sessions as scripts for bench_sessions (tools/bench/sessions.c).

The sessions are SWE-bench Verified runs of one harness, each with its calls,
their results and times. What the files held comes from the repositories, at the
commit that the session began with: edits are applied as they were made, and of
shell commands those that can be worked out (git's stash, checkout, restore,
reset; sed -i, rm, mv, cp; here-documents into a file). Where a later read shows
something else, the file is made to read as shown, which counts as a write of
the command before it. A run of Python counts as reading each file that the
session has touched, other commands the files that they name.

The bodies are Claude Code's: its tools' names, one message per call and per
group of parallel results.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SESSIONS = 'piyushhhxyz/vorflux-swe-benchmarks'
COMMIT = '9e2acad'
FOLDER = 'evaluation/verified/20250519_vorflux_opus46-code_gpt55h-review/trajs/'
TASKS = 'SWE-bench/swe-bench-tasks'
TASKS_COMMIT = '3d07b46'

NUMBERED = re.compile(r'^\s*(\d+)→(.*)$')
SHOWN = re.compile(r"sed -n '?(\d+),(\d+)p'? (\S+)$|cat (-n )?(\S+)$")
HERE = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)\n\s*\2\b", re.S)
INTO = re.compile(r"\bcat\s*(>>?)\s*(\S+)\s*$|\bcat\s*$")
PYTHON = re.compile(r'\b(python[\d.]*|pytest|tox|runtests\.py|bin/test)\b')
NAMES = {'bash_execute': 'Bash', 'read_text_file': 'Read', 'edit_file': 'Edit', 'write_file': 'Write',
         'grep_search': 'Grep'}  # fmt: skip


class Missing(Exception):
    """a clone that is not there"""


class Clones:
    """Git directories named owner+name/repo, owner+name or owner/name under one folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.readers = {}

    def path(self, repo):
        for name in (repo.replace('/', '+') + '/repo', repo.replace('/', '+'), repo, repo + '.git'):
            for d in (self.folder / name / '.git', self.folder / name):
                if (d / 'HEAD').exists():
                    return d
        raise Missing(f'no clone of {repo} under {self.folder}')

    def show(self, repo, commit, path):
        """the file's bytes, or None"""
        if repo not in self.readers:
            command = ['git', '--git-dir', str(self.path(repo)), 'cat-file', '--batch']
            self.readers[repo] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        p = self.readers[repo]
        if '\n' in path:
            return None
        p.stdin.write(f'{commit}:{path}\n'.encode('utf-8', 'replace'))
        p.stdin.flush()
        head = p.stdout.readline().split(b' ')
        if len(head) < 3 or not head[2].strip().isdigit():
            return None
        data = p.stdout.read(int(head[2]))
        p.stdout.read(1)
        return data if head[1] == b'blob' else None

    def names(self):
        """the sessions' names"""
        command = ['git', '--git-dir', str(self.path(SESSIONS)), 'ls-tree', '--name-only', COMMIT, FOLDER]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [Path(x).stem for x in out.split('\n') if x.endswith('.json')]

    def session(self, name):
        """the session's data, its repository and first commit"""
        task = self.show(TASKS, TASKS_COMMIT, f'tasks/{name}/task.yaml').decode()
        repo = re.search(r'^\s*repo: (\S+)', task, re.M).group(1)
        base = re.search(r'base_commit: (\w+)', task).group(1)
        return json.loads(self.show(SESSIONS, COMMIT, f'{FOLDER}{name}.json')), repo, base


class Tree:
    """The repository's files while a session changes them; writes them to the script."""

    def __init__(self, script, clones, repo, base):
        self.script, self.clones, self.repo, self.base = script, clones, repo, base
        self.root = '/code/' + repo
        self.now = {}  # path -> text or None
        self.head = {}  # path -> text at the last commit, where that is not the base
        self.stack = []
        self.last = 'sh'  # the newest command
        self.pid = 1000

    def at_base(self, path):
        data = self.clones.show(self.repo, self.base, path)
        if data is None or b'\0' in data:
            return None
        return data.decode('utf-8', 'replace').replace('\r\n', '\n')

    def text(self, path):
        if path not in self.now:
            self.now[path] = self.at_base(path)
            if self.now[path] is not None:
                self.script.put('file', path=path, text=self.now[path])
        return self.now[path]

    def at_head(self, path):
        return self.head[path] if path in self.head else self.at_base(path)

    def write(self, path, text, who=None):
        if self.text(path) == text or (text and '\0' in text):
            return
        self.now[path] = text
        self.script.put('write', path=path, text=text, who=who or f'{self.last}, pid {self.pid}')

    def name(self, path):
        """relative to the root, or None"""
        path = os.path.normpath(os.path.join(self.root, path))
        return path[len(self.root) + 1 :] if path.startswith(self.root + '/') else None

    def move(self, base):
        """another commit is checked out, for the next session of a joined one"""
        self.base, self.head, self.stack, self.last = base, {}, [], 'git checkout'
        self.pid += 1
        for path in list(self.now):
            self.write(path, self.at_base(path))

    def changed(self):
        return [p for p in self.now if self.now[p] != self.at_head(p)]

    # -- What reads show.

    def shown(self, path, first, lines):
        """make the file read so at line `first`"""
        text = self.text(path)
        if not lines or first < 1:
            return
        if text is None:
            if first == 1:
                self.write(path, '\n'.join(lines) + '\n')
            return
        old = text.split('\n')
        at = first - 1
        if old[at : at + len(lines)] == lines:
            return
        same = 0
        while same < len(lines) and at + same < len(old) and old[at + same] == lines[same]:
            same += 1
        end, back = find_end(old, lines, at, same)
        self.write(path, '\n'.join(old[: at + same] + lines[same : len(lines) - back] + old[end:]))

    # -- What commands write.

    def command(self, command):
        self.pid += 1
        bare = HERE.sub(lambda m: f' <<HERE{m.group(3)}\n', command)
        for m in HERE.finditer(command):
            self.here(command[: m.start()].split('\n')[-1], m.group(3), m.group(4))
        for one in re.split(r'\n|;|&&|\|\|?', bare):
            try:
                words = shlex.split(one)
            except ValueError:
                continue
            words = [w for w in words if not re.match(r'\d?>', w)]
            if not words:
                continue
            self.last = ' '.join(words[:2]) if words[0] in ('git', 'sed') else os.path.basename(words[0])
            if words[0] == 'git':
                self.git(words[1:])
            elif words[0] == 'sed' and any(w.startswith('-i') for w in words):
                self.sed(words[1:])
            elif words[0] in ('rm', 'mv', 'cp'):
                self.files(words[0], [w for w in words[1:] if not w.startswith('-')])

    def here(self, before, behind, body):
        m = INTO.search(before)
        n = re.search(r'(>>?)\s*(\S+)', behind)
        if not m or not (m.group(2) or n):
            return
        how, path = (m.group(1), m.group(2)) if m.group(2) else (n.group(1), n.group(2))
        path = self.name(path.strip('\'"'))
        if path:
            self.last = 'cat'
            self.write(path, ((self.text(path) or '') if how == '>>' else '') + body + '\n')

    def files(self, how, names):
        names = [self.name(n) for n in names]
        if how == 'rm':
            for n in names:
                if n and self.text(n) is not None:
                    self.write(n, None)
        elif len(names) == 2 and all(names) and self.text(names[0]) is not None:
            self.write(names[1], self.text(names[0]))
            if how == 'mv':
                self.write(names[0], None)

    def git(self, words):
        rest = [w for w in words[1:] if not w.startswith('-')]
        if words[:1] == ['commit']:
            for p in self.changed():
                self.head[p] = self.now[p]
        elif words[:2] in (['stash', 'pop'], ['stash', 'apply']) and self.stack:
            for p, text in (self.stack.pop() if words[1] == 'pop' else self.stack[-1]).items():
                self.write(p, text)
        elif words[:1] == ['stash'] and words[1:2] in ([], ['push'], ['save'], ['-u'], ['-q']):
            self.stack.append({p: self.now[p] for p in self.changed()})
            for p in self.changed():
                self.write(p, self.at_head(p))
        elif words[:1] == ['checkout'] and not {'-b', '-B'} & set(words) or words[:1] == ['restore']:
            if '--staged' in words:
                return
            paths = [self.name(w) for w in rest]
            for p in self.changed():
                if '.' in rest or p in paths:
                    self.write(p, self.at_head(p))
        elif words[:1] == ['reset'] and '--hard' in words:
            for p in self.changed():
                self.write(p, self.at_head(p))

    def sed(self, words):
        names = [w for w in words if self.name(w) and self.text(self.name(w)) is not None]
        with tempfile.TemporaryDirectory() as d:
            for k, n in enumerate(names):
                Path(d, str(k)).write_text(self.text(self.name(n)), encoding='utf-8')
                words = [str(k) if w == n else w for w in words]
            if any('/' in w and w.startswith(('/', '..')) and os.path.exists(w) for w in words):
                return
            command = ['sed', '--sandbox', *words]
            if not names or subprocess.run(command, cwd=d, capture_output=True, check=False).returncode:
                return
            for k, n in enumerate(names):
                self.write(self.name(n), Path(d, str(k)).read_text(encoding='utf-8'))

    def reads(self, command, at):
        names = {n for w in re.findall(r'[\w./+-]+\.\w+', command) if (n := self.name(w)) and self.text(n) is not None}
        if PYTHON.search(command):
            names |= {p for p, text in self.now.items() if text is not None}
        for n in sorted(names):
            self.script.put('read', path=n, pid=self.pid, at=at)


def find_end(old, lines, at, same):
    """where the old text goes on behind the lines shown: (index, lines of the end that are equal there)"""
    best = (min(at + len(lines), len(old)), 0)
    for end in range(at + same, min(len(old), at + len(lines) + 400) + 1):
        back = 0
        while back < len(lines) - same and end - back > at + same and old[end - back - 1] == lines[-1 - back]:
            back += 1
        if back > best[1]:
            best = (end - back, back)
    return best


class Script:
    """Lines for bench_sessions."""

    def __init__(self, out):
        self.out = out
        self.calls = 0
        self.requests = 0

    def put(self, word, **value):
        text = json.dumps(value, ensure_ascii=False, separators=(',', ':'))
        self.out.write(f'{word} {text}\n'.encode('utf-8', 'replace'))

    def message(self, role, blocks):
        text = json.dumps({'role': role, 'content': blocks}, ensure_ascii=False, separators=(',', ':'))
        self.out.write(f'message {text}\n'.encode('utf-8', 'replace'))


def said(entry):
    o = entry.get('output')
    c = o.get('content') if isinstance(o, dict) else o
    if isinstance(c, list):
        c = '\n'.join(x.get('text', '') for x in c if isinstance(x, dict))
    return c.strip() if isinstance(c, str) else ''


def result(entry):
    r = entry.get('result')
    if isinstance(r, dict) and ('stdout' in r or 'stderr' in r):
        out, err = r.get('stdout') or '', r.get('stderr') or ''
        return out + ('\n' if out and err and not out.endswith('\n') else '') + err
    return r if isinstance(r, str) else json.dumps(r, sort_keys=True)


def arguments(entry):
    """the call's arguments as Claude Code has them"""
    a = dict(entry.get('arguments') or {})
    tool = entry['tool']
    if tool == 'read_text_file' and 'offset' in a:
        a['offset'] += 1
    for old, new in (('filePath', 'file_path'), ('dirPath', 'path'), ('timeout_seconds', 'timeout')):
        if old in a:
            a[new] = a.pop(old)
    return a


def prompt_of(data):
    p = next((t['task_prompt'] for t in data['trajectory'] if t.get('task_prompt')), '')
    if isinstance(p, list):
        p = '\n'.join(str(x.get('content', '')) for x in p if isinstance(x, dict))
    return p or 'Fix the issue.'


class Play:
    """One thread's calls, in the order of time, as messages and requests."""

    def __init__(self, script, tree, seconds, shift=0):
        self.script, self.tree, self.seconds, self.shift = script, tree, seconds, shift
        self.text, self.calls, self.results = '', [], []

    def ns(self, entry):
        """from an arbitrary day, with what shifts a joined session"""
        return int((1800000000 + self.seconds(entry['timestamp']) + self.shift) * 1e9)

    def flush(self):
        """the step's message and its results"""
        if not self.calls and not self.text:
            return
        blocks = [{'type': 'text', 'text': self.text}] if self.text else []
        self.script.message('assistant', blocks + self.calls)
        self.script.message('user', self.results or [{'type': 'text', 'text': 'Go on.'}])
        self.text, self.calls, self.results = '', [], []

    def think(self, entry):
        self.flush()
        self.script.put('request', at=self.ns(entry))
        self.script.requests += 1
        self.text = said(entry)

    def act(self, entry):
        ident = f'toolu_{self.script.calls:06}'
        self.script.calls += 1
        text = result(entry)
        name = NAMES.get(entry['tool'], entry['tool'])
        failed = name in ('Edit', 'Write') and not text.startswith('Success')
        self.apply(entry, name, failed, text)
        self.calls.append({'type': 'tool_use', 'id': ident, 'name': name, 'input': arguments(entry)})
        done = {'tool_use_id': ident, 'type': 'tool_result', 'content': text}
        self.results.append(done | ({'is_error': True} if failed else {}))

    def apply(self, entry, name, failed, text, who='claude, pid 7'):
        """what the call did to the files, and what it shows of them"""
        a = entry.get('arguments') or {}
        path = self.tree.name(a.get('filePath') or '')
        if name == 'Read' and path:
            rows = [NUMBERED.match(x) for x in text.replace('\r\n', '\n').split('\n')]
            rows = [(int(m.group(1)), m.group(2)) for m in rows if m]
            if rows and rows[-1][0] == rows[0][0] + len(rows) - 1:
                self.tree.shown(path, rows[0][0], [x for _, x in rows])
        elif name == 'Edit' and path and not failed:
            old, new = (a.get(k) or '' for k in ('old_string', 'new_string'))
            now = self.tree.text(path) or ''
            self.tree.write(path, now.replace(old, new, -1 if a.get('replace_all') else 1) if old else new, who)
        elif name == 'Write' and path and not failed:
            self.tree.write(path, a.get('content') or '', who)
        elif name == 'Bash':
            self.run(entry, a.get('command') or '', text)

    def run(self, entry, command, text):
        command = re.sub(r'^\s*cd %s/?\s*(&&|;|\n)\s*' % re.escape(self.tree.root), '', command)
        self.tree.command(command)
        self.tree.reads(command, self.ns(entry))
        m = SHOWN.match(command.strip())
        path = m and self.tree.name(m.group(3) or m.group(5))
        lines = text.replace('\r\n', '\n').split('\n')
        if path and not m.group(4) and lines and entry['result'].get('exitCode') == 0:
            if lines[-1] == '':
                lines.pop()
            self.tree.shown(path, int(m.group(1) or 1), lines)


def play(script, clones, threads, session, tree=None, shift=0):
    """one session; `tree`: of the one before, if they are joined. Returns the tree and the time of the end."""
    data, repo, base = session
    if tree:
        tree.move(base)
    else:
        tree = Tree(script, clones, repo, base)
    p = Play(script, tree, threads.seconds, shift)
    script.message('user', [{'type': 'text', 'text': prompt_of(data)}])
    who, _ = threads.assign(data['trajectory'])
    now = 0
    for entry, agent in zip(data['trajectory'], who):
        if agent is None:
            continue
        if agent == 0:
            now = threads.seconds(entry['timestamp'])
        if entry['type'] == 'llm_call' and agent == 0:
            p.think(entry)
        elif entry['type'] == 'tool_call' and agent == 0:
            p.act(entry)
        elif entry['type'] == 'tool_call':
            text = result(entry)
            name = NAMES.get(entry['tool'], entry['tool'])
            p.apply(entry, name, not text.startswith('Success'), text, 'claude, pid 9')
    p.flush()
    return tree, now + shift


def begin(script, name, repo):
    script.put('session', name=name, root='/code/' + repo)


def single(out, clones, threads, names):
    """each session's main thread"""
    for name in names:
        session = clones.session(name)
        script = Script(out)
        begin(script, name, session[1])
        play(script, clones, threads, session)
        out.write(b'end\n')


def joined(out, clones, threads, names, least=200):
    """sessions of one repository one after the other, as one of 200 to 400 requests"""
    groups = {}
    for name in names:
        groups.setdefault(name.split('__')[0], []).append(name)
    for group, members in groups.items():
        script = tree = None
        shift = k = 0
        for name in members:
            session = clones.session(name)
            if not script:
                script, tree, shift, k = Script(out), None, 0, k + 1
                begin(script, f'{group}+{k}', session[1])
            first = threads.seconds(session[0]['trajectory'][0]['timestamp'])
            tree, end = play(script, clones, threads, session, tree, shift - first)
            shift = end + 60
            if script.requests >= least:
                out.write(b'end\n')
                script = None
        if script:
            out.write(b'end\n')


def reader(folder):
    """the module that tells a session's agents apart"""
    if not (Path(folder) / 'threads.py').exists():
        raise Missing(f'no threads.py in {folder}')
    sys.path.insert(0, str(folder))
    import threads  # pylint: disable=import-outside-toplevel,import-error

    return threads
