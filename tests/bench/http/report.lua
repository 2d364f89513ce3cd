-- What a run of wrk measured, as JSON in the last line. With NEW in the
-- environment, that is a prefix, and every request is for a new URL below it;
-- with METHOD, too, it has that method and a body of 100 bytes.
local prefix, count = os.getenv("NEW"), 0
local method, body = os.getenv("METHOD"), nil

if method then
	body = string.rep("b", 100)
end

if prefix then
	function request()
		count = count + 1
		return wrk.format(method or "GET", prefix .. count, nil, body)
	end
end

function done(summary, latency)
	local e = summary.errors

	io.write(string.format(
		'{"requests": %d, "seconds": %.6f, "p50_us": %d, ' ..
		'"p99_us": %d, "max_us": %d, "errors": %d}\n',
		summary.requests, summary.duration / 1e6,
		latency:percentile(50), latency:percentile(99), latency.max,
		e.connect + e.read + e.write + e.status + e.timeout))
end
