/*
 * Names the resolver knows by heart. They are the first atoms of every graph,
 * so their numbers are constants.
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
	W(TEST, "test")

/* What of Python's own library passes on what it is given. */
enum outside {
	OUT_OTHER,
	OUT_LIST, /* of its first argument, as a type or a call */
	OUT_DICT,
	OUT_DEFAULTDICT,
	OUT_TUPLE,
	OUT_TYPE,
	OUT_OPTIONAL, /* also Annotated, Final, ClassVar, ...: the first */
	OUT_UNION,
	OUT_CALLABLE,
	OUT_AWAITABLE,
	OUT_COROUTINE,
	OUT_MANAGER,
	OUT_LITERAL,
	OUT_SELF,
	OUT_TYPEVAR,
	OUT_CAST,
	OUT_SUPER,
	OUT_PROPERTY,
	OUT_CACHED_PROPERTY,
	OUT_STATICMETHOD,
	OUT_CLASSMETHOD,
	OUT_CONTEXTMANAGER,
	OUT_OVERLOAD,
	OUT_FIXTURE,
	OUT_PARTIAL,
	OUT_SAME,   /* gives its first argument: copy, deepcopy, ... */
	OUT_SORTED, /* a list of the elements of its first argument */
	OUT_ENUMERATE,
	OUT_ZIP,
	OUT_MAP,
	OUT_FILTER,
	OUT_NEXT, /* an element of its first argument */
	OUT_MINMAX,
	OUT_GETATTR,
	OUT_GATHER,
	OUT_NEWTYPE,
	OUT_WRAPS, /* a decorator that gives what it decorates */
	OUT_REDUCE,
	OUT_FROMKEYS,
	OUT_CHAIN,
	OUT_OBJECT,
	OUT_STDLIB, /* a module that is not ours */
	OUT_REF,    /* calling it gives the argument */
	OUT_MAKE,   /* an instance of its first argument */
	OUT_ITERS,  /* iter(): the iterator itself */
};

