/*
 * Names the resolver treats specially. They are the first atoms of every
 * graph, so their numbers are constants.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_WORDS_H
#define STATETAPE_GRAPH_RESOLVE_WORDS_H

#define WORDS(W)                              \
	W(INIT, "__init__")                   \
	W(NEW, "__new__")                     \
	W(CALL, "__call__")                   \
	W(ITER, "__iter__")                   \
	W(NEXT, "__next__")                   \
	W(AITER, "__aiter__")                 \
	W(ANEXT, "__anext__")                 \
	W(ENTER, "__enter__")                 \
	W(AENTER, "__aenter__")               \
	W(GETITEM, "__getitem__")             \
	W(GETATTR, "__getattr__")             \
	W(GET, "__get__")                     \
	W(AWAIT, "__await__")                 \
	W(CLASS, "__class__")                 \
	W(CLASS_GETITEM, "__class_getitem__") \
	W(INIT_SUBCLASS, "__init_subclass__") \
	W(DICT, "__dict__")                   \
	W(SETTER, "setter")                   \
	W(GETTER, "getter")                   \
	W(DELETER, "deleter")                 \
	W(CONFTEST, "conftest")               \
	W(BOUND_EQ, "bound")                  \
	W(NAME, "name")                       \
	W(KEY_VALUES, "values")               \
	W(KEY_KEYS, "keys")                   \
	W(KEY_ITEMS, "items")                 \
	W(KEY_GET, "get")                     \
	W(KEY_POP, "pop")                     \
	W(KEY_POPITEM, "popitem")             \
	W(KEY_POPLEFT, "popleft")             \
	W(KEY_SETDEFAULT, "setdefault")       \
	W(KEY_COPY, "copy")                   \
	W(KEY_UNION, "union")                 \
	W(KEY_DIFFERENCE, "difference")       \
	W(KEY_INTERSECTION, "intersection")   \
	W(PUT_UPDATE, "update")               \
	W(FUNC, "func")                       \
	W(SELF_NAME, "self")                  \
	W(BUILTINS, "builtins")               \
	W(METACLASS, "metaclass")             \
	W(DEFAULT, "default")                 \
	W(TYPING, "typing")                   \
	W(TYPING_MORE, "typing_extensions")   \
	W(ABC, "collections.abc")             \
	W(TEST, "test")                       \
	W(EXIT, "__exit__")                   \
	W(AEXIT, "__aexit__")                 \
	W(SETITEM, "__setitem__")             \
	W(DELITEM, "__delitem__")             \
	W(SET, "__set__")                     \
	W(DELETE, "__delete__")               \
	W(SETATTR, "__setattr__")             \
	W(DELATTR, "__delattr__")             \
	W(SET_NAME, "__set_name__")           \
	W(PREPARE, "__prepare__")             \
	W(BOOL, "__bool__")                   \
	W(LEN, "__len__")                     \
	W(STR, "__str__")                     \
	W(REPR, "__repr__")                   \
	W(FORMAT, "__format__")               \
	W(BYTES, "__bytes__")                 \
	W(INT, "__int__")                     \
	W(FLOAT, "__float__")                 \
	W(COMPLEX, "__complex__")             \
	W(INDEX, "__index__")                 \
	W(HASH, "__hash__")                   \
	W(ABS, "__abs__")                     \
	W(ROUND, "__round__")                 \
	W(REVERSED, "__reversed__")           \
	W(DIR, "__dir__")                     \
	W(CONTAINS, "__contains__")           \
	W(NEG, "__neg__")                     \
	W(POS, "__pos__")                     \
	W(INVERT, "__invert__")               \
	W(OR, "__or__")                       \
	W(ROR, "__ror__")                     \
	W(IOR, "__ior__")                     \
	W(XOR, "__xor__")                     \
	W(RXOR, "__rxor__")                   \
	W(IXOR, "__ixor__")                   \
	W(AND, "__and__")                     \
	W(RAND, "__rand__")                   \
	W(IAND, "__iand__")                   \
	W(LSHIFT, "__lshift__")               \
	W(RLSHIFT, "__rlshift__")             \
	W(ILSHIFT, "__ilshift__")             \
	W(RSHIFT, "__rshift__")               \
	W(RRSHIFT, "__rrshift__")             \
	W(IRSHIFT, "__irshift__")             \
	W(ADD, "__add__")                     \
	W(RADD, "__radd__")                   \
	W(IADD, "__iadd__")                   \
	W(SUB, "__sub__")                     \
	W(RSUB, "__rsub__")                   \
	W(ISUB, "__isub__")                   \
	W(MUL, "__mul__")                     \
	W(RMUL, "__rmul__")                   \
	W(IMUL, "__imul__")                   \
	W(MATMUL, "__matmul__")               \
	W(RMATMUL, "__rmatmul__")             \
	W(IMATMUL, "__imatmul__")             \
	W(DIV, "__truediv__")                 \
	W(RDIV, "__rtruediv__")               \
	W(IDIV, "__itruediv__")               \
	W(FLOORDIV, "__floordiv__")           \
	W(RFLOORDIV, "__rfloordiv__")         \
	W(IFLOORDIV, "__ifloordiv__")         \
	W(MOD, "__mod__")                     \
	W(RMOD, "__rmod__")                   \
	W(IMOD, "__imod__")                   \
	W(POW, "__pow__")                     \
	W(RPOW, "__rpow__")                   \
	W(IPOW, "__ipow__")                   \
	W(DIVMOD, "__divmod__")               \
	W(RDIVMOD, "__rdivmod__")             \
	W(LT, "__lt__")                       \
	W(LE, "__le__")                       \
	W(EQ, "__eq__")                       \
	W(NE, "__ne__")                       \
	W(GT, "__gt__")                       \
	W(GE, "__ge__")                       \
	W(INSTANCECHECK, "__instancecheck__") \
	W(SUBCLASSCHECK, "__subclasscheck__") \
	W(FN_LEN, "builtins.len")             \
	W(FN_BOOL, "builtins.bool")           \
	W(FN_STR, "builtins.str")             \
	W(FN_REPR, "builtins.repr")           \
	W(FN_ASCII, "builtins.ascii")         \
	W(FN_FORMAT, "builtins.format")       \
	W(FN_BYTES, "builtins.bytes")         \
	W(FN_INT, "builtins.int")             \
	W(FN_FLOAT, "builtins.float")         \
	W(FN_COMPLEX, "builtins.complex")     \
	W(FN_HASH, "builtins.hash")           \
	W(FN_ABS, "builtins.abs")             \
	W(FN_ROUND, "builtins.round")         \
	W(FN_REVERSED, "builtins.reversed")   \
	W(FN_DIR, "builtins.dir")             \
	W(FN_NEXT, "builtins.next")           \
	W(FN_ANEXT, "builtins.anext")         \
	W(FN_ITER, "builtins.iter")           \
	W(FN_AITER, "builtins.aiter")         \
	W(FN_LIST, "builtins.list")           \
	W(FN_TUPLE, "builtins.tuple")         \
	W(FN_SETOF, "builtins.set")           \
	W(FN_FROZENSET, "builtins.frozenset") \
	W(FN_DICT, "builtins.dict")           \
	W(FN_SORTED, "builtins.sorted")       \
	W(FN_SUM, "builtins.sum")             \
	W(FN_ANY, "builtins.any")             \
	W(FN_ALL, "builtins.all")             \
	W(FN_MIN, "builtins.min")             \
	W(FN_MAX, "builtins.max")             \
	W(FN_ENUMERATE, "builtins.enumerate") \
	W(FN_ZIP, "builtins.zip")             \
	W(FN_MAP, "builtins.map")             \
	W(FN_FILTER, "builtins.filter")       \
	W(FN_PRINT, "builtins.print")         \
	W(FN_DIVMOD, "builtins.divmod")       \
	W(FN_POW, "builtins.pow")             \
	W(FN_GETATTR, "builtins.getattr")     \
	W(FN_HASATTR, "builtins.hasattr")     \
	W(FN_SETATTR, "builtins.setattr")     \
	W(FN_DELATTR, "builtins.delattr")

/* Names of Python's library (and a few others) that the resolver knows. */
enum library_kind {
	LIBRARY_OTHER,
	LIBRARY_LIST, /* a list: of its first argument, as type or call */
	LIBRARY_DICT,
	LIBRARY_DEFAULTDICT,
	LIBRARY_TUPLE,
	LIBRARY_TYPE,
	LIBRARY_OPTIONAL, /* also Annotated, Final, ClassVar: first argument */
	LIBRARY_UNION,
	LIBRARY_CALLABLE,
	LIBRARY_AWAITABLE,
	LIBRARY_COROUTINE,
	LIBRARY_MANAGER,
	LIBRARY_LITERAL,
	LIBRARY_SELF,
	LIBRARY_TYPEVAR,
	LIBRARY_CAST,
	LIBRARY_SUPER,
	LIBRARY_PROPERTY,
	LIBRARY_CACHED_PROPERTY,
	LIBRARY_STATICMETHOD,
	LIBRARY_CLASSMETHOD,
	LIBRARY_CONTEXTMANAGER,
	LIBRARY_OVERLOAD,
	LIBRARY_FIXTURE,
	LIBRARY_PARTIAL,
	LIBRARY_SAME,	/* returns its first argument: copy, deepcopy, ... */
	LIBRARY_SORTED, /* a list of the elements of its first argument */
	LIBRARY_ENUMERATE,
	LIBRARY_ZIP,
	LIBRARY_MAP,
	LIBRARY_FILTER,
	LIBRARY_NEXT, /* an element of its first argument */
	LIBRARY_MINMAX,
	LIBRARY_GETATTR,
	LIBRARY_GATHER,
	LIBRARY_NEWTYPE,
	LIBRARY_WRAPS, /* a decorator that returns what it decorates */
	LIBRARY_REDUCE,
	LIBRARY_FROMKEYS,
	LIBRARY_CHAIN,
	LIBRARY_OBJECT,
	LIBRARY_STDLIB, /* a top-level module of the standard library */
	LIBRARY_REF,	/* calling it returns the argument */
	LIBRARY_MAKE,	/* an instance of its first argument */
	LIBRARY_ITERS,	/* iter(): the iterator itself */
	LIBRARY_NAMEDTUPLE,
};

