/*
 * Python's reader, from the inside: one walk over the syntax tree. r->node is
 * the current node and r->syn its kind.
 *
 * The walk moves by down() and next(), which stop only at nodes that carry
 * meaning: they skip tokens and comments, and read the whole statements inside
 * an error on the way (reader_salvage()). When next() finds no further sibling
 * it goes back up, so that a loop over children ends at the node where it
 *began:
 *
 *	for (ok = down(r); ok; ok = next(r))
 *		... r->syn, r->node ...
 *
 * Every reader_...() that reads the current node leaves it current. They call
 * each other as deep as the text is nested, up to DEPTH_MAX.
 *
 * A unit is read completely before the units inside it, which wait in
 * `pending`: so the facts of a unit lie together, and units may nest without
 * limit.
 */
#ifndef STATETAPE_GRAPH_FACTS_PYTHON_READER_I_H
#define STATETAPE_GRAPH_FACTS_PYTHON_READER_I_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <tree_sitter/api.h>

#include "graph/base/array.h"
#include "graph/facts/facts.h"
#include "graph/facts/python/parse_heap.h"
#include "graph/facts/python/table.h"

/* Expressions and statements nested deeper, in each unit, are left out. */
#define DEPTH_MAX 1000
/* Shorter runs of data are parsed, and shorter texts are not scanned. */
#define GAP_MIN (32u << 10)
/*
 * A file with more tokens, not counting long runs of plain data (scan.c), is
 * not parsed: that many take the parser about a second and 230 MB. A file of
 * fewer bytes cannot have as many.
 */
#define TOKENS_MAX (1u << 20)
/* Checks kept per condition; further ones are dropped. */
#define CHECKS_MAX 8

