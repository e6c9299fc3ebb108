#!/usr/bin/env python3
"""Who wrote the lines of a commit, as other programs read it: real git on a
real mount with a tape that runs. An agent is a shell with an agent's name."""

import hashlib
import json
import os
import re
import shutil
import subprocess

import st
import taped

AUTHOR = "Ann Other <ann@example.com>"
PERSON = "h_" + hashlib.sha256(AUTHOR.encode()).hexdigest()[:14]


class World:
    def __init__(self, home, m, t):
        self.home, self.m, self.t = home, m, t
        self.claude = self.program("claude")

    def program(self, name):
        path = os.path.join(self.home.mkdir("bin"), name)
        if not os.path.exists(path):
            shutil.copy(os.path.realpath("/bin/sh"), path)
        return path

    def run(self, *args, **kw):
        return self.home.run(*args, cwd=self.m.path, **kw)

    def git(self, *args, **kw):
        return subprocess.run(["git", *args], cwd=self.m.path, check=True,
                              capture_output=True, text=True, **kw).stdout

    def person(self, script, **kw):
        subprocess.run(["sh", "-c", script], cwd=self.m.path, check=True,
                       text=True, **kw)
        self.t.sync()

    def agent(self, script):
        subprocess.run([self.claude, "-c", script], cwd=self.m.path, check=True)
        self.t.sync()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "work")
        self.t.sync()

    def note(self, commit="HEAD"):
        return parse(self.git("notes", "--ref=ai", "show", commit))


def parse(text):
    """{path: {author: set of lines}} and the metadata; checks the form."""
    attested, _, meta = text.rpartition("---\n")
    meta, files, lines = json.loads(meta), {}, None
    assert meta["schema_version"] == "authorship/3.0.0", meta
    assert meta["prompts"] == {}, meta
    for line in attested.splitlines():
        if not line.startswith("  "):
            lines = files.setdefault(line.strip('"'), {})
            continue
        key, ranges = line[2:].split(" ")
        if re.fullmatch(r"s_[0-9a-f]{14}::t_[0-9a-f]{14}", key):
            agent = meta["sessions"][key.split("::")[0]]["agent_id"]
            who = agent["tool"]
            assert agent["id"] and agent["model"], agent
        else:
            assert re.fullmatch(r"h_[0-9a-f]{14}", key), key
            assert meta["humans"][key] == {"author": AUTHOR}, meta
            who = key
        for one in ranges.split(","):
            a, _, b = one.partition("-")
            assert not b or int(a) < int(b), one
            lines.setdefault(who, set()).update(
                range(int(a), int(b or a) + 1))
    return files, meta


def with_world(test):
    st.need("git")
    with st.Home() as home:
        repo = home.mkdir("repo")
        for args in (["init", "-q"], ["config", "user.name", "Ann Other"],
                     ["config", "user.email", "ann@example.com"]):
            subprocess.run(["git", *args], cwd=repo, check=True)
        with open(repo + "/old", "w") as f:
            f.write("one\ntwo\nthree\nfour\n")
        subprocess.run("git add -A && git commit -qm first", shell=True,
                       cwd=repo, check=True)
        with (st.Mount(repo, home.mkdir("mounted"), home=home) as m,
              taped.Tape(home, repo) as t):
            t.settle_in()
            test(World(home, m, t))


def lines_are_those_of_who_wrote_them():
    def test(w):
        w.agent("sed -i s/two/TWO/ old")
        w.person("sed -i '1i zero' old")
        w.agent("printf 'a\\nb\\n' > 'new file'")
        w.person("printf 'c\\n' >> 'new file'")
        w.commit()
        r = w.run("notes")
        assert r.returncode == 0 and not r.stderr, r
        assert "agents 3, by people 2, unknown 0" in r.stdout, r
        files, meta = w.note()
        # Lines of `old` that the commit did not add are nobody's.
        assert files == {"old": {"claude": {3}, PERSON: {1}},
                         "new file": {"claude": {1, 2}, PERSON: {3}}}, files
        assert meta["base_commit_sha"] == w.git("rev-parse", "HEAD").strip()
        assert len(meta["sessions"]) >= 1, meta
        # Another program's blame agrees that these lines are the commit's.
        assert w.git("blame", "-s", "old").count("^") == 3

    with_world(test)


