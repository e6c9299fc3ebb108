"""A container without an engine, for tests: a root file system of its own
(an overlay over this machine's), built as a Dockerfile says, and processes in
it with the capabilities and the system call filter that Docker gives them.

    with container.Image(dockerfile, context) as image:
        r = image.run(["statetape", "doctor"], binds={path: "/repo"})

Nothing is downloaded: FROM must name this machine's system, and packages must
be installed on it already."""

import contextlib
import ctypes
import ctypes.util
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import st

CAPS = ("chown", "dac_override", "fowner", "fsetid", "kill", "setgid",
        "setuid", "setpcap", "net_bind_service", "net_raw", "sys_chroot",
        "mknod", "audit_write", "setfcap")
# What Docker's profile forbids whoever does not have CAP_SYS_ADMIN, and what
# it forbids all.
ADMINS = ("mount", "umount2", "unshare", "setns", "fsopen", "fsmount",
          "move_mount", "open_tree", "mount_setattr", "bpf",
          "perf_event_open", "fanotify_init", "quotactl", "sethostname")
NOBODYS = ("io_uring_setup", "io_uring_enter", "io_uring_register",
           "kexec_load", "add_key", "request_key", "keyctl", "userfaultfd",
           "open_by_handle_at", "pivot_root", "swapon", "reboot")
DEVICES = ("null", "zero", "random", "urandom", "tty")
APT_GET = """#!/bin/sh
# Stands in for apt-get without a network: installs the .deb files given, and
# wants all other packages to be there already.
[ "$1" = install ] || exit 0
shift
for name; do
	case $name in
	-*) ;;
	*.deb) dpkg --force-depends -i "$name" >/dev/null || exit ;;
	*) dpkg -s "$name" >/dev/null || exit ;;
	esac
done
"""


def instructions(path):
    """[(word, rest)] of a Dockerfile."""
    with open(path) as f:
        text = re.sub(r"(?m)^#.*\n", "", f.read()).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines()
            if line.strip()]


def need_system(image):
    """Skip unless `image`, such as debian:12-slim, is what runs here."""
    with open("/etc/os-release") as f:
        here = dict(re.findall(r'(?m)^(\w+)="?([^"\n]*)"?$', f.read()))
    name, version = re.match(r"(\w+):([\d.]+)", image).groups()
    if (here.get("ID"), here.get("VERSION_ID")) != (name, version):
        st.skip("this machine does not run " + image)


class Image:
    def __init__(self, dockerfile, context):
        self.steps, self.context = instructions(dockerfile), context
        self.workdir, self.command = "/", []

    def __enter__(self):
        st.need("setpriv", "unshare", "dpkg")
        if not ctypes.util.find_library("seccomp"):
            st.skip("libseccomp is not installed")
        if platform.machine() != "x86_64":
            st.skip("pivot_root has another number here")
        st.own_mounts()
        self.top = tempfile.mkdtemp(prefix="st.image.")
        self.root = self.top + "/root"
        try:
            self._mount()
            for word, rest in self.steps:
                getattr(self, "_" + word.lower())(rest)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        st.detach_below(self.top)
        st.can_run("umount", "-l", "-R", self.root)
        st.can_run("umount", "-l", self.top)
        shutil.rmtree(self.top, ignore_errors=True)

    def _mount(self):
        if not st.can_run("mount", "-t", "tmpfs", "none", self.top):
            st.skip("a tmpfs cannot be mounted here")
        for name in ("root", "upper", "work"):
            os.mkdir(self.top + "/" + name)
        if not st.can_run("mount", "-t", "overlay", "overlay", "-o",
                          "lowerdir=/,upperdir=%s/upper,workdir=%s/work"
                          % (self.top, self.top), self.root):
            st.skip("an overlay cannot be mounted here")
        os.makedirs(self.root + "/usr/local/sbin", exist_ok=True)
        shim = self.root + "/usr/local/sbin/apt-get"
        with open(shim, "w") as f:
            f.write(APT_GET)
        os.chmod(shim, 0o755)
        for name in ("/tmp", "/dev", "/proc", "/run"):
            if not st.can_run("mount", "-t", "tmpfs", "-o", "mode=1777",
                              "none", self.root + name):
                st.skip("a tmpfs cannot be mounted here")
        self._make_devices()

    def _make_devices(self):
        for name in DEVICES:
            s = os.stat("/dev/" + name)
            os.mknod(self.root + "/dev/" + name, 0o020666, s.st_rdev)
            os.chmod(self.root + "/dev/" + name, 0o666)

    # One method per instruction of a Dockerfile.

    def _from(self, rest):
        need_system(rest)

    def _copy(self, rest):
        *sources, to = rest.split()
        for pattern in sources:
            for path in glob.glob(self.context + "/" + pattern):
                shutil.copy(path, self.root + to)

    def _run(self, rest):
        r = subprocess.run(["chroot", self.root, "/bin/sh", "-c", rest],
                           env={"PATH": "/usr/local/sbin:/usr/local/bin:"
                                "/usr/sbin:/usr/bin:/sbin:/bin"},
                           capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=st.DEADLINE)
        assert r.returncode == 0, (rest, r)

    def _workdir(self, rest):
        self.workdir = rest
        os.makedirs(self.root + rest, exist_ok=True)

    def _cmd(self, rest):
        self.command = re.findall(r'"([^"]*)"', rest)

    def run(self, argv=None, binds=(), caps=CAPS, filtered=True, fuse=False):
        """Run the command (default: the image's) as the first process of a
        container: `fuse` is --device /dev/fuse, `filtered` the engine's
        seccomp profile, `binds` {directory: where}."""
        words = [sys.executable, __file__, self.root, self.workdir,
                 "".join("%s=%s;" % b for b in dict(binds).items()),
                 ",".join(caps), "seccomp" * filtered, "fuse" * fuse,
                 *(argv or self.command)]
        return subprocess.run(["unshare", "--mount", "--pid", "--fork",
                               "--propagation", "private", *words],
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                                   "HOME": "/root", "LC_ALL": "C.UTF-8"},
                              capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=st.DEADLINE)


