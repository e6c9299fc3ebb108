#!/usr/bin/env python3
"""
Tests the oracle on traces written by hand. Half of the cases show that it
rejects what is wrong: an oracle that is not tested may accept anything.
"""

import os
import tempfile
import unittest

from straced import trace
from straced.match import Author, Line, Matcher
from straced.model import Model
from straced.tree import Lost

SH = b"sh"


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.root = os.path.realpath(self.dir.name)
        self.addCleanup(self.dir.cleanup)

    def put(self, name, data=b""):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)

    def replay(self, log, start=True):
        """Replay `log`; M stands for the root, calls need no times."""
        text = log.replace("M", self.root).split("\n")
        lines = [ln.strip() for ln in text if ln.strip()]
        if start:
            lines.insert(0, '10 execve("/bin/sh", ["sh"], 0x7f) = 0')
        self.model = Model(self.root)
        return self.model.replay(lines)

    def said(self, log, **kw):
        """Events in short: op, sorted paths, off, len."""
        return [(e.op, *sorted(os.fsdecode(p) for p in e.paths), e.off, e.len)
                for e in self.replay(log, **kw)]

    def lines_for(self, events):
        """A journal that agrees with `events`."""
        shell = Author(10, b"sh", b"sh", None, True)
        out = []
        for n, e in enumerate(events, 1):
            a = shell if e.pid == 10 else Author(
                e.pid, e.comm, b" ".join(e.argv), shell)
            out.append(Line(
                n, e.op, min(e.paths), min(e.paths2) if e.paths2 else None,
                e.off, e.len, 0, e.pid, e.tid, 7, e.detail, a, e.uid))
        return out


class Reading(Case):
    def test_hexadecimal_strings_and_plain_ones_read_the_same(self):
        self.assertEqual(trace.string(r'"\x61\x20\xff"'), b"a \xff")
        self.assertEqual(trace.string(r'"a \377"'), b"a \xff")
        self.assertEqual(trace.string(r'"q\"\n"'), b'q"\n')

    def test_commas_in_strings_and_structs_do_not_split(self):
        self.assertEqual(trace.split('3</a>, "x, y", {a=1, b=[2, 3]}, 0'),
                         ["3</a>", '"x, y"', "{a=1, b=[2, 3]}", "0"])

    def test_numbers_are_hexadecimal_octal_or_decimal(self):
        self.assertEqual(trace.number("0x241"), 0x241)
        self.assertEqual(trace.number("0644"), 0o644)
        self.assertEqual(trace.number("0x1200000|17"), 0x1200011)
        self.assertEqual(trace.number("[4096]"), 4096)
        self.assertEqual(trace.number("-1"), -1)

    def test_a_call_in_two_halves_is_one_call(self):
        log = ['1 write(3</x>, "ab", 2 <unfinished ...>',
               '2 close(4</y>) = 0',
               '1 <... write resumed>) = 2']
        got = [(w, c.name, c.tid) for w, c in trace.parse(log)]
        self.assertEqual(got, [("enter", "write", 1), ("enter", "close", 2),
                               ("exit", "close", 2), ("exit", "write", 1)])

    def test_arguments_known_only_at_the_end_are_put_together(self):
        log = ['1 read(3</x>,  <unfinished ...>',
               '1 <... read resumed>"ab", 10) = 2']
        (_, enter), (_, call) = trace.parse(log)
        self.assertIs(enter, call)
        self.assertEqual(call.args, ["3</x>", '"ab"', "10"])

    def test_errors_and_restarts_are_not_successes(self):
        log = ['1 open("/x", 0) = -1 ENOENT (No such file or directory)',
               '1 read(3</x>, "", 1) = ? ERESTARTSYS (To be restarted)']
        self.assertEqual([c.ok for w, c in trace.parse(log) if w == "exit"],
                         [False, False])

    def test_a_call_that_was_not_begun_is_none(self):
        lines = ["10 ???() = ?", "10 +++ killed by SIGKILL +++"]
        self.assertEqual(list(trace.parse(lines)), [("gone", 10)])

    def test_a_line_that_cannot_be_read_is_an_error(self):
        with self.assertRaises(ValueError):
            list(trace.parse(["nonsense"]))
        with self.assertRaises(ValueError):
            list(trace.parse(["1 <... write resumed>) = 2"]))