def what_nobody_saw_is_nobodys():
    def test(w):
        with open(w.m.repo + "/old", "a") as f:
            f.write("outside\n")
        st.eventually(lambda: any(e["path"] == "old" for e in w.t.sync()),
                      "the change from outside")
        w.agent("echo inside >> old")
        w.commit()
        assert "agents 1, by people 0, unknown 1" in w.run("notes").stdout
        assert w.note()[0] == {"old": {"claude": {6}}}, w.note()

    with_world(test)


def a_part_that_was_committed_keeps_its_authors():
    def test(w):
        w.agent("sed -i '1i zero' old")
        w.person("sed -i '2i half' old")
        w.agent("echo five >> old")
        # Staged: the first line and the last, and one line that was nowhere.
        part = "zero\none\ntwo\nnever\nthree\nfour\nfive\n"
        blob = w.git("hash-object", "-w", "--stdin", input=part).strip()
        w.git("update-index", "--cacheinfo", f"100644,{blob},old")
        w.git("commit", "-qm", "part")
        assert w.run("notes").returncode == 0
        assert w.note()[0] == {"old": {"claude": {1, 7}}}, w.note()

    with_world(test)


def renamed_files_keep_their_authors():
    def test(w):
        w.agent("sed -i s/two/TWO/ old")
        w.person("mkdir d && mv old d/new")
        w.commit()
        assert w.run("notes").returncode == 0
        assert w.note()[0] == {"d/new": {"claude": {2}}}, w.note()

    with_world(test)


def what_git_brought_back_keeps_its_author():
    def test(w):
        w.person("echo five >> old")
        w.agent("git stash -q")
        w.agent("git stash pop -q")
        w.agent("echo six >> old")
        w.commit()
        assert w.run("notes").returncode == 0
        assert w.note()[0] == {"old": {PERSON: {5}, "claude": {6}}}, w.note()
        # From another branch, which the tape never saw being written.
        blob = w.git("hash-object", "-w", "--stdin", input="far\n").strip()
        tree = w.git("mktree", input=f"100644 blob {blob}\tnew\n").strip()
        w.git("branch", "far", w.git("commit-tree", "-m", "x", tree).strip())
        w.agent("git checkout -q far new")
        w.agent("echo near >> new")
        w.person("git apply -", input="--- a/new\n+++ b/new\n@@ -1,2 +1,3 @@\n"
                 " far\n near\n+patched\n")
        w.commit()
        assert w.run("notes").returncode == 0
        assert w.note()[0] == {"new": {"claude": {2}, PERSON: {3}}}, w.note()

    with_world(test)


def of_a_merge_only_the_resolution_counts():
    def test(w):
        w.agent("sed -i s/two/ours/ old && echo five >> old")
        w.commit()
        w.git("checkout", "-qb", "theirs", "HEAD~")
        w.agent("sed -i s/two/theirs/ old && echo new > new")
        w.commit()
        w.git("checkout", "-q", "-")
        subprocess.run(["git", "merge", "-q", "theirs"], cwd=w.m.path,
                       stdout=subprocess.DEVNULL)
        w.person("printf 'one\nours\nboth\nthree\nfour\nfive\n' > old")
        w.commit()
        assert len(w.git("log", "-1", "--format=%P").split()) == 2
        assert w.run("notes").returncode == 0
        assert w.note()[0] == {"old": {PERSON: {3}}}, w.note()

    with_world(test)


def a_file_with_an_agents_name_is_no_agent():
    def test(w):
        w.person("echo one | tee claude > /dev/null; python3 -c "
                 "'open(\"new\", \"w\").write(\"x\\n\")' claude")
        w.commit()
        assert w.run("notes").returncode == 0
        assert w.note()[0] == {"claude": {PERSON: {1}},
                               "new": {PERSON: {1}}}, w.note()

    with_world(test)


