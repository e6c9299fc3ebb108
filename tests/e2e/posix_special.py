#!/usr/bin/env python3
"""FIFOs, sockets, devices, inode flags, and inotify on the mount."""

import array
import ctypes
import fcntl
import os
import select
import socket
import stat
import struct

import posixcase
from posixcase import Child, checked, facts, libc, opened, put, result


class Nodes(posixcase.Case):
    def test_every_kind_of_node_is_made_as_below(self):
        self.need_root("mknod of devices")

        def act(d):
            out = []
            for i, (kind, dev) in enumerate((
                    (stat.S_IFREG, 0), (stat.S_IFIFO, 0), (stat.S_IFSOCK, 0),
                    (stat.S_IFCHR, os.makedev(1, 3)),
                    (stat.S_IFBLK, os.makedev(259, 1 << 10)),
                    (stat.S_IFCHR, 0), (stat.S_IFDIR, 0))):
                out.append(result(os.mknod, d + "/%d" % i, kind | 0o640, dev))
                out.append(result(facts, d + "/%d" % i))
                out.append(result(os.mknod, d + "/%d" % i, kind, dev))
            return out
        self.alike(act)

    def test_an_ordinary_user_makes_fifos_but_no_devices(self):
        self.need_root()

        def act(d):
            return posixcase.as_user(posixcase.ALICE, lambda: (
                result(os.mknod, d + "/c", stat.S_IFCHR | 0o600,
                       os.makedev(1, 3)),
                result(os.mkfifo, d + "/p"), facts(d + "/p")))
        self.assertEqual(self.alike(act)[:2], ("EPERM", None))

    def test_bytes_go_through_a_fifo(self):
        os.mkfifo(self.mnt + "/p")
        text = os.urandom(300000)

        def writer():
            with opened(self.mnt + "/p", os.O_WRONLY) as fd:
                view = memoryview(text)
                while view:
                    view = view[os.write(fd, view):]

        child = Child(writer)
        with open(self.mnt + "/p", "rb") as f:
            self.assertEqual(f.read(), text)
        child.join()

    def test_a_fifo_keeps_its_rules(self):
        def act(d):
            os.mkfifo(d + "/p")
            alone = result(os.open, d + "/p", os.O_WRONLY | os.O_NONBLOCK)
            with opened(d + "/p", os.O_RDONLY | os.O_NONBLOCK) as r:
                empty = os.read(r, 1)
                with opened(d + "/p", os.O_WRONLY | os.O_NONBLOCK) as w:
                    os.write(w, b"through")
                    os.unlink(d + "/p")
                    return (alone, empty, os.read(r, 99),
                            result(os.read, r, 1), result(os.lseek, r, 0, 0))
        self.assertEqual(self.alike(act), ("ENXIO", b"", b"through",
                                           "EAGAIN", "ESPIPE"))

    def test_a_socket_is_bound_connected_and_removed(self):
        def act(d):
            # The address has room for 108 bytes: go there by descriptor.
            with opened(d, os.O_DIRECTORY) as fd:
                name = "/proc/self/fd/%d/s" % fd
                with socket.socket(socket.AF_UNIX) as server, \
                        socket.socket(socket.AF_UNIX) as client, \
                        socket.socket(socket.AF_UNIX) as late:
                    server.bind(name)
                    refused = result(late.connect, name)
                    server.listen(1)
                    client.connect(name)
                    peer, _ = server.accept()
                    with peer:
                        client.sendall(b"hello")
                        heard = peer.recv(99)
                    status = facts(d + "/s")
                    taken = result(late.bind, name)
                gone = socket.socket(socket.AF_UNIX)
                with gone:
                    after = result(gone.connect, name)
                return (refused, heard, status, taken, after,
                        result(os.open, d + "/s", os.O_RDONLY))
        self.assertEqual(self.alike(act)[1], b"hello")

    def test_a_device_node_works_unless_devices_are_forbidden(self):
        self.need_root("mknod of devices")

        def act(d):
            os.mknod(d + "/zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
            with opened(d + "/zero") as fd:
                return os.read(fd, 4)
        self.assertEqual(self.alike(act), b"\0" * 4)


FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
IMMUTABLE, APPEND_ONLY, NODUMP = 0x10, 0x20, 0x40


def flags(path):
    buf = array.array("L", [0])
    with opened(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
        fcntl.ioctl(fd, FS_IOC_GETFLAGS, buf)
    return buf[0]


def set_flags(path, value):
    with opened(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, array.array("L", [value]))


class InodeFlags(posixcase.Case):
    def setUp(self):
        super().setUp()
        self.need_root("chattr")
        put(self.plain + "/probe")
        if isinstance(result(set_flags, self.plain + "/probe", NODUMP), str):
            self.skipTest("the file system below keeps no inode flags")

    def test_flags_are_read_and_set_as_below(self):
        def act(d):
            put(d + "/f")
            os.mkdir(d + "/dir")
            out = []
            for name in ("/f", "/dir"):
                out.append(result(flags, d + name))
                out.append(result(set_flags, d + name,
                                  flags(d + name) | NODUMP))
                out.append(result(flags, d + name))
            return out
        self.alike(act)

    def test_an_immutable_file_cannot_be_changed(self):
        def act(d):
            put(d + "/f", b"fixed")
            plain = flags(d + "/f")
            set_flags(d + "/f", plain | IMMUTABLE)
            try:
                return (result(os.open, d + "/f", os.O_WRONLY),
                        result(os.unlink, d + "/f"),
                        result(os.rename, d + "/f", d + "/g"),
                        result(os.link, d + "/f", d + "/g"),
                        result(os.chmod, d + "/f", 0o600),
                        result(os.truncate, d + "/f", 0),
                        result(os.setxattr, d + "/f", "user.a", b""),
                        posixcase.get(d + "/f"))
            finally:
                set_flags(d + "/f", plain)
        outcome = self.alike(act)
        self.assertEqual(outcome[1], "EPERM")

    def test_an_append_only_file_only_grows(self):
        def act(d):
            put(d + "/f", b"log.")
            plain = flags(d + "/f")
            set_flags(d + "/f", plain | APPEND_ONLY)
            try:
                out = [result(os.open, d + "/f", os.O_WRONLY),
                       result(os.truncate, d + "/f", 0),
                       result(os.unlink, d + "/f")]
                with opened(d + "/f", os.O_WRONLY | os.O_APPEND) as fd:
                    os.write(fd, b"more")
                return out + [posixcase.get(d + "/f")]
            finally:
                set_flags(d + "/f", plain)
        self.assertEqual(self.alike(act)[3], b"log.more")

    def test_lsattr_and_chattr_work(self):
        self.need("lsattr", "chattr")

        def act(d):
            put(d + "/f")
            code, _ = posixcase.tool("chattr", "+d", d + "/f")
            status, text = posixcase.tool("lsattr", d + "/f")
            return code, status, text.split()[0]
        self.assertEqual(self.alike(act)[0], 0)

    def test_unknown_controls_are_enotty(self):
        def act(d):
            put(d + "/f")
            with opened(d + "/f") as fd:
                return result(fcntl.ioctl, fd, 0x12345678, b"\0" * 8)
        self.alike(act)


EVENTS = {0x1: "access", 0x2: "modify", 0x4: "attrib", 0x8: "close-write",
          0x10: "close", 0x20: "open", 0x40: "from", 0x80: "to",
          0x100: "create", 0x200: "delete", 0x400: "self-deleted",
          0x800: "self-moved"}


class Watching(posixcase.Case):
    def watch(self, path, mask, act):
        """The inotify events of `path` while act() runs."""
        fd = checked(libc.inotify_init1, os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            checked(libc.inotify_add_watch, fd, os.fsencode(path),
                    ctypes.c_uint32(mask))
            act()
            told = []
            while select.select([fd], [], [], 0)[0]:
                told += self.parse(os.read(fd, 65536))
            return told
        finally:
            os.close(fd)

    @staticmethod
    def parse(data):
        while data:
            _, mask, _, length = struct.unpack("iIII", data[:16])
            name = data[16:16 + length].rstrip(b"\0").decode()
            data = data[16 + length:]
            kinds = [word for bit, word in EVENTS.items() if mask & bit]
            yield "+".join(kinds), name

    def test_changes_made_through_the_mount_are_told(self):
        def act(d):
            def change():
                put(d + "/a", b"text")
                os.rename(d + "/a", d + "/b")
                os.link(d + "/b", d + "/c")
                os.chmod(d + "/b", 0o600)
                os.truncate(d + "/b", 1)
                os.unlink(d + "/b")
                os.mkdir(d + "/dir")
                os.rmdir(d + "/dir")
                os.symlink("x", d + "/l")
            return self.watch(d, 0xfff & ~0x31, change)
        told = self.alike(act)
        self.assertIn(("modify", "a"), told)
        self.assertIn(("to", "b"), told)

    def test_a_watched_file_tells_its_end(self):
        def act(d):
            put(d + "/f")
            return self.watch(d + "/f", 0xfff & ~0x31,
                              lambda: (os.rename(d + "/f", d + "/g"),
                                       os.unlink(d + "/g")))
        self.assertIn(("self-moved", ""), self.alike(act))


if __name__ == "__main__":
    posixcase.main()
