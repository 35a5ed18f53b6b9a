/*
 * An SCTP peer on usrsctp, or with KERNEL defined on the sockets of the Linux kernel, for tests of interoperation. It does
 * what it is told on standard input and tells what happens on standard output, a line each; package interop starts it and
 * knows both.
 *
 *   peer [--udp PORT] [--remote-udp PORT] [--bind ADDRESS]... [--ipv6] [--port PORT] [--streams N] [--heartbeat MS]
 *        [--echo] [--quiet] (--listen | --connect ADDRESS --to PORT [--early] [--associations N])
 *
 * --udp encapsulates (RFC 6951); without it, and without --remote-udp, packets go over IP as protocol 132. --bind names
 * the addresses that INIT or INIT-ACK tells; without it, all of the host. --early sends message 0 of 100 bytes with the
 * COOKIE-ECHO (kernel only: usrsctp can do it on one-to-many sockets alone).
 *
 * Commands: "send COUNT STREAMS SIZE PPID ordered|unordered", "shutdown", "abort": on the association that came up last.
 * "echo COUNT WINDOW SIZE": on each association, side by side, send COUNT, and wait for as many to come back.
 * "sustain WARM MS WINDOW SIZE": keep WINDOW messages under way on each for WARM and MS milliseconds, of which MS count, and
 * wait for what is under way to come back.
 * "run COMMAND": have a shell run it. "quit".
 *
 * Lines: "ready"; "up ID OUTBOUND INBOUND"; "message ID STREAM PPID ordered|unordered LENGTH FNV1A", not
 * with --quiet; "sent COUNT"; "ran STATUS"; "echoed COUNT NANOSECONDS P50 P99";
 * "sustained SENT BACK COUNTED P50 P99"; "restart ID"; "closed ID shutdown|lost|aborted|none ERROR TEXT";
 * "refused ERRNO TEXT"; "fault TEXT".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef KERNEL
#include "kernel.h"
#else
#include <linux/capability.h>
#include <sys/syscall.h>
#include <usrsctp.h>
#define ABORT_CAUSES 4 /* where they begin in what a notification has of an ABORT chunk: behind its header */
#endif

enum { EARLY_SIZE = 100, EARLY_PPID = 60, MAX_BIND = 8, MAX_ASSOCIATIONS = 1024, MAX_MESSAGE = 1 << 18, BUFFER = 1 << 20 };

struct options {
	int udp, remote_udp, port, streams, heartbeat, listen, echo, quiet, early, to, family, bound, associations;
	const char *connect;
	const char *bind[MAX_BIND];
};

struct association {
	int id;
	struct socket *socket; /* not closed before the process ends, so that no thread has one that is gone */
	const struct options *options;
	const char *end; /* how it ended, by the notifications */
	unsigned error;
	char text[256]; /* of the peer's ABORT */

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	long echoed; /* what came, since the command echo */
	int ended;
};

/* All associations; commands are for the last. */
static struct {
	pthread_mutex_t mutex;
	struct association *all[MAX_ASSOCIATIONS];
	int count;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* tell prints a line at once, whole. */
static void tell(const char *format, ...)
{
	va_list arguments;

	flockfile(stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	funlockfile(stdout);
}

static void fault(const char *what)
{
	tell("fault %s: %s", what, strerror(errno));
	exit(1);
}

static void set(struct socket *s, int option, const void *value, socklen_t length, const char *what)
{
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, option, value, length) < 0)
		fault(what);
}

static struct sockaddr_storage address(const struct options *o, const char *host, int port)
{
	struct sockaddr_storage storage;
	struct sockaddr_in *four = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&storage;
	int ok = 1;

	memset(&storage, 0, sizeof storage);
	storage.ss_family = o->family;
	if (o->family == AF_INET) {
		four->sin_port = htons(port);
		if (host)
			ok = inet_pton(AF_INET, host, &four->sin_addr);
	} else {
		six->sin6_port = htons(port);
		if (host)
			ok = inet_pton(AF_INET6, host, &six->sin6_addr);
	}
	if (ok != 1) {
		errno = EINVAL;
		fault(host);
	}
	return storage;
}