def agent_trace_is_json():
    def test(w):
        w.agent("echo five >> old")
        w.person("echo six >> old")
        w.commit()
        r = w.run("notes", "--format", "agent-trace")
        trace = json.loads(r.stdout)
        assert trace["version"] == "0.1.0" and not r.stderr, r
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
                            trace["id"]), trace
        head = w.git("rev-parse", "HEAD").strip()
        assert trace["vcs"] == {"type": "git", "revision": head}, trace
        (file,) = trace["files"]
        assert file["path"] == "old", file
        seen = {c["contributor"]["type"]: c["ranges"]
                for c in file["conversations"]}
        assert seen == {"ai": [{"start_line": 5, "end_line": 5}],
                        "human": [{"start_line": 6, "end_line": 6}]}, seen
        # Nothing was written.
        assert w.git("for-each-ref", "refs/notes") == ""

    with_world(test)


def the_hook_notes_every_commit():
    def test(w):
        env = dict(w.home.env, PATH=os.path.dirname(st.STATETAPE) + ":" +
                   os.environ["PATH"])
        r = w.run("notes", "--hook")
        assert r.returncode == 0 and "post-commit" in r.stdout, r
        w.agent("echo five >> old")
        w.git("commit", "-qam", "work", env=env)
        assert w.note()[0] == {"old": {"claude": {5}}}, w.note()
        again = w.run("notes", "--hook")
        assert again.returncode == 1 and "already" in again.stderr, again

    with_world(test)


def notes_of_others_stay():
    def test(w):
        w.agent("echo five >> old")
        w.commit()
        w.git("notes", "--ref=ai", "add", "-m", "theirs")
        r = w.run("notes")
        assert r.returncode == 1 and "--force" in r.stderr, r
        assert w.git("notes", "--ref=ai", "show").strip() == "theirs"
        assert w.run("notes", "--force").returncode == 0
        assert w.run("notes").returncode == 0, "our own is replaced"
        assert "old" in w.note()[0]

    with_world(test)


def a_range_is_all_its_commits():
    def test(w):
        for n in range(3):
            w.agent(f"echo {n} >> old")
            w.commit()
        assert w.run("notes", "HEAD~2..HEAD").returncode == 0
        assert w.note("HEAD~1")[0] == {"old": {"claude": {6}}}
        assert subprocess.run(["git", "notes", "--ref=ai", "show", "HEAD~2"],
                              cwd=w.m.path, capture_output=True).returncode
        printed = w.run("notes", "--print", "HEAD~2").stdout
        assert parse(printed)[0] == {"old": {"claude": {5}}}, printed

    with_world(test)


def wrong_words_are_named():
    def test(w):
        for args, code, word in ((["nothing"], 1, "no commit 'nothing'"),
                                 (["--upload-pack=x"], 2, "no option"),
                                 (["--format", "xml"], 2, "agent-trace")):
            r = w.run("notes", *args)
            assert r.returncode == code and word in r.stderr, (args, r)

    with_world(test)


def what_run_started_is_an_agents():
    st.need("git")
    with st.Home() as home:
        repo = home.mkdir("repo")
        for args in (["init", "-q"], ["config", "user.name", "Ann Other"],
                     ["config", "user.email", "ann@example.com"]):
            subprocess.run(["git", *args], cwd=repo, check=True)
        tool = os.path.join(home.mkdir("bin"), "mytool")
        shutil.copy(os.path.realpath("/bin/sh"), tool)
        for program, line in ((tool, "agent"), ("sh", "person")):
            r = home.run("run", "--", program, "-c", f"echo {line} >> a",
                         cwd=repo)
            assert r.returncode == 0, r
        subprocess.run("git add -A && git commit -qm a", shell=True, cwd=repo,
                       check=True)
        r = home.run("notes", "--print", cwd=repo)
        assert parse(r.stdout)[0] == {"a": {"mytool": {1}, PERSON: {2}}}, r


if __name__ == "__main__":
    st.main(lines_are_those_of_who_wrote_them,
            what_nobody_saw_is_nobodys,
            a_part_that_was_committed_keeps_its_authors,
            renamed_files_keep_their_authors,
            what_git_brought_back_keeps_its_author,
            of_a_merge_only_the_resolution_counts,
            a_file_with_an_agents_name_is_no_agent,
            agent_trace_is_json,
            the_hook_notes_every_commit,
            notes_of_others_stay,
            a_range_is_all_its_commits,
            wrong_words_are_named,
            what_run_started_is_an_agents)
