/*
 * The part of usrsctp's interface that peer.c uses, on SCTP sockets of the Linux kernel. What is told to usrsctp as a
 * whole goes to the sysctls of the network namespace, which is why the program wants one of its own.
 */
#include <fcntl.h>
#include <linux/sctp.h>
#include <poll.h>
#include <stdatomic.h>

#define SCTP_SENDV_SNDINFO 0 /* the only kind of ancillary data there is here */
#define ABORT_CAUSES 0	     /* where they begin in what a notification has of an ABORT chunk */
#define IDLE_MS 20	     /* how soon a reader sees that the association is to be aborted, or gone */

struct socket {
	int fd;
	atomic_int abort;
};

static int usrsctp_sysctl(const char *name, int value)
{
	char path[128], text[16];
	int length = snprintf(text, sizeof text, "%d", value), file, ok;

	snprintf(path, sizeof path, "/proc/sys/net/sctp/%s", name);
	file = open(path, O_WRONLY);
	ok = file >= 0 && write(file, text, length) == length;
	if (!ok)
		printf("fault write %d to %s: %s\n", value, path, strerror(errno));
	if (file >= 0)
		close(file);
	return ok ? 0 : -1;
}

/* usrsctp_init binds the port of the encapsulation, which must not change while an association is there. */
static void usrsctp_init(uint16_t udp, const void *output, void (*debug)(const char *, ...))
{
	(void)output;
	(void)debug;
	if (udp && usrsctp_sysctl("udp_port", udp) < 0)
		exit(1);
}

static void usrsctp_sysctl_set_sctp_blackhole(int on) { (void)on; /* a kernel always answers */ }

static void usrsctp_sysctl_set_sctp_heartbeat_interval_default(int ms)
{
	if (usrsctp_sysctl("hb_interval", ms) < 0)
		exit(1);
}

static struct socket *wrapped(int fd)
{
	struct socket *s = fd < 0 ? NULL : calloc(1, sizeof *s);

	if (s)
		s->fd = fd;
	return s;
}

static struct socket *usrsctp_socket(int family, int type, int protocol, void *receive, void *send, int threshold, void *info)
{
	(void)receive;
	(void)send;
	(void)threshold;
	(void)info;
	return wrapped(socket(family, type, protocol));
}

static int usrsctp_setsockopt(struct socket *s, int level, int option, const void *value, socklen_t length)
{
	return setsockopt(s->fd, level, option, value, length);
}

static int usrsctp_getsockopt(struct socket *s, int level, int option, void *value, socklen_t *length)
{
	return getsockopt(s->fd, level, option, value, length);
}

static int usrsctp_bind(struct socket *s, struct sockaddr *a, socklen_t length) { return bind(s->fd, a, length); }

static int usrsctp_bindx(struct socket *s, struct sockaddr *a, int count, int flags)
{
	size_t one = a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

	(void)flags; /* peer.c only adds */
	return setsockopt(s->fd, IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_ADD, a, one * count);
}

static int usrsctp_listen(struct socket *s, int backlog) { return listen(s->fd, backlog); }

static int usrsctp_connect(struct socket *s, struct sockaddr *a, socklen_t length) { return connect(s->fd, a, length); }

static int usrsctp_shutdown(struct socket *s, int how) { return shutdown(s->fd, how); }

static struct socket *usrsctp_accept(struct socket *s, struct sockaddr *from, socklen_t *length)
{
	return wrapped(accept(s->fd, from, length));
}

/* usrsctp_sendv leaves an ABORT to the reader of the socket: the kernel refuses it as a flag on a one-to-one socket, and sends
 * one when such a socket that does not linger is closed, but not while a call on it is under way. It gives no reason then. */
static ssize_t usrsctp_sendv(struct socket *s, const void *b, size_t length, struct sockaddr *to, int count, void *info,
			     socklen_t info_length, unsigned kind, int flags)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct sctp_sndinfo))];
	} control = {.header = {.cmsg_len = CMSG_LEN(info_length), .cmsg_level = IPPROTO_SCTP, .cmsg_type = SCTP_SNDINFO}};
	struct iovec part = {.iov_base = (void *)b, .iov_len = length};
	struct msghdr m = {.msg_name = to, .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
			   .msg_controllen = CMSG_SPACE(info_length)};

	(void)kind;
	if (((struct sctp_sndinfo *)info)->snd_flags & SCTP_ABORT) {
		s->abort = 1;
		return length;
	}
	if (count)
		m.msg_namelen = to->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	memcpy(CMSG_DATA(&control.header), info, info_length);
	return sendmsg(s->fd, &m, flags | MSG_NOSIGNAL);
}

/* gone says that the association of a socket is no more. There may be a notification behind the end of the data until then,
 * and the end of the data is not told to who shut down himself. */
static int gone(struct socket *s)
{
	struct sctp_status status = {0};
	socklen_t length = sizeof status;

	return getsockopt(s->fd, IPPROTO_SCTP, SCTP_STATUS, &status, &length) < 0;
}

static ssize_t receive_one(struct socket *s, void *b, size_t length, struct sctp_rcvinfo *info, int *flags)
{
	union {
		struct cmsghdr header;
		char room[256];
	} control;
	struct iovec part = {.iov_base = b, .iov_len = length};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	ssize_t n = recvmsg(s->fd, &m, MSG_DONTWAIT);

	*flags = m.msg_flags;
	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == IPPROTO_SCTP && c->cmsg_type == SCTP_RCVINFO)
			memcpy(info, CMSG_DATA(c), sizeof *info);
	return n;
}

/* usrsctp_recvv gives 0 when the association has ended and all notifications were read. */
static ssize_t usrsctp_recvv(struct socket *s, void *b, size_t length, struct sockaddr *from, socklen_t *from_length, void *info,
			     socklen_t *info_length, unsigned *kind, int *flags)
{
	const struct linger at_once = {.l_onoff = 1};
	int last = 0;

	(void)from;
	(void)from_length;
	(void)info_length;
	(void)kind;
	for (;;) {
		struct pollfd ready = {.fd = s->fd, .events = POLLIN};
		ssize_t n = receive_one(s, b, length, info, flags);

		if (n > 0 || (n < 0 && errno != EAGAIN))
			return n;
		if (s->abort) {
			setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
			close(s->fd);
			return 0;
		}
		if (last)
			return 0;
		last = gone(s); /* one more look, for what came in between */
		if (!last)
			poll(&ready, n < 0, IDLE_MS);
	}
}