/* The grammar's named nodes that the reader distinguishes. */
#define SYNTAX(X)                                               \
	X(IDENTIFIER, "identifier")                             \
	X(ATTRIBUTE, "attribute")                               \
	X(CALL, "call")                                         \
	X(ARGUMENT_LIST, "argument_list")                       \
	X(KEYWORD_ARGUMENT, "keyword_argument")                 \
	X(LIST_SPLAT, "list_splat")                             \
	X(LIST_SPLAT_PATTERN, "list_splat_pattern")             \
	X(DICTIONARY_SPLAT, "dictionary_splat")                 \
	X(DICTIONARY_SPLAT_PATTERN, "dictionary_splat_pattern") \
	X(SUBSCRIPT, "subscript")                               \
	X(SLICE, "slice")                                       \
	X(STRING, "string")                                     \
	X(CONCATENATED_STRING, "concatenated_string")           \
	X(INTERPOLATION, "interpolation")                       \
	X(FORMAT_SPECIFIER, "format_specifier")                 \
	X(FORMAT_EXPRESSION, "format_expression")               \
	X(INTEGER, "integer")                                   \
	X(FLOAT, "float")                                       \
	X(TRUE, "true")                                         \
	X(FALSE, "false")                                       \
	X(NONE_VALUE, "none")                                   \
	X(ELLIPSIS, "ellipsis")                                 \
	X(TUPLE, "tuple")                                       \
	X(LIST, "list")                                         \
	X(SET, "set")                                           \
	X(DICTIONARY, "dictionary")                             \
	X(PAIR, "pair")                                         \
	X(TUPLE_PATTERN, "tuple_pattern")                       \
	X(LIST_PATTERN, "list_pattern")                         \
	X(PATTERN_LIST, "pattern_list")                         \
	X(EXPRESSION_LIST, "expression_list")                   \
	X(PARENTHESIZED_EXPRESSION, "parenthesized_expression") \
	X(CONDITIONAL_EXPRESSION, "conditional_expression")     \
	X(BOOLEAN_OPERATOR, "boolean_operator")                 \
	X(NOT_OPERATOR, "not_operator")                         \
	X(BINARY_OPERATOR, "binary_operator")                   \
	X(UNARY_OPERATOR, "unary_operator")                     \
	X(COMPARISON_OPERATOR, "comparison_operator")           \
	X(LAMBDA, "lambda")                                     \
	X(LAMBDA_PARAMETERS, "lambda_parameters")               \
	X(LIST_COMPREHENSION, "list_comprehension")             \
	X(SET_COMPREHENSION, "set_comprehension")               \
	X(DICTIONARY_COMPREHENSION, "dictionary_comprehension") \
	X(GENERATOR_EXPRESSION, "generator_expression")         \
	X(FOR_IN_CLAUSE, "for_in_clause")                       \
	X(IF_CLAUSE, "if_clause")                               \
	X(AWAIT, "await")                                       \
	X(YIELD, "yield")                                       \
	X(NAMED_EXPRESSION, "named_expression")                 \
	X(AS_PATTERN, "as_pattern")                             \
	X(AS_PATTERN_TARGET, "as_pattern_target")               \
	X(TYPE, "type")                                         \
	X(GENERIC_TYPE, "generic_type")                         \
	X(UNION_TYPE, "union_type")                             \
	X(MEMBER_TYPE, "member_type")                           \
	X(CONSTRAINED_TYPE, "constrained_type")                 \
	X(SPLAT_TYPE, "splat_type")                             \
	X(TYPE_PARAMETER, "type_parameter")                     \
	X(DOTTED_NAME, "dotted_name")                           \
	X(CHEVRON, "chevron")                                   \
	X(EXPRESSION_STATEMENT, "expression_statement")         \
	X(ASSIGNMENT, "assignment")                             \
	X(AUGMENTED_ASSIGNMENT, "augmented_assignment")         \
	X(IMPORT_STATEMENT, "import_statement")                 \
	X(IMPORT_FROM_STATEMENT, "import_from_statement")       \
	X(FUTURE_IMPORT_STATEMENT, "future_import_statement")   \
	X(ALIASED_IMPORT, "aliased_import")                     \
	X(RELATIVE_IMPORT, "relative_import")                   \
	X(IMPORT_PREFIX, "import_prefix")                       \
	X(WILDCARD_IMPORT, "wildcard_import")                   \
	X(PRINT_STATEMENT, "print_statement")                   \
	X(EXEC_STATEMENT, "exec_statement")                     \
	X(ASSERT_STATEMENT, "assert_statement")                 \
	X(RETURN_STATEMENT, "return_statement")                 \
	X(DELETE_STATEMENT, "delete_statement")                 \
	X(RAISE_STATEMENT, "raise_statement")                   \
	X(PASS_STATEMENT, "pass_statement")                     \
	X(BREAK_STATEMENT, "break_statement")                   \
	X(CONTINUE_STATEMENT, "continue_statement")             \
	X(GLOBAL_STATEMENT, "global_statement")                 \
	X(NONLOCAL_STATEMENT, "nonlocal_statement")             \
	X(TYPE_ALIAS_STATEMENT, "type_alias_statement")         \
	X(IF_STATEMENT, "if_statement")                         \
	X(ELIF_CLAUSE, "elif_clause")                           \
	X(ELSE_CLAUSE, "else_clause")                           \
	X(FOR_STATEMENT, "for_statement")                       \
	X(WHILE_STATEMENT, "while_statement")                   \
	X(TRY_STATEMENT, "try_statement")                       \
	X(EXCEPT_CLAUSE, "except_clause")                       \
	X(EXCEPT_GROUP_CLAUSE, "except_group_clause")           \
	X(FINALLY_CLAUSE, "finally_clause")                     \
	X(WITH_STATEMENT, "with_statement")                     \
	X(WITH_CLAUSE, "with_clause")                           \
	X(WITH_ITEM, "with_item")                               \
	X(MATCH_STATEMENT, "match_statement")                   \
	X(CASE_CLAUSE, "case_clause")                           \
	X(CASE_PATTERN, "case_pattern")                         \
	X(CLASS_PATTERN, "class_pattern")                       \
	X(KEYWORD_PATTERN, "keyword_pattern")                   \
	X(SPLAT_PATTERN, "splat_pattern")                       \
	X(UNION_PATTERN, "union_pattern")                       \
	X(DICT_PATTERN, "dict_pattern")                         \
	X(COMPLEX_PATTERN, "complex_pattern")                   \
	X(FUNCTION_DEFINITION, "function_definition")           \
	X(CLASS_DEFINITION, "class_definition")                 \
	X(DECORATED_DEFINITION, "decorated_definition")         \
	X(DECORATOR, "decorator")                               \
	X(PARAMETERS, "parameters")                             \
	X(TYPED_PARAMETER, "typed_parameter")                   \
	X(DEFAULT_PARAMETER, "default_parameter")               \
	X(TYPED_DEFAULT_PARAMETER, "typed_default_parameter")   \
	X(KEYWORD_SEPARATOR, "keyword_separator")               \
	X(POSITIONAL_SEPARATOR, "positional_separator")         \
	X(BLOCK, "block")