static socklen_t length_of(const struct options *o)
{
	return o->family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* configure sets what an association inherits. */
static void configure(struct socket *s, const struct options *o)
{
	const uint16_t events[] = {SCTP_ASSOC_CHANGE, SCTP_SHUTDOWN_EVENT};
	struct sctp_initmsg init = {.sinit_num_ostreams = o->streams, .sinit_max_instreams = o->streams};
	int on = 1, size = BUFFER;

	set(s, SCTP_INITMSG, &init, sizeof init, "set the number of streams");
	set(s, SCTP_RECVRCVINFO, &on, sizeof on, "ask for stream ids");
	set(s, SCTP_NODELAY, &on, sizeof on, "send at once");
	if (usrsctp_setsockopt(s, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) < 0)
		fault("size the send buffer");
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		struct sctp_event event = {.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = events[i], .se_on = 1};

		set(s, SCTP_EVENT, &event, sizeof event, "ask for notifications");
	}
	if (o->remote_udp) {
		struct sctp_udpencaps encapsulation = {.sue_port = htons(o->remote_udp)};

		encapsulation.sue_address.ss_family = o->family;
		set(s, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof encapsulation, "encapsulate");
	}
}

static struct socket *open_socket(const struct options *o)
{
	struct socket *s = usrsctp_socket(o->family, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sockaddr_storage local;

	if (!s)
		fault("open a socket");
	configure(s, o);
	if (o->bound == 0 && o->port == 0)
		return s;
	local = address(o, o->bound ? o->bind[0] : NULL, o->port);
	if (usrsctp_bind(s, (struct sockaddr *)&local, length_of(o)) < 0)
		fault("bind");
	for (int i = 1; i < o->bound; i++) {
		local = address(o, o->bind[i], o->port);
		if (usrsctp_bindx(s, (struct sockaddr *)&local, 1, SCTP_BINDX_ADD_ADDR) < 0)
			fault("bind another address");
	}
	return s;
}

static uint32_t fnv1a(const unsigned char *b, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ b[i]) * 16777619u;
	return hash;
}

/* note_abort keeps the text of the first cause of an ABORT chunk. */
static void note_abort(struct association *a, const uint8_t *chunk, size_t length)
{
	const size_t header = ABORT_CAUSES + 4;
	size_t text = 0;

	if (length < header)
		return;
	a->error = chunk[ABORT_CAUSES] << 8 | chunk[ABORT_CAUSES + 1];
	for (size_t i = header; i < length && text < sizeof a->text - 1; i++)
		if (chunk[i] > ' ' && chunk[i] < 127)
			a->text[text++] = chunk[i];
		else if (chunk[i] == ' ')
			a->text[text++] = '_';
	a->text[text] = 0;
}

static void notified(struct association *a, const union sctp_notification *n)
{
	const struct sctp_assoc_change *change = &n->sn_assoc_change;

	if (n->sn_header.sn_type != SCTP_ASSOC_CHANGE)
		return;
	switch (change->sac_state) {
	case SCTP_RESTART:
		tell("restart %d", a->id);
		break;
	case SCTP_SHUTDOWN_COMP:
		a->end = "shutdown";
		break;
	case SCTP_COMM_LOST:
		a->end = "lost";
		a->error = change->sac_error;
		if (change->sac_length > sizeof *change) {
			a->end = "aborted";
			note_abort(a, change->sac_info, change->sac_length - sizeof *change);
		}
		break;
	}
}

static int send_one(struct socket *s, const void *b, size_t length, int stream, uint32_t ppid, int flags)
{
	struct sctp_sndinfo info = {.snd_sid = stream, .snd_ppid = htonl(ppid), .snd_flags = flags};

	return usrsctp_sendv(s, b, length, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) < 0 ? -1 : 0;
}

