/*
 * Addresses of the Internet as text (RFC 3986, 3.2.2; RFC 4291, 2.2), without
 * port, brackets or zone.
 */
#ifndef DIGESTD_HTTP_IP_TEXT_H
#define DIGESTD_HTTP_IP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/fields.h"

/* Four numbers from 0 to 255 without leading zeros; to network order. */
bool ip_text_parse4(struct field_part text, uint8_t out[static 4]);

/* Up to eight groups, "::" at most once, perhaps IPv4 at the end. */
bool ip_text_parse6(struct field_part text, uint8_t out[static 16]);

#endif
