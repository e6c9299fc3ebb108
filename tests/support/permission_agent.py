"""Tries everything that permission decides on every file of a tree, and prints
the results as JSON: {path: {attempt: "ok", an errno's name, or a value}}.

    python3 permission_agent.py TREE"""

import errno
import json
import os
import subprocess
import sys


def attempt(call, *args, **kw):
    try:
        value = call(*args, **kw)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "ok" if value is None else value


def opened(path, flags, mode=0o644):
    os.close(os.open(path, flags | os.O_CLOEXEC, mode))


def appended(path):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, b"# more\n")
        os.fsync(fd)
    finally:
        os.close(fd)


def run(path):
    return subprocess.run([path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode


def rights(path):
    return "".join(letter for letter, mode in (("r", os.R_OK), ("w", os.W_OK),
                                               ("x", os.X_OK))
                   if os.access(path, mode, effective_ids=True))


def made(path, call, *args):
    """The result of the call, and what the new file became."""
    r = attempt(call, path, *args)
    if r == "ok":
        st = os.lstat(path)
        r += " %o" % st.st_mode
    return r


def try_file(path):
    st = os.lstat(path)
    return {
        "access": rights(path),
        "read": attempt(opened, path, os.O_RDONLY),
        "noatime": attempt(opened, path, os.O_RDONLY | os.O_NOATIME),
        "read-write": attempt(opened, path, os.O_RDWR),
        "run": attempt(run, path),
        "append": attempt(appended, path),
        "touch": attempt(os.utime, path),
        "set times": attempt(os.utime, path, (1, 1)),
        "xattr": attempt(os.setxattr, path, "user.tried", b"1"),
        "get xattr": attempt(lambda: os.getxattr(path, "user.tried")
                             .decode()),
        "change group": attempt(os.chown, path, -1, os.getegid()),
        "link": attempt(os.link, path, path + ".link"),
        "chmod": attempt(os.chmod, path, st.st_mode & 0o7777 | 0o100),
        "chown away": attempt(os.chown, path, os.geteuid() + 1, -1),
        "truncate": attempt(os.truncate, path, 3),
    }


def try_directory(path):
    st = os.lstat(path)
    found = {
        "access": rights(path),
        "list": attempt(lambda: sorted(os.listdir(path))),
        "enter": attempt(os.chdir, path),
        "create": made(path + "/new", opened, os.O_CREAT | os.O_WRONLY, 0o666),
        "mkdir": made(path + "/newdir", os.mkdir),
        "symlink": attempt(lambda: os.symlink("x", path + "/newlink")),
        "fifo": made(path + "/newfifo", os.mkfifo),
        "replace": attempt(os.rename, path + "/new", path + "/inner"),
        "stat inner": attempt(lambda: os.stat(path + "/inner").st_size),
        "open inner": attempt(opened, path + "/inner", os.O_RDONLY),
        "unlink": attempt(os.unlink, path + "/other"),
        "rmdir": attempt(os.rmdir, path + "/empty"),
        "touch": attempt(os.utime, path),
    }
    os.chdir("/")
    found["chmod"] = attempt(os.chmod, path, st.st_mode & 0o7777 ^ 0o001)
    return found


def main(tree):
    os.umask(0o022)
    found = {}
    for name in sorted(os.listdir(tree)):
        path = tree + "/" + name
        found[name] = try_directory(path) if os.path.isdir(path) \
            else try_file(path)
    found["."] = {k: v for k, v in try_directory(tree).items()
                  if k not in ("list", "chmod")}
    json.dump(found, sys.stdout)


main(sys.argv[1])