#define OUTSIDE(W)                                                        \
	W("builtins.list", OUT_LIST)                                      \
	W("builtins.set", OUT_LIST)                                       \
	W("builtins.frozenset", OUT_LIST)                                 \
	W("builtins.dict", OUT_DICT)                                      \
	W("builtins.tuple", OUT_TUPLE)                                    \
	W("builtins.object.__new__", OUT_MAKE)                            \
	W("builtins.type", OUT_TYPE)                                      \
	W("builtins.super", OUT_SUPER)                                    \
	W("builtins.property", OUT_PROPERTY)                              \
	W("builtins.staticmethod", OUT_STATICMETHOD)                      \
	W("builtins.classmethod", OUT_CLASSMETHOD)                        \
	W("builtins.sorted", OUT_SORTED)                                  \
	W("builtins.reversed", OUT_SORTED)                                \
	W("builtins.iter", OUT_ITERS)                                     \
	W("builtins.enumerate", OUT_ENUMERATE)                            \
	W("builtins.zip", OUT_ZIP)                                        \
	W("builtins.map", OUT_MAP)                                        \
	W("builtins.filter", OUT_FILTER)                                  \
	W("builtins.next", OUT_NEXT)                                      \
	W("builtins.anext", OUT_NEXT)                                     \
	W("builtins.min", OUT_MINMAX)                                     \
	W("builtins.max", OUT_MINMAX)                                     \
	W("builtins.getattr", OUT_GETATTR)                                \
	W("builtins.object", OUT_OBJECT)                                  \
	W("typing.List", OUT_LIST)                                        \
	W("typing.Set", OUT_LIST)                                         \
	W("typing.FrozenSet", OUT_LIST)                                   \
	W("typing.AbstractSet", OUT_LIST)                                 \
	W("typing.MutableSet", OUT_LIST)                                  \
	W("typing.Sequence", OUT_LIST)                                    \
	W("typing.MutableSequence", OUT_LIST)                             \
	W("typing.Collection", OUT_LIST)                                  \
	W("typing.Container", OUT_LIST)                                   \
	W("typing.Reversible", OUT_LIST)                                  \
	W("typing.Iterable", OUT_LIST)                                    \
	W("typing.Iterator", OUT_LIST)                                    \
	W("typing.AsyncIterable", OUT_LIST)                               \
	W("typing.AsyncIterator", OUT_LIST)                               \
	W("typing.Generator", OUT_LIST)                                   \
	W("typing.AsyncGenerator", OUT_LIST)                              \
	W("typing.Deque", OUT_LIST)                                       \
	W("typing.KeysView", OUT_LIST)                                    \
	W("typing.ValuesView", OUT_LIST)                                  \
	W("collections.deque", OUT_LIST)                                  \
	W("contextvars.ContextVar", OUT_LIST)                             \
	W("weakref.ref", OUT_REF)                                         \
	W("weakref.WeakMethod", OUT_REF)                                  \
	W("queue.Queue", OUT_LIST)                                        \
	W("typing.Dict", OUT_DICT)                                        \
	W("typing.Mapping", OUT_DICT)                                     \
	W("typing.MutableMapping", OUT_DICT)                              \
	W("typing.OrderedDict", OUT_DICT)                                 \
	W("typing.DefaultDict", OUT_DICT)                                 \
	W("typing.ChainMap", OUT_DICT)                                    \
	W("collections.OrderedDict", OUT_DICT)                            \
	W("collections.ChainMap", OUT_DICT)                               \
	W("collections.defaultdict", OUT_DEFAULTDICT)                     \
	W("weakref.WeakKeyDictionary", OUT_DICT)                          \
	W("weakref.WeakValueDictionary", OUT_DICT)                        \
	W("weakref.WeakSet", OUT_LIST)                                    \
	W("typing.Tuple", OUT_TUPLE)                                      \
	W("typing.Type", OUT_TYPE)                                        \
	W("typing.Optional", OUT_OPTIONAL)                                \
	W("typing.Annotated", OUT_OPTIONAL)                               \
	W("typing.Final", OUT_OPTIONAL)                                   \
	W("typing.ClassVar", OUT_OPTIONAL)                                \
	W("typing.Required", OUT_OPTIONAL)                                \
	W("typing.NotRequired", OUT_OPTIONAL)                             \
	W("typing.ReadOnly", OUT_OPTIONAL)                                \
	W("dataclasses.InitVar", OUT_OPTIONAL)                            \
	W("typing.Union", OUT_UNION)                                      \
	W("typing.Callable", OUT_CALLABLE)                                \
	W("typing.Awaitable", OUT_AWAITABLE)                              \
	W("asyncio.Future", OUT_AWAITABLE)                                \
	W("asyncio.Task", OUT_AWAITABLE)                                  \
	W("typing.Coroutine", OUT_COROUTINE)                              \
	W("typing.ContextManager", OUT_MANAGER)                           \
	W("typing.AsyncContextManager", OUT_MANAGER)                      \
	W("contextlib.AbstractContextManager", OUT_MANAGER)               \
	W("contextlib.AbstractAsyncContextManager", OUT_MANAGER)          \
	W("contextlib.closing", OUT_MANAGER)                              \
	W("contextlib.nullcontext", OUT_MANAGER)                          \
	W("typing.Literal", OUT_LITERAL)                                  \
	W("typing.Self", OUT_SELF)                                        \
	W("typing.TypeVar", OUT_TYPEVAR)                                  \
	W("typing.cast", OUT_CAST)                                        \
	W("typing.NewType", OUT_NEWTYPE)                                  \
	W("typing.overload", OUT_OVERLOAD)                                \
	W("functools.cached_property", OUT_CACHED_PROPERTY)               \
	W("django.utils.functional.cached_property", OUT_CACHED_PROPERTY) \
	W("abc.abstractproperty", OUT_PROPERTY)                           \
	W("enum.property", OUT_PROPERTY)                                  \
	W("types.DynamicClassAttribute", OUT_PROPERTY)                    \
	W("abc.abstractclassmethod", OUT_CLASSMETHOD)                     \
	W("abc.abstractstaticmethod", OUT_STATICMETHOD)                   \
	W("contextlib.contextmanager", OUT_CONTEXTMANAGER)                \
	W("contextlib.asynccontextmanager", OUT_CONTEXTMANAGER)           \
	W("pytest.fixture", OUT_FIXTURE)                                  \
	W("pytest.yield_fixture", OUT_FIXTURE)                            \
	W("pytest_asyncio.fixture", OUT_FIXTURE)                          \
	W("functools.partial", OUT_PARTIAL)                               \
	W("functools.partialmethod", OUT_PARTIAL)                         \
	W("functools.reduce", OUT_REDUCE)                                 \
	W("functools.lru_cache", OUT_WRAPS)                               \
	W("functools.cache", OUT_WRAPS)                                   \
	W("functools.wraps", OUT_WRAPS)                                   \
	W("copy.copy", OUT_SAME)                                          \
	W("copy.deepcopy", OUT_SAME)                                      \
	W("dataclasses.replace", OUT_SAME)                                \
	W("weakref.proxy", OUT_SAME)                                      \
	W("asyncio.create_task", OUT_SAME)                                \
	W("asyncio.ensure_future", OUT_SAME)                              \
	W("asyncio.wait_for", OUT_SAME)                                   \
	W("asyncio.shield", OUT_SAME)                                     \
	W("asyncio.run", OUT_GATHER)                                      \
	W("contextlib.ExitStack", OUT_OTHER)                              \
	W("itertools.chain", OUT_CHAIN)                                   \
	W("itertools.islice", OUT_SORTED)                                 \
	W("itertools.cycle", OUT_SORTED)                                  \
	W("itertools.takewhile", OUT_FILTER)                              \
	W("itertools.dropwhile", OUT_FILTER)

enum word {
	WORD_EMPTY,
#define W(name, text) WORD_##name,
	WORDS(W)
#undef W
		WORD_COUNT
};

#endif