class Replaying(Case):
    def test_a_redirect_creates_once_and_truncates_after(self):
        self.assertEqual(self.said('''
            10 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
            10 write(3<M/f>, "a", 1) = 1
            10 close(3<M/f>) = 0
            10 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
            '''), [("create", "f", None, None), ("write", "f", 0, 1),
                   ("truncate", "f", None, 0)])

    def test_append_starts_at_the_size(self):
        self.put("f", b"12345")
        self.assertEqual(self.said('''
            10 openat(-100<M>, "f", 0x441, 0666) = 3<M/f>
            10 write(3<M/f>, "ab", 2) = 2
            10 pwrite64(3<M/f>, "ab", 2, 0) = 2
            '''), [("write", "f", 5, 2), ("write", "f", 7, 2)])

    def test_duplicates_and_children_share_one_offset(self):
        self.assertEqual(self.said('''
            10 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
            10 dup2(3<M/f>, 1) = 1<M/f>
            10 write(1<M/f>, "ab", 2) = 2
            10 clone(child_stack=NULL, flags=0x1200000|17) = 11
            11 write(3<M/f>, "cd", 2) = 2
            11 +++ exited with 0 +++
            10 write(1<M/f>, "ef", 2) = 2
            ''')[1:], [("write", "f", 0, 2), ("write", "f", 2, 2),
                       ("write", "f", 4, 2)])

    def test_a_child_may_speak_before_its_parents_clone_returns(self):
        events = self.replay('''
            10 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
            10 vfork( <unfinished ...>
            11 write(3<M/f>, "cd", 2) = 2
            10 <... vfork resumed>) = 11
            ''')
        self.assertEqual((events[1].pid, events[1].lineage), (11, [11, 10]))

    def test_threads_share_descriptors_and_keep_the_process_id(self):
        events = self.replay('''
            10 clone3({flags=0x3d0f00, exit_signal=0}, 88) = 11
            11 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
            10 write(3<M/f>, "x", 1) = 1
            11 write(3<M/f>, "x", 1) = 1
            ''')
        self.assertEqual([(e.pid, e.tid) for e in events],
                         [(10, 11), (10, 10), (10, 11)])

    def test_exec_closes_what_was_marked_and_names_the_process(self):
        events = self.replay('''
            10 openat(-100<M>, "f", 0x80241, 0666) = 3<M/f>
            10 openat(-100<M>, "g", 0x241, 0666) = 4<M/g>
            10 execve("/bin/cat", ["cat", "-u"], 0x7f /* 3 vars */) = 0
            10 openat(-100<M>, "h", 0x241, 0666) = 3<M/h>
            10 write(4<M/g>, "x", 1) = 1
            ''')
        self.assertEqual([min(e.paths) for e in events],
                         [b"f", b"g", b"h", b"g"])
        self.assertEqual((events[1].comm, events[3].comm, events[3].argv),
                         (b"sh", b"cat", [b"cat", b"-u"]))

    def test_a_process_may_become_another_user(self):
        events = self.replay('''
            10 mkdir("a", 0777) = 0
            10 setresuid(65534, 65534, -1) = 0
            10 mkdir("b", 0777) = 0
            10 setresuid(-1, -1, 0) = 0
            10 mkdir("c", 0777) = 0
            ''')
        self.assertEqual([e.uid for e in events],
                         [os.geteuid(), 65534, 65534])

    def test_paths_follow_chdir_dirfd_dots_and_symlinks(self):
        self.put("d/e/x")
        os.symlink("d/e", os.path.join(self.root, "s"))
        self.assertEqual(self.said('''
            10 chdir("M/d") = 0
            10 mkdir("../a", 0777) = 0
            10 openat(-100<M/d>, "e", 0x10000) = 3<M/d/e>
            10 unlinkat(3<M/d/e>, "../e/./x", 0) = 0
            10 chdir("/") = 0
            10 mkdirat(-100</>, "M/s/y", 0777) = 0
            10 fchdir(3<M/d/e>) = 0
            10 rmdir("y") = 0
            '''), [("mkdir", "a", None, None), ("unlink", "d/e/x", None, None),
                   ("mkdir", "d/e/y", None, None),
                   ("rmdir", "d/e/y", None, None)])

    def test_a_rename_takes_open_files_and_children_along(self):
        self.put("d/f", b"123")
        self.put("old")
        self.assertEqual(self.said('''
            10 openat(-100<M>, "d/f", 0x1) = 3<M/d/f>
            10 rename("d", "e") = 0
            10 write(3<M/e/f>, "x", 1) = 1
            10 rename("e/f", "old") = 0
            10 write(3<M/old>, "x", 1) = 1
            '''), [("rename", "d", None, None), ("write", "e/f", 0, 1),
                   ("rename", "e/f", None, None), ("write", "old", 1, 1)])

    def test_any_name_of_a_hard_link_will_do(self):
        self.put("a")
        self.assertEqual(self.said('''
            10 link("a", "b") = 0
            10 chmod("b", 0600) = 0
            10 rename("a", "b") = 0
            10 unlink("a") = 0
            10 chmod("b", 0644) = 0
            '''), [("link", "a", None, None), ("chmod", "a", "b", None, None),
                   ("unlink", "a", None, None), ("chmod", "b", None, None)])

    def test_exchange_swaps(self):
        self.put("a", b"1")
        self.put("b", b"22")
        self.assertEqual(self.said('''
            10 renameat2(-100<M>, "a", -100<M>, "b", 0x2) = 0
            10 openat(-100<M>, "a", 0x401) = 3<M/a>
            10 write(3<M/a>, "x", 1) = 1
            '''), [("exchange", "a", None, None), ("write", "a", 2, 1)])

    def test_a_deleted_file_keeps_its_last_name(self):
        self.assertEqual(self.said('''
            10 openat(-100<M>, "f", 0x242, 0666) = 3<M/f>
            10 unlink("f") = 0
            10 write(3<M/f>(deleted), "x", 1) = 1
            ''')[-1], ("write", "f", 0, 1))

    def test_an_unnamed_file_gets_a_name_by_linkat(self):
        events = self.replay('''
            10 openat(-100<M>, ".", 0x410002, 0600) = 3<M/#1>(deleted)
            10 linkat(-100<M>, "/proc/self/fd/3", -100<M>, "f", 0x400) = 0
            10 write(3<M/f>, "x", 1) = 1
            ''')
        self.assertEqual([e.op for e in events], ["tmpfile", "link", "write"])
        self.assertEqual(events[1].paths2, {b"f"})
        self.assertEqual(min(events[2].paths), b"f")

    def test_nothing_happens_below_for_these(self):
        self.put("f", b"123")
        omit = "{tv_sec=0, tv_nsec=0x3ffffffe}"
        self.assertEqual(self.said('''
            10 openat(-100<M>, "f", 0x2) = 3<M/f>
            10 write(3<M/f>, "", 0) = 0
            10 write(1<pipe:[5]>, "out", 3) = 3
            10 unlink("gone") = -1 ENOENT (No such file or directory)
            10 unlink("/elsewhere") = 0
            10 utimensat(3<M/f>, NULL, [%s, %s], 0) = 0
            10 rename("f", "./f") = 0
            10 mmap(NULL, 4096, 0x1, 0x2, 3<M/f>, 0) = 0x7f00
            ''' % (omit, omit)), [])
        self.assertEqual(self.model.mapped, [])

    def test_reading_and_seeking_move_the_offset(self):
        self.put("f", b"1234567890")
        self.assertEqual(self.said('''
            10 openat(-100<M>, "f", 0x2) = 3<M/f>
            10 read(3<M/f>, "123", 3) = 3
            10 write(3<M/f>, "x", 1) = 1
            10 lseek(3<M/f>, -1, 0x2) = 9
            10 writev(3<M/f>, [{iov_base="x", iov_len=1}], 1) = 1
            10 pwrite64(3<M/f>, "xy", 2, 100) = 2
            10 write(3<M/f>, "x", 1) = 1
            '''), [("write", "f", 3, 1), ("write", "f", 9, 1),
                   ("write", "f", 100, 2), ("write", "f", 10, 1)])

    def test_copies_inside_the_kernel_are_writes(self):
        self.put("f", b"1234567890")
        self.assertEqual(self.said('''
            10 openat(-100<M>, "f", 0) = 3<M/f>
            10 openat(-100<M>, "g", 0x241, 0600) = 4<M/g>
            10 copy_file_range(3<M/f>, NULL, 4<M/g>, NULL, 100, 0) = 10
            10 sendfile(4<M/g>, 3<M/f>, [0] => [5], 5) = 5
            10 splice(5<pipe:[1]>, NULL, 4<M/g>, NULL, 64, 0) = 7
            ''')[1:], [("copy", "g", 0, 10), ("write", "g", 10, 5),
                       ("write", "g", 15, 7)])

    def test_overlapping_appends_have_no_offset_of_their_own(self):
        self.assertEqual([x[2] for x in self.said('''
            10 openat(-100<M>, "f", 0x441, 0666) = 3<M/f>
            10 clone(child_stack=NULL, flags=0x1200000|17) = 11
            10 write(3<M/f>, "ab", 2 <unfinished ...>
            11 write(3<M/f>, "c", 1) = 1
            10 <... write resumed>) = 2
            10 write(3<M/f>, "d", 1) = 1
            ''')[1:]], [None, None, 3])

    def test_a_number_closed_by_one_thread_is_free_for_another(self):
        self.assertEqual(self.said('''
            10 clone3({flags=0x3d0f00, exit_signal=0}, 88) = 11
            10 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
            10 close(3<M/f> <unfinished ...>
            11 openat(-100<M>, "g", 0x241, 0666) = 3<M/g>
            10 <... close resumed>) = 0
            10 write(3<M/g>, "x", 1) = 1
            ''')[-1], ("write", "g", 0, 1))

    def test_what_a_dying_process_was_at_may_have_happened_or_not(self):
        for end in ("= ?", "<unfinished ...>"):
            events = self.replay('''
                10 openat(-100<M>, "f", 0x441, 0666) = 3<M/f>
                10 clone(child_stack=NULL, flags=0x1200000|17) = 11
                11 write(3<M/f>, "ab", 2%s %s
                11 +++ killed by SIGKILL +++
                ''' % (")" if "?" in end else "", end))
            self.assertEqual([e.maybe for e in events], [False, True])
            lines = self.lines_for(events[:1])
            self.assertEqual(Matcher(self.model, lines, 10).compare(), [])
            lines = self.lines_for(events)
            self.assertEqual(Matcher(self.model, lines, 10).compare(), [])

    def test_a_descriptor_from_nowhere_is_an_error(self):
        self.put("f")
        with self.assertRaises(Lost):
            self.replay('10 write(9<M/f>, "x", 1) = 1')

    def test_a_missed_call_shows_in_the_tree(self):
        self.replay('10 mkdir("d", 0777) = 0')
        self.assertEqual(len(self.model.tree.differences()), 1)
        os.mkdir(os.path.join(self.root, "d"))
        self.assertEqual(self.model.tree.differences(), [])
        self.put("d/f", b"x")
        self.assertEqual(len(self.model.tree.differences()), 1)


