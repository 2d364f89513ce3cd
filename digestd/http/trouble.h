/*
 * What can go wrong with an origin, a peer or this machine, in the words of
 * whoever runs them: the causes in logs, metrics and the status page, each with
 * what to do about it. What a request does then goes by fetch_result.h.
 */
#ifndef DIGESTD_HTTP_TROUBLE_H
#define DIGESTD_HTTP_TROUBLE_H

#include "digestd/http/fetch_result.h"

/* X(name, label, what it is, what to do about it). "It" is the origin or the
 * peer. The texts have no quotes. */
/* clang-format off */
#define TROUBLES(X) \
	X(none, "none", "it has not failed", "nothing") \
	X(refused, "refused", "it refuses connections", \
	  "start it, or correct its address and port") \
	X(no_such_name, "no-such-name", "there is no such name", \
	  "correct the host of its URL, or add the name to DNS or /etc/hosts") \
	X(name_server, "name-server", \
	  "its name cannot be looked up: no name server answers", \
	  "check the name servers in /etc/resolv.conf") \
	X(no_route, "no-route", "it cannot be reached", \
	  "check its address, and routes and firewalls on the way") \
	X(timeout_connect, "timeout-connect", \
	  "no connection within the time limit", \
	  "check that it is up and that no firewall drops packets; " \
	  "the limits are origin_connect_timeout and peer_connect_timeout") \
	X(timeout_answer, "timeout-answer", \
	  "no answer within the time limit, or no more of it", \
	  "find out why it is slow; the limits are origin_timeout, " \
	  "origin_stall and peer_timeout") \
	X(reset, "reset", "it hung up without an answer", \
	  "look into its log; it may be crashing or short of connections") \
	X(cut_body, "cut-body", "its answer broke off", \
	  "look into its log; it or a proxy on the way ended the connection") \
	X(bad_header, "bad-header", "no valid answer", \
	  "check that its port speaks HTTP, and its fields; " \
	  "the limit is max_header_size") \
	X(status, "status", "it answered with an error", \
	  "look into its log; check that its URL is that of its listen_peer") \
	X(late, "late", "an answer was so late that another origin was asked", \
	  "find out why it is slow: it may be overloaded, or hang") \
	X(server_error, "server-error", "it answered 500, 502, 503 or 504", \
	  "look into its log") \
	X(failed_check, "failed-check", \
	  "its answer to a check was not origin_check_status", \
	  "ask for origin_check there, and correct what it reports") \
	X(tls_plain, "tls-plain", "there is no TLS with it", \
	  "write http:// in its URL, or set up TLS 1.2 or later there") \
	X(tls_untrusted, "tls-untrusted", \
	  "its certificate is not of a trusted authority", \
	  "add its authority to tls_origin_ca or tls_peer_ca, " \
	  "or install the whole chain there") \
	X(tls_name, "tls-name", "its certificate is for another name", \
	  "use the name of the certificate in its URL, or issue one for this") \
	X(tls_expired, "tls-expired", \
	  "its certificate has expired, or is not valid yet", \
	  "renew the certificate; check the clocks of both machines") \
	X(private_address, "private-address", "its address is not public", \
	  "allow it with forward_private, if that is meant") \
	X(wrong_key, "wrong-key", "its cluster key is not ours", \
	  "give both nodes the same cluster_key and reload; restart where " \
	  "the log asks for that") \
	X(clock_skew, "clock-skew", \
	  "its clock and the one here differ by more than 5 s", \
	  "synchronize the clocks of both machines, as with chrony") \
	X(version, "version", \
	  "its digest has another version, form or hashing", \
	  "run the same version of digestd on both, or correct its kind") \
	X(bad_digest, "bad-digest", "its digest is damaged or malformed", \
	  "check what is between the nodes; restart that node if it goes on") \
	X(too_full, "too-full", "its digest claims too much to be of use", \
	  "raise digest_max_size or bits_per_object there, " \
	  "and digest_max_size here") \
	X(disk_full, "disk-full", "the disk is full", \
	  "free space, or lower disk_size") \
	X(disk_error, "disk-error", "the disk cannot be read or written", \
	  "check the disk and the permissions of disk_path") \
	X(disk_damaged, "disk-damaged", \
	  "what is on the disk is not what was written", \
	  "check the disk; what was damaged is fetched again") \
	X(descriptors, "descriptors", "no descriptor is left here", \
	  "raise the limit of open files (ulimit -n, LimitNOFILE=), " \
	  "or lower max_connections") \
	X(memory, "memory", "no memory is left here", \
	  "raise memory_limit, or lower cache_size") \
	X(configuration, "configuration", \
	  "the old configuration remains in effect: the new one has errors", \
	  "correct the lines that are named above; digestd -t checks them")
/* clang-format on */

enum trouble {
#define X(name, label, what, remedy) TROUBLE_##name,
	TROUBLES(X)
#undef X
	TROUBLE_COUNT
};

/* What a result of a fetch alone says of it. */
enum trouble trouble_of_result(enum fetch_result result);

/* What the errno of a call that was to connect says, or of the handshake. */
enum trouble trouble_of_connect(int error);

/* Its label, what it is, and what to do about it. All static. */
const char *trouble_label(enum trouble trouble);
const char *trouble_text(enum trouble trouble);
const char *trouble_remedy(enum trouble trouble);

#endif
