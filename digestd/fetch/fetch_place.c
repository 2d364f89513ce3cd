/*
 * Places that are addresses.
 */
#include "digestd/fetch/fetch_place.h"

#include <arpa/inet.h>
#include <string.h>

/* FNV-1a */
size_t fetch_place_bucket(const struct pool_place *place, size_t n)
{
	uint32_t h = 2166136261u ^ place->port;

	for (size_t i = 0; i < place->host_len; i++)
		h = (h ^ ((unsigned char)place->host[i] | 0x20u)) * 16777619u;
	h ^= (uint32_t)((uintptr_t)place->tls >> 6);
	return (h ^ h >> 16) % n;
}

/* "[::1]" */
static bool fetch_place_in6(const struct pool_place *place,
			    struct resolver_answer *at)
{
	char text[INET6_ADDRSTRLEN];
	size_t len = place->host_len;

	if (len < 2 || place->host[0] != '[' || place->host[len - 1] != ']')
		return false;
	if (len - 2 >= sizeof(text))
		return true;
	memcpy(text, place->host + 1, len - 2);
	text[len - 2] = '\0';
	at->addresses[0].in6 = (struct sockaddr_in6){
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)place->port),
	};
	at->n = inet_pton(AF_INET6, text,
			  &at->addresses[0].in6.sin6_addr) == 1;
	return true;
}

bool fetch_place_address(const struct pool_place *place,
			 struct resolver_answer *at)
{
	char text[INET_ADDRSTRLEN];

	at->n = 0;
	if (place->address) {
		at->addresses[0] = *place->address;
		at->n = 1;
		return true;
	}
	if (place->host_len >= sizeof(text))
		return fetch_place_in6(place, at);
	memcpy(text, place->host, place->host_len);
	text[place->host_len] = '\0';
	at->addresses[0].in4 = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)place->port),
	};
	at->n = inet_pton(AF_INET, text, &at->addresses[0].in4.sin_addr) == 1;
	return at->n || fetch_place_in6(place, at);
}