static void received(struct association *a, const unsigned char *b, size_t length, const struct sctp_rcvinfo *info)
{
	int unordered = info->rcv_flags & SCTP_UNORDERED ? SCTP_UNORDERED : 0;

	if (!a->options->quiet)
		tell("message %d %u %u %s %zu %08x", a->id, info->rcv_sid, ntohl(info->rcv_ppid),
		     unordered ? "unordered" : "ordered", length, fnv1a(b, length));
	if (a->options->echo && send_one(a->socket, b, length, info->rcv_sid, ntohl(info->rcv_ppid), unordered) < 0)
		tell("fault echo: %s", strerror(errno));
	pthread_mutex_lock(&a->mutex);
	a->echoed++;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->mutex);
}

/* attend reads an association to its end. */
static void *attend(void *argument)
{
	struct association *a = argument;
	unsigned char *b = malloc(MAX_MESSAGE);
	size_t held = 0;

	if (!b)
		fault("get memory");
	for (;;) {
		struct sockaddr_storage from;
		struct sctp_rcvinfo info;
		socklen_t from_length = sizeof from, info_length = sizeof info;
		unsigned kind = 0;
		int flags = 0;
		ssize_t n = usrsctp_recvv(a->socket, b + held, MAX_MESSAGE - held, (struct sockaddr *)&from, &from_length,
					  &info, &info_length, &kind, &flags);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		if (flags & MSG_NOTIFICATION) {
			notified(a, (const union sctp_notification *)(b + held));
			continue;
		}
		held += n;
		if (flags & MSG_EOR) {
			received(a, b, held, &info);
			held = 0;
		} else if (held == MAX_MESSAGE) {
			tell("fault message longer than %d", MAX_MESSAGE);
			break;
		}
	}
	free(b);
	pthread_mutex_lock(&a->mutex);
	a->ended = 1;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->mutex);
	tell("closed %d %s %u %s", a->id, a->end ? a->end : "none", a->error, a->text);
	return NULL;
}

/* take attends to an association that is up. */
static void take(struct socket *s, const struct options *o)
{
	struct association *a = calloc(1, sizeof *a);
	struct sctp_status status;
	socklen_t length = sizeof status;
	pthread_t thread;

	if (!a)
		fault("get memory");
	memset(&status, 0, sizeof status);
	if (usrsctp_getsockopt(s, IPPROTO_SCTP, SCTP_STATUS, &status, &length) < 0)
		memset(&status, 0, sizeof status); /* it ended at once */
	a->socket = s;
	a->options = o;
	pthread_mutex_init(&a->mutex, NULL);
	pthread_cond_init(&a->changed, NULL);
	pthread_mutex_lock(&state.mutex);
	if (state.count == MAX_ASSOCIATIONS) {
		errno = ENOBUFS;
		fault("take another association");
	}
	state.all[state.count++] = a;
	a->id = state.count;
	pthread_mutex_unlock(&state.mutex);
	tell("up %d %u %u", a->id, status.sstat_outstrms, status.sstat_instrms);
	if (pthread_create(&thread, NULL, attend, a))
		fault("start a thread");
	pthread_detach(thread);
}

static void *serve(void *argument)
{
	const struct options *o = argument;
	struct socket *s = open_socket(o);

	if (usrsctp_listen(s, 256) < 0)
		fault("listen");
	tell("ready");
	for (;;) {
		struct socket *one = usrsctp_accept(s, NULL, NULL);

		if (one)
			take(one, o);
		else if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED)
			fault("accept");
	}
	return NULL;
}

/* fill makes message number n: its number, then bytes that depend on it. */
static void fill(unsigned char *b, int size, uint32_t n)
{
	for (int i = 0; i < size; i++)
		b[i] = i < 4 ? n >> (24 - 8 * i) : n + i;
}

/* send_early sets an association up with its first message. */
static int send_early(struct socket *s, struct sockaddr *to)
{
	struct sctp_sndinfo info = {.snd_ppid = htonl(EARLY_PPID)};
	unsigned char b[EARLY_SIZE];

	fill(b, sizeof b, 0);
	return usrsctp_sendv(s, b, sizeof b, to, 1, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) < 0 ? -1 : 0;
}