#define LIBRARY(W)                                                            \
	W("builtins.list", LIBRARY_LIST)                                      \
	W("builtins.set", LIBRARY_LIST)                                       \
	W("builtins.frozenset", LIBRARY_LIST)                                 \
	W("builtins.dict", LIBRARY_DICT)                                      \
	W("builtins.tuple", LIBRARY_TUPLE)                                    \
	W("builtins.object.__new__", LIBRARY_MAKE)                            \
	W("builtins.type", LIBRARY_TYPE)                                      \
	W("builtins.super", LIBRARY_SUPER)                                    \
	W("builtins.property", LIBRARY_PROPERTY)                              \
	W("builtins.staticmethod", LIBRARY_STATICMETHOD)                      \
	W("builtins.classmethod", LIBRARY_CLASSMETHOD)                        \
	W("builtins.sorted", LIBRARY_SORTED)                                  \
	W("builtins.reversed", LIBRARY_SORTED)                                \
	W("builtins.iter", LIBRARY_ITERS)                                     \
	W("builtins.enumerate", LIBRARY_ENUMERATE)                            \
	W("builtins.zip", LIBRARY_ZIP)                                        \
	W("builtins.map", LIBRARY_MAP)                                        \
	W("builtins.filter", LIBRARY_FILTER)                                  \
	W("builtins.next", LIBRARY_NEXT)                                      \
	W("builtins.anext", LIBRARY_NEXT)                                     \
	W("builtins.min", LIBRARY_MINMAX)                                     \
	W("builtins.max", LIBRARY_MINMAX)                                     \
	W("builtins.getattr", LIBRARY_GETATTR)                                \
	W("builtins.object", LIBRARY_OBJECT)                                  \
	W("typing.List", LIBRARY_LIST)                                        \
	W("typing.Set", LIBRARY_LIST)                                         \
	W("typing.FrozenSet", LIBRARY_LIST)                                   \
	W("typing.AbstractSet", LIBRARY_LIST)                                 \
	W("typing.MutableSet", LIBRARY_LIST)                                  \
	W("typing.Sequence", LIBRARY_LIST)                                    \
	W("typing.MutableSequence", LIBRARY_LIST)                             \
	W("typing.Collection", LIBRARY_LIST)                                  \
	W("typing.Container", LIBRARY_LIST)                                   \
	W("typing.Reversible", LIBRARY_LIST)                                  \
	W("typing.Iterable", LIBRARY_LIST)                                    \
	W("typing.Iterator", LIBRARY_LIST)                                    \
	W("typing.AsyncIterable", LIBRARY_LIST)                               \
	W("typing.AsyncIterator", LIBRARY_LIST)                               \
	W("typing.Generator", LIBRARY_LIST)                                   \
	W("typing.AsyncGenerator", LIBRARY_LIST)                              \
	W("typing.Deque", LIBRARY_LIST)                                       \
	W("typing.KeysView", LIBRARY_LIST)                                    \
	W("typing.ValuesView", LIBRARY_LIST)                                  \
	W("collections.deque", LIBRARY_LIST)                                  \
	W("contextvars.ContextVar", LIBRARY_LIST)                             \
	W("weakref.ref", LIBRARY_REF)                                         \
	W("weakref.WeakMethod", LIBRARY_REF)                                  \
	W("queue.Queue", LIBRARY_LIST)                                        \
	W("typing.Dict", LIBRARY_DICT)                                        \
	W("typing.Mapping", LIBRARY_DICT)                                     \
	W("typing.MutableMapping", LIBRARY_DICT)                              \
	W("typing.OrderedDict", LIBRARY_DICT)                                 \
	W("typing.DefaultDict", LIBRARY_DICT)                                 \
	W("typing.ChainMap", LIBRARY_DICT)                                    \
	W("collections.OrderedDict", LIBRARY_DICT)                            \
	W("collections.ChainMap", LIBRARY_DICT)                               \
	W("collections.defaultdict", LIBRARY_DEFAULTDICT)                     \
	W("weakref.WeakKeyDictionary", LIBRARY_DICT)                          \
	W("weakref.WeakValueDictionary", LIBRARY_DICT)                        \
	W("weakref.WeakSet", LIBRARY_LIST)                                    \
	W("typing.Tuple", LIBRARY_TUPLE)                                      \
	W("typing.Type", LIBRARY_TYPE)                                        \
	W("typing.Optional", LIBRARY_OPTIONAL)                                \
	W("typing.Annotated", LIBRARY_OPTIONAL)                               \
	W("typing.Final", LIBRARY_OPTIONAL)                                   \
	W("typing.ClassVar", LIBRARY_OPTIONAL)                                \
	W("typing.Required", LIBRARY_OPTIONAL)                                \
	W("typing.NotRequired", LIBRARY_OPTIONAL)                             \
	W("typing.ReadOnly", LIBRARY_OPTIONAL)                                \
	W("dataclasses.InitVar", LIBRARY_OPTIONAL)                            \
	W("typing.Union", LIBRARY_UNION)                                      \
	W("typing.Callable", LIBRARY_CALLABLE)                                \
	W("typing.Awaitable", LIBRARY_AWAITABLE)                              \
	W("asyncio.Future", LIBRARY_AWAITABLE)                                \
	W("asyncio.Task", LIBRARY_AWAITABLE)                                  \
	W("typing.Coroutine", LIBRARY_COROUTINE)                              \
	W("typing.ContextManager", LIBRARY_MANAGER)                           \
	W("typing.AsyncContextManager", LIBRARY_MANAGER)                      \
	W("contextlib.AbstractContextManager", LIBRARY_MANAGER)               \
	W("contextlib.AbstractAsyncContextManager", LIBRARY_MANAGER)          \
	W("contextlib.closing", LIBRARY_MANAGER)                              \
	W("contextlib.nullcontext", LIBRARY_MANAGER)                          \
	W("typing.Literal", LIBRARY_LITERAL)                                  \
	W("typing.Self", LIBRARY_SELF)                                        \
	W("typing.TypeVar", LIBRARY_TYPEVAR)                                  \
	W("typing.cast", LIBRARY_CAST)                                        \
	W("typing.NewType", LIBRARY_NEWTYPE)                                  \
	W("typing.NamedTuple", LIBRARY_NAMEDTUPLE)                            \
	W("typing.overload", LIBRARY_OVERLOAD)                                \
	W("functools.cached_property", LIBRARY_CACHED_PROPERTY)               \
	W("django.utils.functional.cached_property", LIBRARY_CACHED_PROPERTY) \
	W("abc.abstractproperty", LIBRARY_PROPERTY)                           \
	W("enum.property", LIBRARY_PROPERTY)                                  \
	W("types.DynamicClassAttribute", LIBRARY_PROPERTY)                    \
	W("abc.abstractclassmethod", LIBRARY_CLASSMETHOD)                     \
	W("abc.abstractstaticmethod", LIBRARY_STATICMETHOD)                   \
	W("contextlib.contextmanager", LIBRARY_CONTEXTMANAGER)                \
	W("contextlib.asynccontextmanager", LIBRARY_CONTEXTMANAGER)           \
	W("pytest.fixture", LIBRARY_FIXTURE)                                  \
	W("pytest.yield_fixture", LIBRARY_FIXTURE)                            \
	W("pytest_asyncio.fixture", LIBRARY_FIXTURE)                          \
	W("functools.partial", LIBRARY_PARTIAL)                               \
	W("functools.partialmethod", LIBRARY_PARTIAL)                         \
	W("functools.reduce", LIBRARY_REDUCE)                                 \
	W("functools.lru_cache", LIBRARY_WRAPS)                               \
	W("functools.cache", LIBRARY_WRAPS)                                   \
	W("functools.wraps", LIBRARY_WRAPS)                                   \
	W("functools.update_wrapper", LIBRARY_SAME)                           \
	W("copy.copy", LIBRARY_SAME)                                          \
	W("copy.deepcopy", LIBRARY_SAME)                                      \
	W("dataclasses.replace", LIBRARY_SAME)                                \
	W("weakref.proxy", LIBRARY_SAME)                                      \
	W("asyncio.create_task", LIBRARY_SAME)                                \
	W("asyncio.ensure_future", LIBRARY_SAME)                              \
	W("asyncio.wait_for", LIBRARY_SAME)                                   \
	W("asyncio.shield", LIBRARY_SAME)                                     \
	W("asyncio.run", LIBRARY_GATHER)                                      \
	W("contextlib.ExitStack", LIBRARY_OTHER)                              \
	W("itertools.chain", LIBRARY_CHAIN)                                   \
	W("itertools.islice", LIBRARY_SORTED)                                 \
	W("itertools.cycle", LIBRARY_SORTED)                                  \
	W("itertools.takewhile", LIBRARY_FILTER)                              \
	W("itertools.dropwhile", LIBRARY_FILTER)

enum word {
	WORD_EMPTY,
#define W(name, text) WORD_##name,
	WORDS(W)
#undef W
		WORD_COUNT
};

#endif
