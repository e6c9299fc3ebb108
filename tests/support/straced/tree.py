"""
Names and what they lead to, below one directory: the part of the model that
would be a file system if it held bytes.
"""

import os
import stat

NAMELESS = b"#"


class Lost(Exception):
    """The trace shows something the model cannot place."""


class Inode:
    def __init__(self, kind, size=0, target=b""):
        self.kind, self.size, self.target = kind, size, target
        self.children = {} if kind == "dir" else None
        self.names = set()	# (directory, name) pairs that lead here
        self.ever = set()	# every path it has had in this trace
        self.changed = -1	# line of the last call that changed it
        self.unsure = False	# size unknown: a call was cut short

    def paths(self):
        """
        Its names now, relative to the root; of a deleted file the ones it
        had; "#" for a file that never had one.
        """
        found = set()
        for parent, name in self.names:
            if parent is None:
                found.add(b"")
                continue
            for p in parent.paths():
                found.add(p + b"/" + name if p else name)
        self.ever |= found
        return found or set(self.ever) or {NAMELESS}


def snapshot(root):
    """The tree at `root`: (path, kind, size, target, number), parents first."""
    out = []

    def look(path, below):
        for e in sorted(os.scandir(path), key=lambda e: e.name):
            st = e.stat(follow_symlinks=False)
            kind = ("dir" if stat.S_ISDIR(st.st_mode) else
                    "file" if stat.S_ISREG(st.st_mode) else
                    "link" if stat.S_ISLNK(st.st_mode) else "other")
            target = os.readlink(e.path) if kind == "link" else b""
            out.append((below + e.name, kind, st.st_size, target, st.st_ino))
            if kind == "dir":
                look(e.path, below + e.name + b"/")

    look(os.fsencode(root), b"")
    return out


class Tree:
    def __init__(self, root, listing):
        """The tree that snapshot() listed; `root` is its canonical path."""
        self.mountpoint = os.fsencode(root)
        self.root = Inode("dir")
        self.root.names.add((None, b""))
        self._load(listing)

    def below(self, path):
        """Is this absolute path ours?"""
        return path is not None and (
            path == self.mountpoint or path.startswith(self.mountpoint + b"/"))

    def _load(self, listing):
        by_number, dirs = {}, {b"": self.root}
        for path, kind, size, target, number_ in listing:
            inode = by_number.get(number_)
            if inode is None:
                inode = by_number[number_] = Inode(kind, size, target)
            parent, _, name = path.rpartition(b"/")
            self.enter(dirs[parent], name, inode)
            if kind == "dir":
                dirs[path] = inode

    def enter(self, directory, name, inode):
        directory.children[name] = inode
        inode.names.add((directory, name))
        inode.paths()

    def leave(self, directory, name):
        inode = directory.children.pop(name)
        inode.paths()
        inode.names.discard((directory, name))
        return inode

    def differences(self):
        """Where the model's tree is not the real one: the oracle is wrong."""
        real = {t[0]: t for t in snapshot(self.mountpoint)}
        ours = dict(self._all(self.root, b""))
        out, numbers = [], {}
        for path in sorted(real.keys() | ours.keys()):
            where = os.fsdecode(path)
            if path not in ours:
                out.append(f"{where}: exists, not in the model")
                continue
            if path not in real:
                out.append(f"{where}: in the model, does not exist")
                continue
            _, kind, size, target, n = real[path]
            inode = ours[path]
            if (kind, target) != (inode.kind, inode.target):
                out.append(f"{where}: {kind} {target!r}, in the model "
                           f"{inode.kind} {inode.target!r}")
            elif numbers.setdefault(n, inode) is not inode:
                out.append(f"{where}: other links than in the model")
            elif kind == "file" and size != inode.size and not inode.unsure:
                out.append(f"{where}: {size} bytes, "
                           f"in the model {inode.size}")
        return ["oracle: " + x for x in out]

    def _all(self, directory, below):
        for name, inode in directory.children.items():
            yield below + name, inode
            if inode.kind == "dir":
                yield from self._all(inode, below + name + b"/")

    # Names. A place is a directory inode below the root, or, outside of it,
    # an absolute path.

    def _step(self, place, name):
        """One component; None if it is not there (or not known to us)."""
        if name in (b"", b"."):
            return place
        if isinstance(place, Inode):
            if name == b"..":
                for parent, _ in place.names:
                    return parent or os.path.dirname(self.mountpoint)
                return None
            return place.children.get(name) if place.kind == "dir" else None
        path = os.path.normpath(os.path.join(place, name))
        return self.root if path == self.mountpoint else path

    def walk(self, place, path, follow, depth=0):
        """-> (directory, last name, what is there or None)."""
        if depth > 40:
            raise Lost(f"symlink loop at {path!r}")
        if path.startswith(b"/"):
            place = b"/"
        parts = [p for p in path.split(b"/") if p not in (b"", b".")]
        trailing = path.endswith(b"/") or path.endswith(b"/.")
        if not parts:
            return place, b"", place
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            there = self._step(place, part)
            if isinstance(there, Inode) and there.kind == "link" and \
                    (not last or follow or trailing):
                rest = b"/".join([there.target] + parts[i + 1:])
                return self.walk(place, rest, follow, depth + 1)
            if last:
                return place, part, there
            if there is None:
                return None, parts[-1], None
            place = there

    @staticmethod
    def path(slot):
        d, name = slot
        return {p + b"/" + name if p else name for p in d.paths()}
