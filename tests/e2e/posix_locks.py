#!/usr/bin/env python3
"""Advisory locks: flock, fcntl, and locks of open file descriptions."""

import errno
import fcntl
import os
import signal
import struct
import time

import posixcase
from posixcase import Child, asleep, opened, put, result

F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW = 36, 37, 38


def flock(fd, how):
    return result(fcntl.flock, fd, how | fcntl.LOCK_NB)


def lockf(fd, how, length=0, start=0):
    return result(fcntl.lockf, fd, how | fcntl.LOCK_NB, length, start)


def record(kind, start=0, length=0):
    """struct flock on 64-bit Linux."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


def ofd(fd, kind, start=0, length=0, command=F_OFD_SETLK):
    done = result(fcntl.fcntl, fd, command, record(kind, start, length))
    return done if isinstance(done, str) else None


class Locks(posixcase.Case):
    def setUp(self):
        super().setUp()
        for side in (self.plain, self.mnt):
            put(side + "/f", b"x" * 100)

    def sides(self, act):
        """Like alike(), on a file that is there already."""
        plain, mount = act(self.plain + "/f"), act(self.mnt + "/f")
        self.same(plain, mount)
        return mount

    def test_flock_excludes_and_shares_between_descriptions(self):
        def act(path):
            with opened(path, os.O_RDWR) as a, opened(path) as b:
                out = [flock(a, fcntl.LOCK_EX), flock(b, fcntl.LOCK_SH),
                       flock(b, fcntl.LOCK_EX), flock(a, fcntl.LOCK_SH),
                       flock(b, fcntl.LOCK_SH), flock(a, fcntl.LOCK_EX),
                       flock(b, fcntl.LOCK_UN), flock(a, fcntl.LOCK_EX)]
            with opened(path) as c:
                return out + [flock(c, fcntl.LOCK_EX)]
        self.assertEqual(self.sides(act),
                         [None, "EAGAIN", "EAGAIN", None, None, "EAGAIN",
                          None, None, None])

    def test_flock_belongs_to_the_description_not_the_process(self):
        def act(path):
            with opened(path) as a, opened(path) as b:
                out = [flock(a, fcntl.LOCK_EX)]
                copy = os.dup(a)
                out.append(flock(copy, fcntl.LOCK_EX))
                os.close(copy)
                out.append(flock(b, fcntl.LOCK_SH))
                out.append(Child(flock, a, fcntl.LOCK_UN).join())
                out.append(flock(b, fcntl.LOCK_SH))
                return out
        self.assertEqual(self.sides(act), [None, None, "EAGAIN", None, None])

    def test_fcntl_ranges_conflict_only_where_they_overlap(self):
        def other(path):
            with opened(path, os.O_RDWR) as fd:
                return (lockf(fd, fcntl.LOCK_EX, 10, 0),
                        lockf(fd, fcntl.LOCK_EX, 1, 19),
                        lockf(fd, fcntl.LOCK_EX, 10, 20),
                        lockf(fd, fcntl.LOCK_SH, 1, 15))

        def act(path):
            with opened(path, os.O_RDWR) as fd:
                mine = lockf(fd, fcntl.LOCK_EX, 10, 10)
                return mine, Child(other, path).join()
        self.assertEqual(self.sides(act),
                         (None, (None, "EAGAIN", None, "EAGAIN")))

    def test_getlk_names_the_holder(self):
        def other(path):
            with opened(path, os.O_RDWR) as fd:
                answer = fcntl.fcntl(fd, fcntl.F_GETLK,
                                     record(fcntl.F_WRLCK, 0, 0))
                return struct.unpack("hhqqi4x", answer)

        def act(path):
            with opened(path, os.O_RDWR) as fd:
                lockf(fd, fcntl.LOCK_EX, 7, 5)
                kind, _, start, length, pid = Child(other, path).join()
                return kind, start, length, pid == os.getpid()
        self.assertEqual(self.sides(act), (fcntl.F_WRLCK, 5, 7, True))

    def test_closing_any_descriptor_of_the_file_drops_fcntl_locks(self):
        def other(path):
            with opened(path, os.O_RDWR) as fd:
                return lockf(fd, fcntl.LOCK_EX)

        def act(path):
            with opened(path, os.O_RDWR) as fd:
                out = [lockf(fd, fcntl.LOCK_EX), Child(other, path).join()]
                os.close(os.open(path, os.O_RDONLY))
                return out + [Child(other, path).join()]
        self.assertEqual(self.sides(act), [None, "EAGAIN", None])

    def test_a_waiter_gets_the_lock_when_it_is_released(self):
        for how in ("flock", "lockf", "ofd"):
            with self.subTest(how):
                self.sides(lambda path: self._wait_for(path, how))

    def _wait_for(self, path, how):
        def take(fd, wait):
            if how == "flock":
                fcntl.flock(fd, fcntl.LOCK_EX)
            elif how == "lockf":
                fcntl.lockf(fd, fcntl.LOCK_EX)
            else:
                fcntl.fcntl(fd, F_OFD_SETLKW if wait else F_OFD_SETLK,
                            record(fcntl.F_WRLCK))

        def waiter(held):
            # The fork copied the holder's descriptor: its lock would live
            # as long as the copy.
            os.close(held)
            with opened(path, os.O_RDWR) as fd:
                take(fd, True)
                return os.pread(fd, 1, 0)

        with opened(path, os.O_RDWR) as fd:
            os.pwrite(fd, b"1", 0)
            take(fd, False)
            child = Child(waiter, fd)
            asleep(child.pid)
            # Were the lock not held, the child would read this 1.
            os.pwrite(fd, b"2", 0)
        self.assertEqual(child.join(), b"2")

    def test_a_signal_ends_the_wait(self):
        def waiter(path):
            def on_alarm(number, frame):
                raise InterruptedError(errno.EINTR, "as asked")
            signal.signal(signal.SIGALRM, on_alarm)
            signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
            with opened(path, os.O_RDWR) as fd:
                out = [result(fcntl.flock, fd, fcntl.LOCK_EX),
                       result(fcntl.lockf, fd, fcntl.LOCK_EX)]
                signal.setitimer(signal.ITIMER_REAL, 0)
                return out

        def act(path):
            with opened(path, os.O_RDWR) as fd:
                fcntl.flock(fd, fcntl.LOCK_EX)
                fcntl.lockf(fd, fcntl.LOCK_EX)
                return Child(waiter, path).join()
        self.assertEqual(self.sides(act), ["EINTR", "EINTR"])

    def test_death_releases_every_kind_of_lock(self):
        def holder(path, ready):
            fds = [os.open(path, os.O_RDWR) for _ in range(2)]
            fcntl.flock(fds[0], fcntl.LOCK_EX)
            fcntl.lockf(fds[0], fcntl.LOCK_EX, 10, 0)
            ofd(fds[1], fcntl.F_WRLCK, 50, 10)
            os.write(ready, b"!")
            time.sleep(3600)

        def act(path):
            read, write = os.pipe()
            child = Child(holder, path, write)
            os.read(read, 1)
            os.close(read)
            os.close(write)
            with opened(path, os.O_RDWR) as fd:
                def tries():
                    return (flock(fd, fcntl.LOCK_EX),
                            lockf(fd, fcntl.LOCK_EX, 10, 0),
                            lockf(fd, fcntl.LOCK_EX, 10, 50))
                held = tries()
                child.kill()
                return held, tries()
        self.assertEqual(self.sides(act), (("EAGAIN",) * 3, (None,) * 3))

    def test_description_locks_survive_closing_another_descriptor(self):
        def act(path):
            with opened(path, os.O_RDWR) as a, opened(path, os.O_RDWR) as b:
                out = [ofd(a, fcntl.F_WRLCK, 0, 10),
                       ofd(b, fcntl.F_WRLCK, 5, 1),
                       ofd(b, fcntl.F_WRLCK, 10, 1)]
                os.close(os.open(path, os.O_RDONLY))
                out.append(ofd(b, fcntl.F_RDLCK, 9, 1))
                out.append(ofd(a, fcntl.F_UNLCK, 0, 10))
                out.append(ofd(b, fcntl.F_RDLCK, 9, 1))
                return out
        self.assertEqual(self.sides(act),
                         [None, "EAGAIN", None, "EAGAIN", None, None])

    def test_description_locks_and_process_locks_meet(self):
        def act(path):
            with opened(path, os.O_RDWR) as a, opened(path, os.O_RDWR) as b:
                return (ofd(a, fcntl.F_WRLCK, 0, 10),
                        lockf(b, fcntl.LOCK_EX, 1, 5),
                        lockf(b, fcntl.LOCK_EX, 1, 10))
        self.assertEqual(self.sides(act), (None, "EAGAIN", None))

    def test_a_deadlock_of_process_locks_is_noticed(self):
        def second(path, ready):
            with opened(path, os.O_RDWR) as fd:
                fcntl.lockf(fd, fcntl.LOCK_EX, 1, 1)
                os.write(ready, b"!")
                fcntl.lockf(fd, fcntl.LOCK_EX, 1, 0)
                return "got it"

        def act(path):
            read, write = os.pipe()
            with opened(path, os.O_RDWR) as fd:
                fcntl.lockf(fd, fcntl.LOCK_EX, 1, 0)
                child = Child(second, path, write)
                os.read(read, 1)
                asleep(child.pid)
                mine = result(fcntl.lockf, fd, fcntl.LOCK_EX, 1, 1)
                fcntl.lockf(fd, fcntl.LOCK_UN, 1, 0)
                theirs = child.join()
            os.close(read)
            os.close(write)
            return mine, theirs
        self.assertEqual(self.sides(act), ("EDEADLK", "got it"))

    def test_locks_of_the_wrong_kind_of_descriptor_are_ebadf(self):
        def act(path):
            with opened(path, os.O_RDONLY) as r, \
                    opened(path, os.O_WRONLY) as w:
                return (lockf(r, fcntl.LOCK_EX), lockf(w, fcntl.LOCK_SH),
                        flock(r, fcntl.LOCK_EX))
        self.assertEqual(self.sides(act), ("EBADF", "EBADF", None))

    def test_directories_can_be_flocked(self):
        def act(d):
            with opened(d) as a, opened(d) as b:
                return flock(a, fcntl.LOCK_EX), flock(b, fcntl.LOCK_SH)
        self.assertEqual(self.alike(act), (None, "EAGAIN"))


if __name__ == "__main__":
    posixcase.main()
