#!/usr/bin/env python3
"""Mappings and programs: files as memory."""

import importlib.util
import mmap
import os
import shutil
import signal
import subprocess
import sys

import posixcase
from posixcase import Child, get, opened, put, result

PAGE = mmap.PAGESIZE


class Mappings(posixcase.Case):
    def test_stores_are_seen_by_read_at_once_and_below_after_msync(self):
        put(self.mnt + "/f", b"-" * 3 * PAGE)
        with opened(self.mnt + "/f", os.O_RDWR) as fd, \
                mmap.mmap(fd, 3 * PAGE) as m:
            m[PAGE:PAGE + 5] = b"store"
            self.assertEqual(os.pread(fd, 5, PAGE), b"store")
            m.flush()
            self.assertEqual(get(self.below + "/f")[PAGE:PAGE + 5], b"store")

    def test_stores_are_below_after_unmapping_and_closing(self):
        put(self.mnt + "/f", b"-" * PAGE)
        fd = os.open(self.mnt + "/f", os.O_RDWR)
        m = mmap.mmap(fd, PAGE)
        m[:5] = b"store"
        m.close()
        os.close(fd)
        self.assertEqual(get(self.below + "/f")[:6], b"store-")

    def test_a_store_after_the_descriptor_is_closed_still_arrives(self):
        put(self.mnt + "/f", b"-" * PAGE)
        with opened(self.mnt + "/f", os.O_RDWR) as fd:
            m = mmap.mmap(fd, PAGE)
        m[:5] = b"store"
        m.close()
        self.assertEqual(get(self.mnt + "/f")[:6], b"store-")
        self.assertEqual(get(self.below + "/f")[:6], b"store-")

    def test_writes_are_seen_by_a_mapping_at_once(self):
        def act(d):
            put(d + "/f", b"-" * 2 * PAGE)
            with opened(d + "/f", os.O_RDWR) as fd, \
                    opened(d + "/f", os.O_RDWR) as other, \
                    mmap.mmap(fd, 2 * PAGE) as m:
                first = m[0]
                os.pwrite(other, b"written", PAGE - 3)
                with opened(d + "/f", os.O_WRONLY | os.O_APPEND) as end:
                    os.write(end, b"more")
                return first, m[PAGE - 4:PAGE + 5]
        self.assertEqual(self.alike(act)[1], b"-written-")

    def test_two_processes_share_one_mapping(self):
        put(self.mnt + "/f", b"\0" * PAGE)

        def writer(go):
            with opened(self.mnt + "/f", os.O_RDWR) as fd, \
                    mmap.mmap(fd, PAGE) as m:
                m[100:105] = b"child"
                os.write(go, b"!")
                return m[0:6]

        with opened(self.mnt + "/f", os.O_RDWR) as fd, \
                mmap.mmap(fd, PAGE) as m:
            m[0:6] = b"parent"
            read, write = os.pipe()
            child = Child(writer, write)
            os.read(read, 1)
            self.assertEqual(m[100:105], b"child")
            self.assertEqual(child.join(), b"parent")
            os.close(read)
            os.close(write)

    def test_private_stores_stay_private(self):
        def act(d):
            put(d + "/f", b"-" * PAGE)
            with opened(d + "/f") as fd, \
                    mmap.mmap(fd, PAGE, mmap.MAP_PRIVATE,
                              mmap.PROT_READ | mmap.PROT_WRITE) as m:
                m[:4] = b"mine"
                return m[:5], get(d + "/f")[:5]
        self.assertEqual(self.alike(act), (b"mine-", b"-----"))

    def test_the_page_after_the_end_is_zero_and_is_not_kept(self):
        # Not compared: tmpfs does keep what is stored there.
        path = self.mnt + "/f"
        put(path, b"-" * PAGE)
        with opened(path, os.O_RDWR) as fd, mmap.mmap(fd, PAGE) as m:
            os.ftruncate(fd, 100)
            self.assertEqual(m[100:200], b"\0" * 100)
            m[150:160] = b"A" * 10
            m.flush()
            os.ftruncate(fd, 200)
            self.assertEqual(os.pread(fd, 200, 0), b"-" * 100 + b"\0" * 100)
            self.assertEqual(m[100:200], b"\0" * 100)

    def test_touching_beyond_the_end_is_a_bus_error(self):
        def touch(path):
            with opened(path, os.O_RDWR) as fd:
                m = mmap.mmap(fd, 2 * PAGE)
                os.ftruncate(fd, 10)
                return m[PAGE]

        def act(d):
            put(d + "/f", b"-" * 2 * PAGE)
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGBUS, signal.SIG_DFL)
                touch(d + "/f")
                os._exit(0)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self.assertEqual(self.alike(act), -signal.SIGBUS)

    def test_mappings_the_descriptor_does_not_allow_are_eacces(self):
        def act(d):
            put(d + "/f", b"-" * PAGE)
            with opened(d + "/f") as r, opened(d + "/f", os.O_WRONLY) as w:
                return (result(mmap.mmap, r, PAGE, mmap.MAP_SHARED,
                               mmap.PROT_WRITE),
                        result(mmap.mmap, w, PAGE, mmap.MAP_SHARED,
                               mmap.PROT_READ))
        self.assertEqual(self.alike(act), ("EACCES", "EACCES"))

    def test_a_big_mapping_written_at_random_is_exact_below(self):
        size = 4 << 20
        put(self.mnt + "/f")
        os.truncate(self.mnt + "/f", size)
        want = bytearray(size)
        with opened(self.mnt + "/f", os.O_RDWR) as fd, \
                mmap.mmap(fd, size) as m:
            for i in range(2000):
                at = (i * 2654435761) % (size - 8)
                m[at:at + 8] = want[at:at + 8] = b"%08d" % i
                if i % 500 == 499:
                    m.flush()
        self.assertEqual(get(self.mnt + "/f"), want)
        self.assertEqual(get(self.below + "/f"), want)


