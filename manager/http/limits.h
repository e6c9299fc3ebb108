/*
 * Every limit of the proxy, with the consequence of reaching it. A request
 * that reaches one is forwarded unchanged where that is possible.
 */
#ifndef STATETAPE_MANAGER_HTTP_LIMITS_H
#define STATETAPE_MANAGER_HTTP_LIMITS_H

/*
 * Client connections, each with a thread. An agent opens a handful; more wait
 * in the kernel's queue until one closes.
 */
#define PROXY_CONNECTIONS_MAX 512

/* The length of that queue. */
#define PROXY_BACKLOG 128

/*
 * Of these, how many may not have shown the secret yet, and how many may be
 * other users'. For one more, the oldest of them is closed.
 */
#define DOOR_UNKNOWN_MAX   128
#define DOOR_STRANGERS_MAX 16

/*
 * Memory of a connection for the request line and headers, and then for
 * reading the body block by block. Longer headers are answered with 431.
 */
#define PROXY_CONNECTION_MEMORY (256u << 10)

/* The stack of a connection's thread; brain_think() runs on it. */
#define PROXY_STACK (1u << 20)

/* Headers of one request, and of one reply. More: 431, 502. */
#define PROXY_HEADERS_MAX      512
#define PROXY_REPLY_HEADER_MAX (256u << 10)

/* Seconds a connection may be silent between requests, or inside one. */
#define PROXY_IDLE_SECONDS 300

/* The longest body we read, compressed or not; longer ones stream through. */
#define PROXY_BODY_MAX (64u << 20)

/*
 * Bodies longer than this are thought about one at a time, so that a few of
 * them cannot take all processors from the requests of other conversations.
 */
#define PROXY_BODY_LARGE (8u << 20)

/* Bodies held by all connections together. Beyond it bodies stream through. */
#define PROXY_BODIES_MAX (512u << 20)

/*
 * malloc: blocks of PROXY_MALLOC_KEEPS and more are mapped, and unmapped when
 * freed; each of the arenas keeps up to PROXY_MALLOC_TOP free bytes at its end.
 * A request of 1 MB needs less than that while the brain works on it; faulting
 * it in page by page each time would be a good part of the request's time.
 */
#define PROXY_MALLOC_KEEPS  (768 << 10)
#define PROXY_MALLOC_ARENAS 2
#define PROXY_MALLOC_TOP    (3 << 20)

/*
 * Bodies without a transcript are held up to this size all the same: a held
 * body can be sent again when a kept connection turns out to be closed.
 */
#define PROXY_SMALL_BODY (1u << 20)

/* Bytes of a reply held for a slow client; then upstream has to wait too. */
#define PROXY_REPLY_HELD (64u << 10)

/* The largest block handed to a client at once. */
#define PROXY_REPLY_BLOCK (32u << 10)

/* The brain is shown this much of a decoded reply, and no more. */
#define PROXY_DECODED_MAX (256u << 20)

/* At shutdown: how long replies under way may take to complete. */
#define PROXY_GRACE_MS 10000

/* The largest block sent upstream at once. */
#define UPSTREAM_SEND_BLOCK (256u << 10)

/* Idle curl handles, and so connections to upstream, kept for reuse. */
#define UPSTREAM_IDLE_MAX 32

/* Seconds for reaching upstream (TLS included); replies have no limit. */
#define UPSTREAM_CONNECT_SECONDS 30

#endif
