// Reads the cache digest of a Squid, as it answers to a request for
// /squid-internal-periodic/store_digest, and asks it for URLs. In C++:
//
//     c++ squidpeer.cc -o squidpeer $(pkg-config --cflags --libs libscd)
//     ./squidpeer store_digest http://example.com/ ...
//
// All headers of libscd are C that C++ compilers take; what the library makes,
// its own functions release, which a class does here.
#include <scd/scd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

static void check(int error)
{
	if (error)
		throw std::runtime_error(scd_strerror(error));
}

class SquidDigest {
public:
	explicit SquidDigest(const std::vector<uint8_t> &bytes)
	{
		check(scd_squid_decode(bytes.data(), bytes.size(), &info,
				       &bloom));
	}
	~SquidDigest() { scd_bloom_free(&bloom); }
	SquidDigest(const SquidDigest &) = delete;
	SquidDigest &operator=(const SquidDigest &) = delete;

	bool may_have(const std::string &uri) const
	{
		std::vector<char> canonical(uri.size() + 2);
		scd_key key;
		size_t len;

		check(scd_uri_canonical(uri.data(), uri.size(),
					canonical.data(), canonical.size(),
					&len));
		check(scd_squid_key("GET", canonical.data(), len, &key));
		return scd_bloom_has(&bloom, &key);
	}
	uint32_t capacity() const { return info.capacity; }
	double false_positives() const { return scd_bloom_fp(&bloom); }

private:
	scd_squid_info info;
	scd_bloom bloom;
};

static std::vector<uint8_t> contents(const char *path)
{
	std::ifstream file(path, std::ios::binary);

	if (!file)
		throw std::runtime_error("cannot be opened");
	return {std::istreambuf_iterator<char>(file),
		std::istreambuf_iterator<char>()};
}

int main(int argc, char **argv)
try {
	if (argc < 2) {
		std::fputs("usage: squidpeer FILE [URL ...]\n", stderr);
		return 2;
	}
	const SquidDigest digest(contents(argv[1]));

	std::printf("room for %u objects, false positives %.4f\n",
		    static_cast<unsigned>(digest.capacity()),
		    digest.false_positives());
	for (int i = 2; i < argc; i++)
		std::printf("%s: %s\n", argv[i],
			    digest.may_have(argv[i]) ? "maybe" : "no");
	return 0;
} catch (const std::exception &e) {
	std::fprintf(stderr, "squidpeer: %s: %s\n",
		     argc > 1 ? argv[1] : "", e.what());
	return 1;
}
