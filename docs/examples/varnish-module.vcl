vcl 4.1;

# Varnish that asks its peers itself, on each machine of a cluster: its module
# finds in memory that digestd shares which of the other machines' Varnish has
# what this one has not. No request goes through digestd. The programs and their
# options are those of varnish-sidecar.vcl, but for the port of -a digestd=,
# which peers have to reach; digestd has in addition
#
#	share_table = "/run/digestd/table"
#	share_table_group = "varnish"
#
# digestd(8), "In process", has what this promises, and what it does not.

# 1. Of the package libvmod-scd.
import scd;

backend origin {
	.host = "198.51.100.10";
	.port = "80";
}

# 2. The listeners at which peers say what they have, as this Varnish does below.
backend cache2 {
	.host = "192.0.2.2";
	.port = "8084";
	.connect_timeout = 100ms;
	.first_byte_timeout = 1s;
}
backend cache3 {
	.host = "192.0.2.3";
	.port = "8084";
	.connect_timeout = 100ms;
	.first_byte_timeout = 1s;
}

acl operators {
	"localhost";
}

acl machines {
	"localhost";
	"192.0.2.0"/24;
}

# 3. Each peer under the name that digestd's configuration has.
sub vcl_init {
	new peers = scd.table("/run/digestd/table");
	peers.add_peer("cache2", cache2);
	peers.add_peer("cache3", cache3);
}

sub vcl_recv {
	# 4. For peers, and digestd's option sidecar: what this Varnish has, and
	# nothing else. It waits for no fetch, as two Varnishes that fetch the
	# same from each other would wait for ever, and gets nothing stale.
	if (local.socket == "digestd") {
		if (client.ip !~ machines ||
		    (req.method != "GET" && req.method != "HEAD")) {
			return (synth(504));
		}
		set req.hash_ignore_busy = true;
		set req.grace = 0s;
		return (hash);
	}
	if (req.method == "PURGE") {
		if (client.ip !~ operators) {
			return (synth(405));
		}
		return (purge);
	}
}

sub vcl_miss {
	if (local.socket == "digestd") {
		return (synth(504));
	}
}

sub vcl_pass {
	if (local.socket == "digestd") {
		return (synth(504));
	}
}

# 5. The first try is the best candidate, the second one the next, the third one
# the origin. What may not be kept is the origin's at once.
sub vcl_backend_fetch {
	set bereq.backend = origin;
	if (bereq.method == "GET" && !bereq.uncacheable &&
	    !bereq.http.Authorization && bereq.retries < 2) {
		set bereq.backend = peers.backend(
			"http://" + bereq.http.Host + bereq.url, bereq.retries,
			origin);
	}
	unset bereq.http.Cache-Control;
	if (bereq.backend != origin) {
		set bereq.http.Cache-Control = "only-if-cached";
	}
}

# 6. Whatever is not the object is a miss.
sub vcl_backend_response {
	if (bereq.backend != origin && beresp.status != 200) {
		return (retry);
	}
}

sub vcl_backend_error {
	if (bereq.backend != origin) {
		return (retry);
	}
}

sub vcl_deliver {
	if (obj.hits > 0) {
		set resp.http.X-Cache = "HIT";
	} else {
		set resp.http.X-Cache = "MISS";
	}
}