static void dial(const struct options *o)
{
	struct socket *s = open_socket(o);
	struct sockaddr_storage peer = address(o, o->connect, o->to);

	if (o->early ? send_early(s, (struct sockaddr *)&peer) < 0
		     : usrsctp_connect(s, (struct sockaddr *)&peer, length_of(o)) < 0) {
		tell("refused %d %s", errno, strerror(errno));
		exit(0);
	}
	take(s, o);
}

static struct socket *current(void)
{
	struct socket *s;

	pthread_mutex_lock(&state.mutex);
	s = state.count ? state.all[state.count - 1]->socket : NULL;
	pthread_mutex_unlock(&state.mutex);
	if (!s)
		tell("fault there is no association");
	return s;
}

static void send_many(int count, int streams, int size, uint32_t ppid, int flags)
{
	struct socket *s = current();
	unsigned char *b = malloc(size);

	if (!b)
		fault("get memory");
	for (int n = 0; s && n < count; n++) {
		fill(b, size, n);
		if (send_one(s, b, size, n % streams, ppid, flags) < 0) {
			tell("fault send %d: %s", n, strerror(errno));
			s = NULL;
		}
	}
	if (s)
		tell("sent %d", count);
	free(b);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* run is the command echo on one association. */
struct run {
	struct association *association;
	pthread_t thread;
	int count, window, size, back;
	int64_t *times; /* when message n was sent, then how long it took */
};

/* pass sends count messages, of which at most window are under way, and waits for the echoes, which come in order. */
static void *pass(void *argument)
{
	struct run *r = argument;
	struct association *a = r->association;
	unsigned char *b = malloc(r->size);
	int sent = 0;

	if (!b)
		fault("get memory");
	pthread_mutex_lock(&a->mutex);
	while (r->back < r->count) {
		while (r->back < a->echoed && r->back < sent) {
			r->times[r->back] = now() - r->times[r->back];
			r->back++;
		}
		if (a->ended)
			break;
		if (sent == r->count || sent - r->back >= r->window) {
			if (r->back < r->count)
				pthread_cond_wait(&a->changed, &a->mutex);
			continue;
		}
		r->times[sent] = now();
		pthread_mutex_unlock(&a->mutex);
		fill(b, r->size, sent);
		if (send_one(a->socket, b, r->size, 0, 60, 0) < 0) {
			tell("fault send %d: %s", sent, strerror(errno));
			free(b);
			return NULL;
		}
		pthread_mutex_lock(&a->mutex);
		sent++;
	}
	pthread_mutex_unlock(&a->mutex);
	free(b);
	return NULL;
}

static void echo(int count, int window, int size)
{
	static struct run runs[MAX_ASSOCIATIONS];
	int64_t *times, begun;
	int back = 0, n;

	pthread_mutex_lock(&state.mutex);
	n = state.count;
	pthread_mutex_unlock(&state.mutex);
	times = calloc((size_t)n * count + 1, sizeof *times);
	if (!times)
		fault("get memory");
	begun = now();
	for (int i = 0; i < n; i++) {
		struct association *a = state.all[i];

		pthread_mutex_lock(&a->mutex);
		a->echoed = 0;
		pthread_mutex_unlock(&a->mutex);
		runs[i] = (struct run){.association = a, .count = count, .window = window, .size = size,
				       .times = times + (size_t)i * count};
		if (pthread_create(&runs[i].thread, NULL, pass, &runs[i]))
			fault("start a thread");
	}
	for (int i = 0; i < n; i++) {
		pthread_join(runs[i].thread, NULL);
		memmove(times + back, runs[i].times, runs[i].back * sizeof *times);
		back += runs[i].back;
	}
	begun = now() - begun;
	qsort(times, back, sizeof *times, ascending);
	tell("echoed %d %lld %lld %lld", back, (long long)begun, back ? (long long)times[back / 2] : 0,
	     back ? (long long)times[back * 99LL / 100] : 0);
	free(times);
}

/* load is the command sustain on one association. */
struct load {
	struct association *association;
	pthread_t thread;
	int window, size;
	int64_t from, until; /* what comes back between counts */
	long sent, back, counted, room;
	int64_t *times; /* what those that count took */
};

static void note(struct load *l, int64_t time)
{
	if (l->counted == l->room) {
		l->room = l->room ? 2 * l->room : 1024;
		l->times = realloc(l->times, l->room * sizeof *l->times);
		if (!l->times)
			fault("get memory");
	}
	l->times[l->counted++] = time;
}

/* keep keeps window messages under way until it is time, and waits for the echoes, which come in order. */
static void *keep(void *argument)
{
	struct load *l = argument;
	struct association *a = l->association;
	unsigned char *b = malloc(l->size);
	int64_t *begun = calloc(l->window, sizeof *begun), t;

	if (!b || !begun)
		fault("get memory");
	pthread_mutex_lock(&a->mutex);
	for (;;) {
		t = now();
		for (; l->back < a->echoed && l->back < l->sent; l->back++)
			if (t >= l->from && t < l->until)
				note(l, t - begun[l->back % l->window]);
		if (a->ended || (t >= l->until && l->back == l->sent))
			break;
		if (t >= l->until || l->sent - l->back >= l->window) {
			pthread_cond_wait(&a->changed, &a->mutex);
			continue;
		}
		begun[l->sent % l->window] = t;
		pthread_mutex_unlock(&a->mutex);
		fill(b, l->size, l->sent);
		if (send_one(a->socket, b, l->size, 0, 60, 0) < 0) {
			tell("fault send %ld: %s", l->sent, strerror(errno));
			pthread_mutex_lock(&a->mutex);
			break;
		}
		pthread_mutex_lock(&a->mutex);
		l->sent++;
	}
	pthread_mutex_unlock(&a->mutex);
	free(b);
	free(begun);
	return NULL;
}

static void sustain(int warm, int ms, int window, int size)
{
	static struct load loads[MAX_ASSOCIATIONS];
	int64_t begun = now(), *times;
	long sent = 0, back = 0, counted = 0;
	int n;

	pthread_mutex_lock(&state.mutex);
	n = state.count;
	pthread_mutex_unlock(&state.mutex);
	for (int i = 0; i < n; i++) {
		struct association *a = state.all[i];

		pthread_mutex_lock(&a->mutex);
		a->echoed = 0;
		pthread_mutex_unlock(&a->mutex);
		loads[i] = (struct load){.association = a, .window = window, .size = size, .from = begun + warm * 1000000LL,
					 .until = begun + (warm + (int64_t)ms) * 1000000LL};
		if (pthread_create(&loads[i].thread, NULL, keep, &loads[i]))
			fault("start a thread");
	}
	for (int i = 0; i < n; i++) {
		pthread_join(loads[i].thread, NULL);
		sent += loads[i].sent;
		back += loads[i].back;
		counted += loads[i].counted;
	}
	times = calloc(counted + 1, sizeof *times);
	if (!times)
		fault("get memory");
	counted = 0;
	for (int i = 0; i < n; i++) {
		if (loads[i].counted)
			memcpy(times + counted, loads[i].times, loads[i].counted * sizeof *times);
		counted += loads[i].counted;
		free(loads[i].times);
	}
	qsort(times, counted, sizeof *times, ascending);
	tell("sustained %ld %ld %ld %lld %lld", sent, back, counted, (long long)times[counted / 2],
	     (long long)times[counted * 99 / 100]);
	free(times);
}

static void obey(const char *line)
{
	unsigned count, streams, size, ppid, window, warm, ms;
	struct socket *s;
	char order[16];

	if (sscanf(line, "send %u %u %u %u %15s", &count, &streams, &size, &ppid, order) == 5) {
		send_many(count, streams, size, ppid, strcmp(order, "unordered") ? 0 : SCTP_UNORDERED);
	} else if (sscanf(line, "echo %u %u %u", &count, &window, &size) == 3) {
		echo(count, window, size);
	} else if (sscanf(line, "sustain %u %u %u %u", &warm, &ms, &window, &size) == 4 && window > 0 && size > 0) {
		sustain(warm, ms, window, size);
	} else if (!strncmp(line, "run ", 4)) {
		tell("ran %d", system(line + 4));
	} else if (!strcmp(line, "shutdown\n")) {
		if ((s = current()) && usrsctp_shutdown(s, SHUT_WR) < 0)
			tell("fault shutdown: %s", strerror(errno));
	} else if (!strcmp(line, "abort\n")) {
		if ((s = current()) && send_one(s, "peer aborts", 11, 0, 0, SCTP_ABORT) < 0)
			tell("fault abort: %s", strerror(errno));
	} else {
		tell("fault unknown command: %s", line);
	}
}

static int number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || end == text || n < 0 || n > 1 << 20) {
		errno = EINVAL;
		fault(text);
	}
	return n;
}

