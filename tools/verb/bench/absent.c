/* In place of the benchmark of policies: PCRE2 was not there to build it. */
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

int verb_bench(const struct invocation *in)
{
	(void)in;
	return say_error("this statetape was built without PCRE2, which the "
			 "benchmark needs: install libpcre2-dev and build it "
			 "again");
}
