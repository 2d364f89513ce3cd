/*
 * Versions, ciphers and groups of TLS, in the order of preference.
 */
#ifndef DIGESTD_TLS_TLS_PRIORITIES_H
#define DIGESTD_TLS_TLS_PRIORITIES_H

#include "digestd/tls/tls.h"

/*
 * GnuTLS's priority string, for servers and clients alike. Static, never null.
 */
const char *tls_priorities(enum tls_version oldest);

#endif
