vcl 4.1;

# Varnish with digestd beside it, on each machine of a cluster: Varnish keeps
# the objects, and sends its misses to digestd; that knows what the other
# machines' Varnish have, asks the best of them, and else the origin. Three
# programs:
#
#	varnishd -f /etc/varnish/varnish-sidecar.vcl -a :80 \
#		-a digestd=127.0.0.1:8084 -s malloc,8g \
#		-p vsl_mask=+ExpKill,+ExpBan -p vsl_buffer=16k -p vsl_reclen=8k
#	varnish-feed /run/digestd/feed
#	digestd -c /etc/digestd.conf
#
# varnish-feed, beside this file, reads Varnish's log and tells digestd what is
# held. digestd's part:
#
#	node = "cache1"
#	listen_data = "127.0.0.1:8081"
#	listen_peer = ":8082"
#	listen_admin = "127.0.0.1:8083"
#	cluster_key_file = "/etc/digestd.key"
#	default_origin = "http://198.51.100.10:80"
#	sidecar = "http://127.0.0.1:8084"
#	sidecar_feed = "/run/digestd/feed"
#	peer "cache2" {
#		url = "http://192.0.2.2:8082"
#	}
#
# digestd(8) has what this promises, and what it does not.

import std;

backend digestd {
	.host = "127.0.0.1";
	.port = "8081";
	.connect_timeout = 1s;
}

# 1. Whether digestd is there, which listen_admin says; nothing else goes to it.
backend digestd_admin {
	.host = "127.0.0.1";
	.port = "8083";
	.probe = {
		.url = "/readyz";
		.interval = 1s;
		.timeout = 500ms;
		.window = 2;
		.threshold = 1;
		.initial = 1;
	}
}

# 2. While it is not, Varnish asks the origin itself.
backend origin {
	.host = "198.51.100.10";
	.port = "80";
}

acl operators {
	"localhost";
}

sub vcl_recv {
	# 3. For digestd alone: what this Varnish has, and nothing else. It waits
	# for no fetch, as two Varnishes that fetch the same from each other
	# would wait for ever, and gets nothing stale. What changes the URL or
	# the Host of clients' requests stands below this: digestd asks for what
	# it was asked for.
	if (local.socket == "digestd") {
		if (req.method != "GET" && req.method != "HEAD") {
			return (synth(504));
		}
		set req.hash_ignore_busy = true;
		set req.grace = 0s;
		return (hash);
	}
	# 4. First at each Varnish, then at one digestd, whose listen_admin takes
	# a PURGE for the whole cluster.
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

sub vcl_backend_fetch {
	if (bereq.retries == 0 && std.healthy(digestd_admin)) {
		set bereq.backend = digestd;
	} else {
		set bereq.backend = origin;
	}
}

# 5. digestd has ended since the last probe. Only what may be sent twice is.
sub vcl_backend_error {
	if (bereq.backend == digestd &&
	    (bereq.method == "GET" || bereq.method == "HEAD")) {
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
