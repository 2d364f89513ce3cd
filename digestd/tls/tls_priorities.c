/*
 * What both sides of TLS prefer.
 *
 * AES-128-GCM comes before AES-256-GCM, as with most large servers and all
 * browsers: its handshakes hash with SHA-256, for which processors have
 * instructions, and not with SHA-384, which is a seventh of one.
 *
 * X25519 comes first, as nearly all clients send a share for it at once. A
 * server that prefers another group sends those a HelloRetryRequest, a round
 * trip more.
 */
#include "digestd/tls/tls_priorities.h"

#define TLS_PREFERRED "-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CIPHER-ALL:" \
		      "-GROUP-ALL:+GROUP-X25519:+GROUP-ALL:" \
		      "%SERVER_PRECEDENCE"

const char *tls_priorities(enum tls_version oldest)
{
	switch (oldest) {
	case TLS_1_2:
		return "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:"
		       TLS_PREFERRED;
	case TLS_1_3:
		return "NORMAL:-VERS-ALL:+VERS-TLS1.3:" TLS_PREFERRED;
	}
	return "NORMAL";
}