static void parse(int argc, char **argv, struct options *o)
{
	enum { UDP = 1, REMOTE_UDP, BIND, IPV6, PORT, STREAMS, HEARTBEAT, ECHO_BACK, QUIET, LISTEN, CONNECT, TO, EARLY,
	       ASSOCIATIONS };
	const struct option known[] = {
		{"udp", 1, NULL, UDP}, {"remote-udp", 1, NULL, REMOTE_UDP}, {"bind", 1, NULL, BIND}, {"ipv6", 0, NULL, IPV6},
		{"port", 1, NULL, PORT}, {"streams", 1, NULL, STREAMS}, {"heartbeat", 1, NULL, HEARTBEAT},
		{"echo", 0, NULL, ECHO_BACK}, {"quiet", 0, NULL, QUIET}, {"listen", 0, NULL, LISTEN}, {"connect", 1, NULL, CONNECT}, {"to", 1, NULL, TO},
		{"early", 0, NULL, EARLY}, {"associations", 1, NULL, ASSOCIATIONS},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case UDP: o->udp = number(optarg); break;
		case REMOTE_UDP: o->remote_udp = number(optarg); break;
		case BIND:
			if (o->bound < MAX_BIND)
				o->bind[o->bound++] = optarg;
			break;
		case IPV6: o->family = AF_INET6; break;
		case PORT: o->port = number(optarg); break;
		case STREAMS: o->streams = number(optarg); break;
		case HEARTBEAT: o->heartbeat = number(optarg); break;
		case ECHO_BACK: o->echo = 1; break;
		case QUIET: o->quiet = 1; break;
		case EARLY: o->early = 1; break;
		case LISTEN: o->listen = 1; break;
		case CONNECT: o->connect = optarg; break;
		case TO: o->to = number(optarg); break;
		case ASSOCIATIONS: o->associations = number(optarg); break;
		default: errno = EINVAL; fault("options");
		}
	}
	if (!o->listen == !o->connect) {
		errno = EINVAL;
		fault("--listen or --connect");
	}
}

