/*
 * The clocks, in nanoseconds. Monotonic time is for intervals and deadlines
 * within one boot, wall time (since 1970) for dates that are stored or shown.
 * Cannot fail. Any thread may call.
 */
#ifndef STATETAPE_GRAPH_BASE_CLOCK_H
#define STATETAPE_GRAPH_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

static inline int64_t timespec_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* For clocks that have no function below, such as processor time. */
static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return timespec_ns(t);
}

static inline int64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t clock_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static inline double ns_seconds(int64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static inline int64_t clock_mono_ms(void)
{
	return clock_mono_ns() / NS_PER_MS;
}

static inline int64_t clock_wall_ms(void)
{
	return clock_wall_ns() / NS_PER_MS;
}

#endif
