/*
 * Names of servers, as certificates have them and as clients ask for them.
 */
#ifndef DIGESTD_TLS_TLS_NAME_H
#define DIGESTD_TLS_TLS_NAME_H

/* How well a name fits; more is better. */
enum tls_match { TLS_MATCH_NONE, TLS_MATCH_WILDCARD, TLS_MATCH_EXACT };

/*
 * Whether a DNS name of a certificate, such as "www.example.com" or
 * "*.example.com", stands for the name that a client asks for. A "*" is all of
 * the first label, and stands for one label; elsewhere it is a character like
 * others. Upper case and a dot at the end do not matter. Both are of ASCII,
 * other letters as A-labels. Source: RFC 9525, 6.3.
 */
enum tls_match tls_name_match(const char *certified, const char *asked);

#endif