enum syn {
	SYN_SKIP, /* tokens, comments */
	SYN_ERROR,
#define X(name, text) SYN_##name,
	SYNTAX(X)
#undef X
		SYNS
};

/* Where a unit lies in the file, in absolute bytes and rows. */
struct reader_span {
	uint32_t start, body, end;
	uint32_t row, column; /* of the start */
	uint32_t last_row;    /* of the end */
	uint32_t def;	      /* where its keyword stands; unique */
};

struct reader_place {
	uint32_t line, column;
};

/* A definition that was met but not read yet. */
struct pending {
	TSNode node;
	uint32_t parent; /* unit */
	uint32_t bind;	 /* the binding of its name, in r->binds */
	bool conditional;
};

/* An isinstance() in a condition: what its being true or false implies. */
enum reader_known { KNOWN_NOTHING, KNOWN_IS, KNOWN_IS_NOT };
struct reader_check {
	uint32_t what;	/* EXPR_NAME, or EXPR_ATTR of one */
	uint32_t class; /* expression */
	uint8_t yes, no;
};

struct reader_outer {
	facts_str name;
	uint8_t kind; /* as facts_bind.outer */
};

/* A piece of text at module level: the module's, or a variable's. */
struct reader_piece {
	uint32_t start, end;
	uint32_t depth;	   /* of blocks */
	uint32_t variable; /* FACTS_NONE: the module's */
	uint32_t next; /* of the same variable; FACTS_NONE: it is the last */
};

/* A run of data that the parser does not see (scan.c). */
struct gap {
	uint32_t start, end;
};
struct scan_open;

/* A node whose children the walk is visiting. */
struct level {
	TSNode node;
	enum syn syn;
	bool tokens;	    /* stop at tokens, too */
	bool many;	    /* it has many children: `cursor` is used */
	uint32_t at, count; /* else: the current child, and their number */
	TSTreeCursor cursor;
};

struct reader {
	struct parse_heap *heap; /* of the parser and its tree */
	uint8_t *syns;		 /* enum syn by TSSymbol */
	uint32_t syns_count;
	TSFieldId name_field, definition_field, operator_field;

	/* The text, and where in its tree the walk is. */
	const char *text;
	uint32_t len;
	bool vast;     /* it is not parsed */
	bool broken;   /* its tree has errors */
	bool uneven;   /* the parser accepts an indentation Python rejects */
	bool hollow;   /* a block has no statement */
	bool joined;   /* a statement begins in a continued line */
	bool carriage; /* there are carriage returns */
	bool deep;     /* parts nested deeper than DEPTH_MAX were left out */
	TSNode node;   /* the current one */
	enum syn syn;
	ARRAY(struct level) levels;

	/* The facts read so far. */
	ARRAY(struct facts_unit) units;
	ARRAY(struct reader_span) spans; /* of units */
	ARRAY(struct facts_expr) exprs;
	ARRAY(struct reader_place) places; /* of expressions' last tokens */
	ARRAY(uint32_t) lists;
	ARRAY(struct facts_scope) scopes;
	ARRAY(struct facts_block) blocks;
	ARRAY(struct facts_bind) binds;
	ARRAY(struct facts_attr) attrs;
	ARRAY(struct facts_param) params;
	ARRAY(struct facts_site) sites;
	ARRAY(struct facts_variable) variables;
	ARRAY(uint32_t) all; /* strings in __all__ */
	bool all_seen, all_unknown;
	struct strings strings;
	ARRAY(struct reader_piece) pieces;
	ARRAY(struct pending) pending;
	struct pairs variable_of;     /* name -> its variable's last piece */
	ARRAY(uint32_t) first_pieces; /* by variable */

