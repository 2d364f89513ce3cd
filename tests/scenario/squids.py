"""Squid's digests, as a Squid reads them."""

import hashlib

HEADER_BYTES, NHASH = 128, 4
STORE_DIGEST = "/squid-internal-periodic/store_digest"


def holds(digest, target):
    """Whether a Squid would find a URL in it."""
    key = hashlib.md5(b"\x01" + target.encode()).digest()
    mask = digest[HEADER_BYTES:]
    places = (int.from_bytes(key[4 * i:4 * i + 4], "big") % (8 * len(mask))
              for i in range(NHASH))
    return all(mask[at >> 3] >> (at & 7) & 1 for at in places)
