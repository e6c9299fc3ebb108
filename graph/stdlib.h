/*
 * Top-level modules of Python's own library. An import of one of these means
 * it, unless the repository has a module of that name at its root; only other
 * names are looked for beside and above the file that imports them.
 */
#ifndef STATETAPE_GRAPH_STDLIB_H
#define STATETAPE_GRAPH_STDLIB_H

#define STDLIB(W) \
	W("__future__") W("abc") W("aifc") W("antigravity") W("argparse") \
	W("array") W("ast") W("asynchat") W("asyncio") W("asyncore") \
	W("atexit") W("audioop") W("base64") W("bdb") W("binascii") \
	W("bisect") W("builtins") W("bz2") W("cProfile") W("calendar") \
	W("cgi") W("cgitb") W("chunk") W("cmath") W("cmd") W("code") \
	W("codecs") W("codeop") W("collections") W("colorsys") \
	W("compileall") W("concurrent") W("configparser") W("contextlib") \
	W("contextvars") W("copy") W("copyreg") W("crypt") W("csv") \
	W("ctypes") W("curses") W("dataclasses") W("datetime") W("dbm") \
	W("decimal") W("difflib") W("dis") W("distutils") W("doctest") \
	W("email") W("encodings") W("ensurepip") W("enum") W("errno") \
	W("faulthandler") W("fcntl") W("filecmp") W("fileinput") \
	W("fnmatch") W("fractions") W("ftplib") W("functools") W("gc") \
	W("genericpath") W("getopt") W("getpass") W("gettext") W("glob") \
	W("graphlib") W("grp") W("gzip") W("hashlib") W("heapq") W("hmac") \
	W("html") W("http") W("idlelib") W("imaplib") W("imghdr") W("imp") \
	W("importlib") W("inspect") W("io") W("ipaddress") W("itertools") \
	W("json") W("keyword") W("lib2to3") W("linecache") W("locale") \
	W("logging") W("lzma") W("mailbox") W("mailcap") W("marshal") \
	W("math") W("mimetypes") W("mmap") W("modulefinder") W("msilib") \
	W("msvcrt") W("multiprocessing") W("netrc") W("nis") W("nntplib") \
	W("nt") W("ntpath") W("nturl2path") W("numbers") W("opcode") \
	W("operator") W("optparse") W("os") W("ossaudiodev") W("pathlib") \
	W("pdb") W("pickle") W("pickletools") W("pipes") W("pkgutil") \
	W("platform") W("plistlib") W("poplib") W("posix") W("posixpath") \
	W("pprint") W("profile") W("pstats") W("pty") W("pwd") \
	W("py_compile") W("pyclbr") W("pydoc") W("pydoc_data") W("pyexpat") \
	W("queue") W("quopri") W("random") W("re") W("readline") \
	W("reprlib") W("resource") W("rlcompleter") W("runpy") W("sched") \
	W("secrets") W("select") W("selectors") W("shelve") W("shlex") \
	W("shutil") W("signal") W("site") W("smtpd") W("smtplib") \
	W("sndhdr") W("socket") W("socketserver") W("spwd") W("sqlite3") \
	W("sre_compile") W("sre_constants") W("sre_parse") W("ssl") \
	W("stat") W("statistics") W("string") W("stringprep") W("struct") \
	W("subprocess") W("sunau") W("symtable") W("sys") W("sysconfig") \
	W("syslog") W("tabnanny") W("tarfile") W("telnetlib") W("tempfile") \
	W("termios") W("textwrap") W("this") W("threading") W("time") \
	W("timeit") W("tkinter") W("token") W("tokenize") W("tomllib") \
	W("trace") W("traceback") W("tracemalloc") W("tty") W("turtle") \
	W("turtledemo") W("types") W("typing") W("unicodedata") \
	W("unittest") W("urllib") W("uu") W("uuid") W("venv") W("warnings") \
	W("wave") W("weakref") W("webbrowser") W("winreg") W("winsound") \
	W("wsgiref") W("xdrlib") W("xml") W("xmlrpc") W("zipapp") \
	W("zipfile") W("zipimport") W("zlib") W("zoneinfo")

#endif
