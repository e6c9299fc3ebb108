"""The input of the judges: the symbols of a repository's Python files and its
call sites, by the rules of graph/README.md but read with Python's own parser.
This code was written from the rules, not from the graph's code: a rule misread
on one side shows as a disagreement.
"""

import ast
import os
import re
from dataclasses import dataclass, field

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SOURCE_ROOTS = ("src", "lib")
SKIPPED = {"__pycache__", "node_modules", "build", "dist"}


@dataclass
class Symbol:
    name: str
    is_class: bool
    is_property: bool


@dataclass
class Site:
    """One call, or one decorator application."""
    file: str
    caller: str
    line: int       # of the callee's last token, from 1
    column: int     # of that token, in UTF-16 units, as editors count
    token: str      # "" where the callee has no name: f()(), table[k]()
    shape: str
    text: str       # the line, for people


@dataclass
class Source:
    path: str                                      # relative to the root
    module: str
    names: dict = field(default_factory=dict)      # (line, column) -> Symbol
    headers: dict = field(default_factory=dict)    # line -> decorated names
    sites: list = field(default_factory=list)
    error: str = ""


def module_name(root, path):
    parts = path[:-len(".py")].split("/")
    if len(parts) > 1 and parts[0] in SOURCE_ROOTS and \
            not os.path.exists(os.path.join(root, parts[0], "__init__.py")):
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(parts)


def python_files(root):
    found = []
    for top, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders
                            if f not in SKIPPED and not f.startswith("."))
        found += [os.path.relpath(os.path.join(top, f), root)
                  for f in sorted(files) if f.endswith(".py")]
    return found


def shape_of(callee):
    """The shape of a callee, by which misses are grouped."""
    if isinstance(callee, ast.Name):
        return "f()"
    if not isinstance(callee, ast.Attribute):
        return {ast.Call: "f()()", ast.Subscript: "x[i]()"}.get(
            type(callee), "(expression)()")
    base = callee.value
    if isinstance(base, ast.Name):
        return base.id + ".f()" if base.id in ("self", "cls") else "x.f()"
    if isinstance(base, ast.Attribute):
        inner = base.value
        return "self.x.f()" if isinstance(inner, ast.Name) and \
            inner.id == "self" else "x.y.f()"
    if isinstance(base, ast.Call):
        return "super().f()" if isinstance(base.func, ast.Name) and \
            base.func.id == "super" else "g().f()"
    return {ast.Subscript: "x[i].f()", ast.Constant: "'...'.f()",
            ast.Await: "(await x).f()"}.get(type(base), "(expression).f()")


def is_property(node):
    """True if calling the name's value is not calling this function."""
    for d in getattr(node, "decorator_list", ()):
        words = ast.unparse(d).split("(")[0].split(".")
        if "property" in words[-1] or words[-1] in ("setter", "deleter"):
            return True
    return False


class _Reader(ast.NodeVisitor):
    def __init__(self, source, text):
        self.source, self.lines = source, text.split("\n")
        self.scope = source.module

    def visit_definition(self, node):
        outer, self.scope = self.scope, self.scope + "." + node.name
        first = min([node.lineno] + [d.lineno for d in node.decorator_list])
        symbol = Symbol(self.scope, isinstance(node, ast.ClassDef),
                        is_property(node))
        line = self.lines[node.lineno - 1].encode()
        match = re.compile(rb"(async\s+)?(def|class)\s+").match(
            line, node.col_offset)
        if match:
            self.source.names[node.lineno, utf16(line, match.end())] = symbol
        for n in range(first, node.body[0].lineno):
            self.source.headers.setdefault(n, self.scope)
        for d in node.decorator_list:
            if not isinstance(d, ast.Call):
                self.add_site(d, "@" + ("x.f" if isinstance(
                    d, ast.Attribute) else "f"))
            else:
                self.add_nameless(d.func.end_lineno)
        self.generic_visit(node)
        self.scope = outer

    visit_FunctionDef = visit_AsyncFunctionDef = visit_definition
    visit_ClassDef = visit_definition

    def visit_Call(self, node):
        self.add_site(node.func, shape_of(node.func))
        self.generic_visit(node)

    def add_nameless(self, line):
        """The result of @f() is called; it has no token to ask about."""
        self.source.sites.append(Site(
            self.source.path, self.scope, line, -1, "", "@f()",
            self.lines[line - 1].strip()))

    def add_site(self, callee, shape):
        token = callee.id if isinstance(callee, ast.Name) else \
            callee.attr if isinstance(callee, ast.Attribute) else ""
        line = self.lines[callee.end_lineno - 1]
        column = utf16(line.encode(), callee.end_col_offset -
                       len(token.encode()))
        self.source.sites.append(Site(
            self.source.path, self.scope, callee.end_lineno, column, token,
            shape, line.strip()))


def utf16(line, offset):
    """A byte offset converted to UTF-16 units, as editors count."""
    return len(line[:offset].decode(errors="replace").encode("utf-16-le")) // 2


def read(root, path):
    source = Source(path, module_name(root, path))
    try:
        with open(os.path.join(root, path), "rb") as f:
            raw = f.read()
        # Split lines as ast does: only at line ends, not at form feeds.
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        _Reader(source, text).visit(ast.parse(text))
    except (OSError, SyntaxError, ValueError, RecursionError) as e:
        source.error = str(e) or type(e).__name__
    return source


def read_all(root):
    return {p: read(root, p) for p in python_files(root)}
