// Tests of http-cache-tests 0.4.5, the newest version that npm has, whose
// expectations the suite has changed since, in its repository: 0.4.5 is older
// than RFC 9111.

// RFC 9111, 5.1: of several values of Age the first counts, and one that is no
// whole number is ignored. 0.4.5 wanted such responses to be stale.
const fresh = [
  'age-parse-nonnumeric', 'age-parse-negative', 'age-parse-float',
  'age-parse-prefix', 'age-parse-prefix-twoline', 'age-parse-dup-0',
  'age-parse-dup-0-twoline', 'age-parse-dup-old']

// Whether a parameter is valid is not said: no requirement any more.
const checks = ['age-parse-parameter', 'age-parse-numeric-parameter']

// The origin hangs up on the second request. 0.4.5 wanted its answer all the
// same; what must not be served is the stored one.
const closed = /^stale-close-/
const refused = {
  disconnect: true,
  expected_status: 502,
  check_body: false,
  expected_response_headers_missing: ['server-request-count']
}

function amend (test) {
  const [first] = test.requests
  if (fresh.includes(test.id)) {
    return { ...test, requests: [first, { expected_type: 'cached' }] }
  }
  if (checks.includes(test.id)) return { ...test, kind: 'check' }
  if (closed.test(test.id)) return { ...test, requests: [first, refused] }
  return test
}

export default tests => tests.map(amend)