class Programs(posixcase.Case):
    def binary(self, d):
        """A copy of a program that sleeps, or echoes, by its name."""
        shutil.copy(shutil.which("sleep"), d + "/sleep")
        return d + "/sleep"

    def test_a_binary_runs_from_the_mount(self):
        shutil.copy(shutil.which("true"), self.mnt + "/true")
        self.assertEqual(subprocess.call([self.mnt + "/true"]), 0)

    def test_a_script_runs_from_the_mount(self):
        put(self.mnt + "/s", b"#!/bin/sh\necho \"script $0 $1\"\n", 0o755)
        out = subprocess.check_output([self.mnt + "/s", "arg"])
        self.assertEqual(out, b"script %s arg\n" %
                         os.fsencode(self.mnt + "/s"))

    def test_a_script_just_written_runs_at_once(self):
        def act(d):
            out = []
            for i in range(30):
                put(d + "/s", b"#!/bin/sh\nexit %d\n" % (i + 1), 0o755)
                out.append(subprocess.call([d + "/s"]))
            return out
        self.assertEqual(self.alike(act), list(range(1, 31)))

    def test_running_needs_the_x_bit(self):
        def act(d):
            put(d + "/s", b"#!/bin/sh\n", 0o644)
            refused = result(subprocess.call, [d + "/s"])
            os.chmod(d + "/s", 0o755)
            return refused, result(subprocess.call, [d + "/s"])
        self.assertEqual(self.alike(act), ("EACCES", 0))

    def test_a_running_program_cannot_be_written_and_vice_versa(self):
        def act(d):
            program = self.binary(d)
            with subprocess.Popen([program, "60"]) as p:
                # Popen returns after the exec.
                write = result(os.open, program, os.O_WRONLY)
                cut = result(os.truncate, program, 0)
                p.kill()
            with opened(program, os.O_WRONLY):
                run = result(subprocess.call, [program, "0"])
            return write, cut, run, result(subprocess.call, [program, "0"])
        self.assertEqual(self.alike(act),
                         ("ETXTBSY", "ETXTBSY", "ETXTBSY", 0))

    def test_a_running_program_can_be_removed_and_replaced(self):
        def act(d):
            program = self.binary(d)
            with subprocess.Popen([program, "60"]) as p:
                os.unlink(program)
                shutil.copy(shutil.which("true"), program)
                new = subprocess.call([program])
                alive = p.poll() is None
                p.kill()
            return new, alive
        self.assertEqual(self.alike(act), (0, True))

    def test_a_shared_library_loads_from_the_mount(self):
        source = importlib.util.find_spec("_ctypes")
        if not source or not source.origin.endswith(".so"):
            self.skipTest("this Python has no extension modules as files")
        shutil.copy(source.origin, self.mnt)
        code = "import sys; sys.path.insert(0, %r); import %s as m; " \
               "print(m.__file__)" % (self.mnt, source.name)
        out = subprocess.check_output([sys.executable, "-c", code], text=True)
        self.assertEqual(os.path.dirname(out.strip()), self.mnt)

    def test_a_set_user_id_program_changes_user_as_below(self):
        self.need_root()

        def act(d):
            shutil.copy(shutil.which("id"), d + "/id")
            os.chown(d + "/id", posixcase.BOB, posixcase.TEAM)
            os.chmod(d + "/id", 0o6755)
            return posixcase.as_user(posixcase.ALICE, posixcase.tool,
                                     d + "/id")
        self.alike(act)


if __name__ == "__main__":
    posixcase.main()
