#!/usr/bin/env python3
"""The image of tools/container, built and run without an engine: on a
bind-mounted checkout of another user, with the flags that its head names,
without them, and where root may make user namespaces."""

import contextlib
import json
import os
import re
import shutil
import subprocess

import container
import st

ROOM = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../tools/container/")
OWNER = 1000

st.need_root("a container")
st.need("git", "dpkg-deb", "fusermount3")
st.need_fuse()


def make_package(top):
    """A package of the binary under test, in a directory of its own."""
    tree = top + "/tree"
    os.makedirs(tree + "/DEBIAN")
    os.makedirs(tree + "/usr/bin")
    shutil.copy(st.STATETAPE, tree + "/usr/bin/statetape")
    with open(tree + "/DEBIAN/control", "w") as f:
        f.write("Package: statetape\nVersion: 0\nArchitecture: amd64\n"
                "Maintainer: t <t@t>\nDescription: under test\n"
                "Depends: fuse3\n")
    os.mkdir(top + "/context")
    subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", tree,
                    top + "/context/statetape_0_amd64.deb"], check=True,
                   stdout=subprocess.DEVNULL)
    return top + "/context"


def make_checkout(top):
    """A git repository that belongs to an ordinary user."""
    repo = top + "/checkout"
    os.mkdir(repo)
    with open(repo + "/app.py", "w") as f:
        f.write("def f():\n    return 1\n")
    for words in (["init", "-q"], ["add", "."],
                  ["-c", "user.name=t", "-c", "user.email=t@t", "commit",
                   "-qm", "all"]):
        subprocess.run(["git", *words], cwd=repo, check=True)
    for path, dirs, files in os.walk(repo):
        for name in dirs + files:
            os.lchown(path + "/" + name, OWNER, OWNER)
    os.chown(repo, OWNER, OWNER)
    return repo


@contextlib.contextmanager
def image():
    if not st.STATETAPE:
        st.skip("STATETAPE does not name the binary and it is not installed")
    with st.Home() as home:
        with container.Image(ROOM + "Dockerfile",
                             make_package(home.top)) as made:
            made.repo = make_checkout(home.top)
            yield made


def work(made, *options, **kw):
    """Run an agent that uses git and writes; returns the result."""
    r = made.run(["statetape", "run", *options, "--", "sh", "-ec",
                  "grep -c ' /repo .*fuse.statetape' /proc/self/mountinfo || "
                  "true; git status -s; sed -i s/1/2/ app.py; git add app.py; "
                  "echo 'x = 1' > new.py; git status -s; "
                  "grep CapBnd /proc/self/status"],
                 binds={made.repo: "/repo"}, **kw)
    assert r.returncode == 0, r
    lines = r.stdout.splitlines()
    assert lines[1:3] == ["M  app.py", "?? new.py"], r
    # The capabilities of before, not more.
    wanted = made.run(["grep", "CapBnd", "/proc/self/status"],
                      **kw).stdout.rstrip()
    assert lines[3] == wanted, (r, wanted)
    assert os.stat(made.repo + "/new.py").st_uid == 0
    return int(lines[0]) > 0, r.stderr


def restore(made):
    subprocess.run(["git", "-c", "safe.directory=*", "reset", "-q", "--hard"],
                   cwd=made.repo, check=True)
    os.unlink(made.repo + "/new.py")


def flags():
    """The `docker run` flags that the Dockerfile's head names."""
    with open(ROOM + "Dockerfile") as f:
        text = re.sub(r"\\\n# +", "", f.read())
    return re.search(r"docker run (.*) statetape run", text).group(1)


def with_its_flags_it_mounts():
    assert "--device /dev/fuse" in flags() and \
        "--cap-add SYS_ADMIN" in flags(), flags()
    with image() as made:
        kw = dict(fuse=True, caps=(*container.CAPS, "sys_admin"))
        r = made.run(["statetape", "doctor", "/repo"],
                     binds={made.repo: "/repo"}, **kw)
        assert r.returncode == 0, r
        assert "mounts where the agent alone sees it" in \
            " ".join(r.stdout.split()), r
        mounted, said = work(made, **kw)
        assert mounted, said


def without_flags_it_goes_on_without_a_mount():
    with image() as made:
        r = made.run(binds={made.repo: "/repo"})
        assert r.returncode == 1 and "--device /dev/fuse" in \
            " ".join(r.stdout.split()), r
        mounted, said = work(made)
        assert not mounted, said
        assert "is not mounted: changes are found later" in said, said


def with_user_namespaces_the_device_is_enough():
    """As in Podman, whose profile allows them."""
    with image() as made:
        mounted, said = work(made, fuse=True, filtered=False)
        assert mounted and "owner" not in said, said
        restore(made)
        mounted, said = work(made, fuse=True, filtered=False,
                             caps=("setuid", "setgid", "setfcap",
                                   "dac_override", "sys_chroot", "fowner"))
        assert mounted, said


def the_devcontainer_asks_for_the_same():
    with open(ROOM + "devcontainer/devcontainer.json") as f:
        said = json.load(f)
    assert {"--device=/dev/fuse", "--cap-add=SYS_ADMIN"} <= \
        set(said["runArgs"]), said
    with image() as made:
        for path in (ROOM + "devcontainer/devcontainer.json",
                     ROOM + said["build"]["dockerfile"]):
            assert os.path.exists(path), path
        r = made.run(["sh", "-c", said["postCreateCommand"]], fuse=True,
                     caps=(*container.CAPS, "sys_admin"))
        assert r.returncode == 0, r


st.main(
    with_its_flags_it_mounts,
    without_flags_it_goes_on_without_a_mount,
    with_user_namespaces_the_device_is_enough,
    the_devcontainer_asks_for_the_same,
)
