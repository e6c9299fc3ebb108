#include "fs/author/actor.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "tests/unit/fs/author/actor_case.h"

static void the_chain_ends_at_the_sessions_root(void **state)
{
	struct puppet p;
	struct actor *a;
	const struct journal_author *up;

	puppet_make("parent", &p);
	tell(&p, PUPPET_FORK, NULL);
	tell(&p, PUPPET_EXEC, "child");
	a = speaker(*state, &p);
	up = actor_author(a)->parent;
	assert_non_null(up);
	assert_int_equal(up->pid, p.pid);
	assert_string_equal(up->cmdline, "marionette puppet parent");
	assert_false(up->session_root);
	up = up->parent;
	assert_non_null(up);
	assert_int_equal(up->pid, getpid());
	assert_true(up->session_root);
	assert_null(up->parent);
	actor_unref(a);
	puppet_free(&p);
}

static void without_a_root_the_chain_ends_at_init(void **state)
{
	struct actors *as;
	struct actor *a;
	const struct journal_author *up;

	(void)state;
	assert_int_equal(actors_new(0, &as), 0);
	a = actors_get(as, getpid());
	up = actor_author(a);
	while (up->parent)
		up = up->parent;
	/* A container's first process may have a parent we cannot see. */
	assert_true(up->pid == 1 || up->comm[0] != '\0');
	assert_false(up->session_root);
	actor_unref(a);
	actors_free(as);
}

static void a_parent_that_has_execed_since_is_named_as_it_is_now(void **state)
{
	struct puppet p;
	struct actor *a;

	puppet_make("early", &p);
	assert_speaker(*state, &p, "early");
	tell(&p, PUPPET_EXEC, "late");
	tell(&p, PUPPET_FORK, NULL);
	a = speaker(*state, &p);
	assert_string_equal(actor_author(a)->parent->cmdline,
			    "marionette puppet late");
	actor_unref(a);
	puppet_free(&p);
}

static void siblings_share_their_parent(void **state)
{
	struct puppet p;
	struct actor *one;
	struct actor *two;

	puppet_make("parent", &p);
	tell(&p, PUPPET_FORK, NULL);
	one = speaker(*state, &p);
	tell(&p, PUPPET_END, NULL);
	tell(&p, PUPPET_FORK, NULL);
	two = speaker(*state, &p);
	assert_ptr_equal(actor_author(one)->parent, actor_author(two)->parent);
	actor_unref(one);
	actor_unref(two);
	puppet_free(&p);
}

static void an_orphan_is_the_child_of_whoever_it_was_given_to(void **state)
{
	struct puppet p;
	struct actor *a;
	pid_t orphan;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	puppet_make("orphan", &p);
	tell(&p, PUPPET_ORPHAN, NULL);
	orphan = p.at.pid;
	a = speaker(*state, &p);
	assert_int_equal(actor_author(a)->parent->pid, getpid());
	actor_unref(a);
	puppet_free(&p);
	assert_int_equal(waitpid(orphan, NULL, 0), orphan);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static int chain_length(struct actor *a)
{
	int links = 0;

	for (struct journal_author *up = actor_author(a); up; up = up->parent)
		links++;
	return links;
}

static void a_chain_met_link_by_link_has_a_maximum(void **state)
{
	struct puppet p;

	puppet_make("deep", &p);
	for (int i = 0; i < 2 * ACTOR_CHAIN_MAX; i++) {
		struct actor *a;

		tell(&p, PUPPET_FORK, NULL);
		a = speaker(*state, &p);
		assert_in_range(chain_length(a), 1, ACTOR_CHAIN_MAX);
		actor_unref(a);
	}
	puppet_free(&p);
}

static void
a_chain_met_at_its_end_is_climbed_so_far_and_no_further(void **state)
{
	struct puppet p;
	struct actor *a;

	puppet_make("deep", &p);
	for (int i = 0; i < 2 * ACTOR_CHAIN_MAX; i++)
		tell(&p, PUPPET_FORK, NULL);
	a = speaker(*state, &p);
	assert_int_equal(chain_length(a), ACTOR_CHAIN_MAX);
	assert_int_equal(actors_count(*state), ACTOR_CHAIN_MAX);
	actor_unref(a);
	puppet_free(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(the_chain_ends_at_the_sessions_root),
		TEST(without_a_root_the_chain_ends_at_init),
		TEST(a_parent_that_has_execed_since_is_named_as_it_is_now),
		TEST(siblings_share_their_parent),
		TEST(an_orphan_is_the_child_of_whoever_it_was_given_to),
		TEST(a_chain_met_link_by_link_has_a_maximum),
		TEST(a_chain_met_at_its_end_is_climbed_so_far_and_no_further),
	};

	puppet_play(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