LOG = '''
    10 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
    10 write(3<M/f>, "ab", 2) = 2
    10 vfork( <unfinished ...>
    11 execve("/bin/touch", ["touch", "g"], 0x7f <unfinished ...>
    10 <... vfork resumed>) = 11
    11 <... execve resumed>) = 0
    11 openat(-100<M>, "g", 0x941, 0666) = 4<M/g>
    11 fsetxattr(4<M/g>, "user.a", "1", 1, 0) = 0
    11 +++ exited with 0 +++
    10 write(3<M/f>, "cd", 2) = 2
    10 rename("f", "h") = 0
'''


class Comparing(Case):
    def problems(self, change=lambda lines: None, log=LOG):
        events = self.replay(log)
        lines = self.lines_for(events)
        change(lines)
        return Matcher(self.model, lines, root_pid=10).compare()

    def test_a_right_journal_has_no_problems(self):
        self.assertEqual(self.problems(), [])

    def test_each_line_is_missed_when_it_is_taken_out(self):
        for i in range(len(self.replay(LOG))):
            got = self.problems(lambda lines: lines.pop(i))
            self.assertEqual(len(got), 1, got)
            self.assertTrue(got[0].startswith("missing"), got)

    def test_each_call_is_missed_when_strace_did_not_see_it(self):
        whole = self.lines_for(self.replay(LOG))
        for call in ("write(3<M/f>, \"ab\"", "fsetxattr", "rename"):
            log = "\n".join(ln for ln in LOG.split("\n") if call not in ln)
            self.replay(log)
            got = Matcher(self.model, whole, root_pid=10).compare()
            self.assertTrue(any("not seen by strace" in p for p in got), call)

    def test_each_fact_matters(self):
        def alter(i, **facts):
            def change(lines):
                for k, v in facts.items():
                    setattr(lines[i], k, v)
            return change
        stranger = Author(11, b"touch", b"touch g", None)
        for change in (alter(1, off=1), alter(1, len=1), alter(1, len=3),
                       alter(1, path=b"x"), alter(1, pid=99),
                       alter(1, tid=99), alter(1, res=-28),
                       alter(1, uid=12345),
                       alter(1, op="truncate"), alter(3, detail="user.b"),
                       alter(5, path2=b"x"), alter(2, author=None),
                       alter(2, author=stranger),
                       alter(2, author=Author(11, b"sh", b"sh", None))):
            self.assertNotEqual(self.problems(change), [])

    def test_a_line_too_many_is_noticed(self):
        for at in range(7):
            def change(lines):
                a = Author(10, b"sh", b"sh", None, True)
                lines.insert(at, Line(99, "unlink", b"f", None, None, None,
                                      0, 10, 10, 7, None, a))
            got = self.problems(change)
            self.assertEqual(len(got), 1, got)
            self.assertTrue(got[0].startswith("not seen by strace"), got)

    def test_order_within_a_thread_matters(self):
        def swap(lines):
            lines[1], lines[4] = lines[4], lines[1]
        self.assertNotEqual(self.problems(swap), [])

    def test_a_failed_line_is_no_line(self):
        def change(lines):
            lines.insert(0, Line(99, "unlink", b"x", res=-2, pid=10, tid=10))
        self.assertEqual(self.problems(change), [])

    def test_writes_may_be_cut_at_pages_and_nowhere_else(self):
        def cut(at):
            def change(lines):
                x = lines[1]
                lines.insert(2, Line(99, "write", x.path, None, at,
                                     x.len - at, 0, 10, 10, 7, None,
                                     x.author, x.uid))
                x.len = at
            return change
        log = '''
            10 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
            10 write(3<M/f>, "ab"..., 10000) = 10000
            '''
        self.assertEqual(self.problems(cut(8192), log), [])
        self.assertNotEqual(self.problems(cut(8191), log), [])

    def test_two_small_writes_are_not_one_large_one(self):
        log = '''
            10 openat(-100<M>, "f", 0x241, 0666) = 3<M/f>
            10 write(3<M/f>, "ab", 2) = 2
            10 write(3<M/f>, "cd", 2) = 2
            '''

        def merge(lines):
            lines[1].len = 4
            del lines[2]
        self.assertNotEqual(self.problems(merge, log), [])

    def test_appends_must_agree_among_themselves(self):
        log = '''
            10 openat(-100<M>, "f", 0x441, 0666) = 3<M/f>
            10 clone(child_stack=NULL, flags=0x1200000|17) = 11
            10 write(3<M/f>, "ab", 2 <unfinished ...>
            11 write(3<M/f>, "c", 1) = 1
            10 <... write resumed>) = 2
            '''

        def offsets(first, second):
            def change(lines):
                lines[1].off, lines[2].off = first, second
            return change
        self.assertEqual(self.problems(offsets(0, 1), log), [])
        self.assertNotEqual(self.problems(offsets(0, 2), log), [])

    def test_write_back_is_allowed_only_where_somebody_mapped(self):
        log = '''
            10 openat(-100<M>, "f", 0x242, 0666) = 3<M/f>
            10 ftruncate(3<M/f>, 8192) = 0
            10 mmap(NULL, 5000, 0x3, 0x1, 3<M/f>, 0) = 0x7f00
            '''

        def back(path, off, n):
            return lambda lines: lines.append(
                Line(99, "mmap", path, None, off, n))
        self.assertEqual(self.problems(back(b"f", 0, 8192), log), [])
        self.assertNotEqual(self.problems(back(b"g", 0, 4096), log), [])
        self.assertNotEqual(self.problems(back(b"f", 8192, 1), log), [])

    def test_one_release_for_each_open_that_could_write(self):
        def closes(n):
            return lambda lines: lines.extend(
                Line(90 + i, "close", b"f") for i in range(n))
        self.assertEqual(self.problems(closes(1)), [])
        self.assertNotEqual(self.problems(closes(2)), [])

    def test_a_release_told_late_leaves_each_open_its_own(self):
        # `git stash`: two files are renamed to the same name one after the
        # other, and a third uses the lock's name; its release comes last.
        log = '''
            10 openat(-100<M>, "lock", 0x241, 0666) = 3<M/lock>
            10 unlink("lock") = 0
            10 openat(-100<M>, "lock", 0x241, 0666) = 4<M/lock>
            10 rename("lock", "stash") = 0
            10 openat(-100<M>, "stash.lock", 0x241, 0666) = 5<M/stash.lock>
            10 rename("stash.lock", "stash") = 0
            '''

        def closes(*names):
            return lambda lines: lines.extend(
                Line(90 + i, "close", name) for i, name in enumerate(names))
        right = [b"lock", b"stash", b"lock"]
        self.assertEqual(self.problems(closes(*right), log), [])
        self.assertEqual(self.problems(closes(*right[:2]), log), [])
        self.assertNotEqual(self.problems(closes(*right, b"stash"), log), [])
        self.assertNotEqual(self.problems(closes(*right[:2], b"x"), log), [])


if __name__ == "__main__":
    unittest.main()