	/* The unit being read, and where in it the walk is. */
	struct facts_unit *unit;
	struct reader_span *span;
	uint32_t block, scope;
	uint32_t home;	/* block that := binds in: not a comprehension's */
	uint32_t comps; /* enclosing comprehensions, up to a lambda */
	uint32_t lambdas;
	uint32_t depth;
	uint32_t block_depth;
	uint32_t line;	 /* of the statement, relative */
	bool annotation; /* strings are types here */
	bool async;	 /* of the current `with` */
	bool assigning;	 /* names bound now are variables of the module */
	uint32_t piece;	 /* of the statement; FACTS_NONE: none yet */
	uint32_t stmt_start, stmt_end, stmt_row, stmt_last_row;

	/* Stacks of parts that are being read. */
	ARRAY(uint32_t) items;
	ARRAY(struct reader_check) checks;
	ARRAY(char) chars;

	/* Lists that go to r->lists at the unit's end. */
	ARRAY(uint32_t) decorators;
	ARRAY(uint32_t) bases;
	ARRAY(uint32_t) returns;
	ARRAY(uint32_t) yields;
	ARRAY(struct reader_outer) outers;

	/* Scratch memory of unit.c. */
	struct pairs bound, path_of;
	ARRAY(uint32_t) paths; /* by expression */
	ARRAY(uint8_t) taken;  /* by expression: called, decorator or base */
	ARRAY(uint64_t) mix;

	ARRAY(char) alone;   /* text of a definition that is read by itself */
	ARRAY(char) decoded; /* a text in another encoding, as UTF-8 */

	/* Scratch memory of scan.c, before the text is parsed. */
	ARRAY(struct gap) gaps;
	ARRAY(struct scan_open) opens;
	ARRAY(TSRange) ranges; /* the text between gaps */
};

/* reader.c: reads what is whole in the error at r->node */
void reader_salvage(struct reader *r);

/* walk.c: from node to node; most callers use down() and next(), below */
void reader_see(struct reader *r, TSNode node); /* makes it the current one */
void reader_begin_at(struct reader *r, TSNode node);
/* To the first child; false: there is none. `tokens`: stop at them, too. */
bool reader_down(struct reader *r, bool tokens);
/* To the second child that carries meaning, skipping the first. */
bool reader_down_second(struct reader *r);
bool reader_next(struct reader *r);
void reader_up(struct reader *r);

/* scan.c: fills r->gaps; returns the number of tokens between them */
uint32_t reader_scan(struct reader *r, const char *text, uint32_t len);

/* expr.c: these return the number of the expression in its unit */
uint32_t reader_expr(struct reader *r);
uint32_t reader_type(struct reader *r); /* an annotation */
uint32_t reader_make(struct reader *r, enum facts_expr_kind kind, uint32_t a,
		     uint32_t b, uint32_t c);
uint32_t reader_name(struct reader *r);
uint32_t reader_args(struct reader *r, bool first_is_type);
struct facts_range reader_list(struct reader *r, uint32_t from);
bool reader_is_expr(enum syn syn);
uint32_t reader_unknown(struct reader *r);
/* items[from ..] as a list, in an expression of this kind. */
uint32_t reader_of_items(struct reader *r, enum facts_expr_kind kind,
			 uint32_t from);
/* One of items[from ..] alone, more as a tuple. */
uint32_t reader_one_or_tuple(struct reader *r, uint32_t from);
/* A node that only wraps an expression; the last, if there are more. */
uint32_t reader_inner(struct reader *r);
/*
 * In some places the grammar binds a star to the first name only: it parses
 * *a.b as (*a).b. Then the star is taken from the part, which was made last,
 * and put on the whole.
 */
bool reader_take_star(struct reader *r, uint32_t *e);
uint32_t reader_put_star(struct reader *r, uint32_t e, bool starred);
void reader_add_site(struct reader *r, enum facts_site_kind kind, uint32_t e,
		     struct reader_place p);

#define NAME_IS(r, e, text)                  \
	(expr_at(r, e)->kind == EXPR_NAME && \
	 string_is(r, expr_at(r, e)->a, text, sizeof(text) - 1))
#define ATTR_IS(r, e, text)                  \
	(expr_at(r, e)->kind == EXPR_ATTR && \
	 string_is(r, expr_at(r, e)->b, text, sizeof(text) - 1))

