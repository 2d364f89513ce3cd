-- What wrk asks for, by the environment, and what it measured, as JSON in the
-- last line.
--   PREFIX: each request is for a URL below it, with a number:
--   FIRST: the next one each time, from this on, other ones in each thread;
--   else
--   RANDOM: any below so many, all as likely; and
--   ZIPF: with this exponent, the low ones more often.
--   METHOD: instead of GET, and with a body of 100 bytes.
--   CLOSE: each request has a connection of its own.
--   PORTS: servers on this machine, one a thread of wrk.
--   COUNT: a thread stops after so many requests.
--   SEED: of what is drawn at random.
local prefix, method = os.getenv("PREFIX"), os.getenv("METHOD")
local first = tonumber(os.getenv("FIRST") or "")
local range = tonumber(os.getenv("RANDOM") or "")
local zipf = tonumber(os.getenv("ZIPF") or "")
local count = tonumber(os.getenv("COUNT") or "")
local ports, threads, sent = {}, 0, 0

for port in (os.getenv("PORTS") or ""):gmatch("%d+") do
	ports[#ports + 1] = port
end

function setup(thread)
	threads = threads + 1
	thread:set("number", threads)
	if ports[threads] then
		thread.addr = wrk.lookup("127.0.0.1", ports[threads])[1]
	end
end

-- The inverse of Zipf's distribution, as if ranks were no whole numbers.
local function rank()
	local e = 1 - zipf

	return math.floor(((range ^ e - 1) * math.random() + 1) ^ (1 / e)) - 1
end

local function draw()
	if zipf then
		return rank()
	end
	return math.random(0, range - 1)
end

local function next_number()
	return first + sent + (number - 1) * 100000000
end

local function line()
	local target = prefix and prefix .. (first and next_number() or draw())
			      or wrk.path

	sent = sent + 1
	return (method or "GET") .. " " .. target .. " HTTP/1.1\r\n"
end

local rest

function init()
	math.randomseed(number + 100 * tonumber(os.getenv("SEED") or 0))
	rest = "Host: " .. wrk.headers["Host"] .. "\r\n"
	if os.getenv("CLOSE") then
		rest = rest .. "Connection: close\r\n"
	end
	if method then
		rest = rest .. "Content-Length: 100\r\n\r\n" ..
		       string.rep("b", 100)
	else
		rest = rest .. "\r\n"
	end
end

function request()
	if count and sent >= count then
		wrk.thread:stop()
	end
	return line() .. rest
end

function done(summary, latency)
	local e = summary.errors

	io.write(string.format(
		'{"requests": %d, "seconds": %.6f, "p50_us": %d, ' ..
		'"p99_us": %d, "errors": %d}\n',
		summary.requests, summary.duration / 1e6,
		latency:percentile(50), latency:percentile(99),
		e.connect + e.read + e.write + e.status + e.timeout))
end
