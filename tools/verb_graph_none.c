/*
 * statetape graph, where it was built without the grammar of Python: says so.
 */
#include "tools/say.h"
#include "tools/verbs.h"

static int refuse(const struct invocation *in)
{
	return complain("'%s' needs the grammar of Python, which was not there "
			"when this statetape was built; run tools/setup and "
			"build it again",
			in->verb->name);
}

#define REFUSED(verb)                         \
	int verb(const struct invocation *in) \
	{                                     \
		return refuse(in);            \
	}

REFUSED(verb_graph_symbols)
REFUSED(verb_graph_edges)
REFUSED(verb_graph_callers)
REFUSED(verb_graph_callees)
REFUSED(verb_graph_impact)
REFUSED(verb_graph_at)
REFUSED(verb_graph_stats)
REFUSED(verb_graph_diff)
REFUSED(verb_graph_follow)