uint32_t reader_iter(struct reader *r, uint32_t e, bool async);
/* A site for what the syntax around e implies, unless e is a builtin value. */
void reader_implies(struct reader *r, enum facts_site_kind kind, uint32_t e);
void reader_test(struct reader *r, uint32_t e); /* is it true? */

/* operator.c */
/* Where the operator stands whose operand is the current node. */
uint32_t reader_operator(const struct reader *r);
uint32_t reader_binary(struct reader *r, uint32_t left, uint32_t right,
		       uint32_t op);
/* `place` += value, whose operator stands at `at`. */
void reader_augment(struct reader *r, uint32_t at, uint32_t place,
		    uint32_t value);
uint32_t reader_binary_operator(struct reader *r);
uint32_t reader_comparison(struct reader *r);
uint32_t reader_unary(struct reader *r);

/* chain.c: a.b.c, read from the text instead of the tree */
/* The last dot of the current attribute; 0: it must be read from the tree. */
uint32_t reader_last_dot(const struct reader *r);
/* Reads the node's text up to `end`: its end, or one of its dots. */
uint32_t reader_chain(struct reader *r, uint32_t end);

/* logic.c: conditions, and what they imply about names */
uint32_t reader_not(struct reader *r);
uint32_t reader_boolean(struct reader *r);
uint32_t reader_conditional(struct reader *r);
void reader_note_check(struct reader *r, uint32_t e);
/* Binds what checks[from .. to) imply when the condition is `truth`. */
void reader_narrow(struct reader *r, uint32_t from, uint32_t to, bool truth);
/* "a" or "a.b" for a NAME or its ATTR; FACTS_NONE for anything else. */
facts_str reader_place_name(struct reader *r, uint32_t e);
facts_str reader_dotted(struct reader *r, facts_str a, facts_str b);

/* scope.c: expressions with scopes of their own */
uint32_t reader_lambda(struct reader *r);
uint32_t reader_comp(struct reader *r);

/* Enters a new block; returns the one around it, which closing wants. */
uint32_t reader_block_open(struct reader *r, enum facts_block_kind kind);
void reader_block_close(struct reader *r, uint32_t around);
/* Enters a new scope and its outermost block. */
struct reader_enclosing {
	uint32_t block, scope, home, comps;
};
uint32_t reader_scope_open(struct reader *r, bool comp,
			   struct reader_enclosing *ret);
void reader_scope_close(struct reader *r, const struct reader_enclosing *o);

/* string.c */
uint32_t reader_string(struct reader *r);
uint32_t reader_strings(struct reader *r);
bool reader_is_plain_string(const struct reader *r);

/* type.c: an annotation in a string */
uint32_t reader_type_text(struct reader *r, const char *text, uint32_t len,
			  struct reader_place place);

/* stmt.c */
enum { FLOW_ON = 1, FLOW_BREAK = 2 }; /* how a statement may end */
unsigned reader_stmt(struct reader *r);
unsigned reader_suite(struct reader *r);
bool reader_is_stmt(enum syn syn);
/* The name that the current node begins with, as in Name[T]; or "". */
facts_str reader_leading_name(struct reader *r);

/* flow.c: statements that contain blocks */
unsigned reader_if(struct reader *r);
unsigned reader_for(struct reader *r);
unsigned reader_while(struct reader *r);
unsigned reader_try(struct reader *r);
unsigned reader_with(struct reader *r);
unsigned reader_match(struct reader *r);

/* case.c: one case; returns whether it always matches */
bool reader_case(struct reader *r, uint32_t subject, unsigned *ret_flow);

/* bind.c: what a target is bound to */
struct bind_target {
	enum facts_bind_kind kind;
	uint32_t value, extra;
};
struct facts_bind *reader_bind(struct reader *r, enum facts_bind_kind kind,
			       facts_str name, uint32_t value);
void reader_bind_name(struct reader *r, facts_str name, struct bind_target t);
void reader_target(struct reader *r, struct bind_target t);
/* The same for an expression, if it is a NAME or an ATTR of one. */
void reader_bind_place(struct reader *r, uint32_t expr, struct bind_target t);
/* A call as a statement: a method like update() changes its object. */
void reader_bind_call(struct reader *r, uint32_t call);
unsigned reader_import(struct reader *r);
unsigned reader_import_from(struct reader *r);
/* Item i of `count` that `value` is unpacked into; `star` is the starred. */
uint32_t reader_item(struct reader *r, uint32_t value, uint32_t i,
		     uint32_t star, uint32_t count);