# -- in the new process -----------------------------------------------------

def check(value, what):
    if value < 0:
        raise OSError(what)


def filter_calls(admin):
    """Docker's default profile, as far as a mount meets it."""
    lib = ctypes.CDLL(ctypes.util.find_library("seccomp"))
    lib.seccomp_init.restype = ctypes.c_void_p
    allow, refuse, unknown = 0x7fff0000, 0x00050001, 0x00050026
    context = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(allow)))
    for name in NOBODYS + (() if admin else ADMINS):
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            check(lib.seccomp_rule_add(context, ctypes.c_uint32(refuse),
                                       number, 0), name)
    if not admin:
        number = lib.seccomp_syscall_resolve_name(b"clone3")
        check(lib.seccomp_rule_add(context, ctypes.c_uint32(unknown), number,
                                   0), "clone3")
    # setpriv drops capabilities later, so no_new_privs is not needed, and
    # Docker does not set it.
    lib.seccomp_attr_set(context, 3, 0)
    check(lib.seccomp_load(context), "seccomp_load")


def enter(root, workdir, binds, fuse):
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(*words):
        subprocess.run(["mount", *words], check=True)

    mount("-t", "proc", "proc", root + "/proc")
    with contextlib.suppress(FileNotFoundError):  # of an earlier container
        os.unlink(root + "/dev/fuse")
    if fuse:
        os.mknod(root + "/dev/fuse", 0o020666, os.makedev(10, 229))
        os.chmod(root + "/dev/fuse", 0o666)
    for path, where in binds:
        os.makedirs(root + where, exist_ok=True)
        mount("--bind", path, root + where)
    # Not chroot: in one, no user namespace can be made.
    os.makedirs(root + "/run/old", exist_ok=True)
    os.chdir(root)
    check(libc.syscall(155, b".", b"run/old"), "pivot_root")
    os.chdir("/")
    check(libc.umount2(b"/run/old", 2), "umount2")
    os.chdir(workdir)


def main(root, workdir, binds, caps, seccomp, fuse, *argv):
    enter(root, workdir, [b.split("=") for b in binds.split(";") if b], fuse)
    if seccomp:
        filter_calls("sys_admin" in caps.split(","))
    kept = ",".join(["-all"] + ["+" + c for c in caps.split(",")])
    os.execvp("setpriv", ["setpriv", "--bounding-set=" + kept,
                          "--inh-caps=-all", "--", *argv])


if __name__ == "__main__":
    main(*sys.argv[1:])