/*
 * leave_ip has usrsctp open no raw sockets, which it always tries, encapsulated or not: they would hear all SCTP of this
 * host's, and answer for ports that are served by others with ABORT.
 */
static void leave_ip(void)
{
#ifndef KERNEL
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		fault("read capabilities");
	data[0].effective &= ~(1u << CAP_NET_RAW); /* only of this thread, and of those that it starts */
	if (syscall(SYS_capset, &header, data) < 0)
		fault("give up CAP_NET_RAW");
#endif
}

static void debug(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}

int main(int argc, char **argv)
{
	static struct options o = {.streams = 16, .family = AF_INET, .associations = 1};
	pthread_t server;
	char line[256];

	parse(argc, argv, &o);
	if (o.udp)
		leave_ip();
	usrsctp_init(o.udp, NULL, debug);
	usrsctp_sysctl_set_sctp_blackhole(0);
	if (o.heartbeat)
		usrsctp_sysctl_set_sctp_heartbeat_interval_default(o.heartbeat);
	if (o.listen && pthread_create(&server, NULL, serve, &o))
		fault("start a thread");
	for (int i = 0; o.connect && i < o.associations; i++)
		dial(&o);
	while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n"))
		obey(line);
	return 0; /* usrsctp_finish fails while an association is there; who wants it ended well says so before */
}