/* Adds the strings of the expression to __all__; FACTS_NONE: unknown ones. */
void reader_note_all(struct reader *r, uint32_t expr, bool afresh);

/* def.c: definitions */
void reader_def(struct reader *r); /* queues the current one */
void reader_units(struct reader *r, TSNode root);
/*
 * The same for one definition that begins at `start`, inside an `if` unless
 * that is 0. false: the text holds more than that, or something else.
 */
bool reader_units_alone(struct reader *r, TSNode root, uint32_t start,
			bool method);

/* unit.c: what is derived from a unit once it is read */
void reader_close_unit(struct reader *r);

/* coding.c: the text as UTF-8, *len bytes: itself, or in r->decoded */
const char *reader_decode(struct reader *r, const char *text, size_t *len);

/* text.c: places and hashes, once all units are read */
void reader_texts(struct reader *r);
void reader_hash_variables(struct reader *r);
XXH128_hash_t reader_module_hash(struct reader *r);
/* Adds a piece to the module's text, if the unit being read is the module. */
void reader_add_piece(struct reader *r, uint32_t start, uint32_t end);

/* What is nested deeper is left out. */
static inline bool is_too_deep(struct reader *r)
{
	r->deep |= r->depth >= DEPTH_MAX;
	return r->depth >= DEPTH_MAX;
}

static inline uint32_t expr_count(const struct reader *r)
{
	return r->exprs.count - r->unit->exprs.from;
}

static inline struct facts_expr *expr_at(const struct reader *r, uint32_t e)
{
	assert(e < expr_count(r));
	return &r->exprs.at[r->unit->exprs.from + e];
}

static inline uint32_t start_of(TSNode n)
{
	return ts_node_start_byte(n);
}

static inline uint32_t end_of(TSNode n)
{
	return ts_node_end_byte(n);
}

static inline char char_at(const struct reader *r, uint32_t place)
{
	if (place >= r->len)
		return '\0';
	return r->text[place];
}

/* Sets the place of the newest expression. */
static inline void reader_put_place(struct reader *r, TSPoint p)
{
	struct reader_place *place = array_last(&r->places);

	place->line = p.row - r->span->row;
	place->column = place->line ? p.column : p.column - r->span->column;
}

/* The node's text as a string of the facts. */
static inline facts_str string_of(struct reader *r, TSNode n)
{
	uint32_t start = start_of(n);

	return strings_add(&r->strings, r->text + start, end_of(n) - start);
}

static inline bool string_is(const struct reader *r, facts_str s,
			     const char *text, uint32_t len)
{
	uint32_t from = s ? r->strings.ends.at[s - 1] : 0;

	assert(s < r->strings.ends.count);
	return r->strings.ends.at[s] - from - 1 == len &&
	       !memcmp(r->strings.text.at + from, text, len);
}

/* Stop at tokens and errors, too. */
static inline bool down_any(struct reader *r)
{
	return reader_down(r, true);
}

static inline bool next_any(struct reader *r)
{
	return reader_next(r);
}

/* Skip errors: for nodes that are walked a second time. */
static inline bool next_quiet(struct reader *r)
{
	while (reader_next(r))
		if (r->syn > SYN_ERROR)
			return true;
	return false;
}

static inline bool down_quiet(struct reader *r)
{
	if (!reader_down(r, false))
		return false;
	return r->syn > SYN_ERROR || next_quiet(r);
}

static inline bool next(struct reader *r)
{
	while (reader_next(r)) {
		if (r->syn > SYN_ERROR)
			return true;
		if (r->syn == SYN_ERROR)
			reader_salvage(r);
	}
	return false;
}

static inline bool down(struct reader *r)
{
	if (!reader_down(r, false))
		return false;
	if (r->syn > SYN_ERROR)
		return true;
	if (r->syn == SYN_ERROR)
		reader_salvage(r);
	return next(r);
}

/* Back up: the remaining children can only be errors. */
static inline void done(struct reader *r)
{
	if (!r->broken)
		reader_up(r);
	else
		while (next(r))
			continue;
}

#endif
