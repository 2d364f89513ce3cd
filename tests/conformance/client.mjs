// Runs the tests of the npm package http-cache-tests against a cache and
// prints, as JSON, for each test its kind, what it depends on, and how it
// ended: true, or [error, message].
//
// usage: node client.mjs PACKAGE BASE-URL [TEST...]

import { createRequire } from 'module'
import { pathToFileURL } from 'url'
import amend from './amended.mjs'

const [root, base, ...wanted] = process.argv.slice(2)
const load = file => import(pathToFileURL(`${root}/${file}`))
const require = createRequire(pathToFileURL(`${root}/cli.mjs`))
const fetch = require('node-fetch')

const suites = [...(await load('tests/index.mjs')).default,
  (await load('tests/surrogate-control.mjs')).default]
const { runTests, getResults } = await load('client/runner.mjs')

const tests = amend(suites.flatMap(suite => suite.tests))
  .filter(test => !test.browser_only)
const chosen = tests.filter(test => !wanted.length || wanted.includes(test.id))
// a cache that hangs fails a test, not the run
const timeout = 15000
const patiently = (url, init) => fetch(url, { ...init, timeout })
await runTests([{ tests: chosen }], patiently, false, base)

const results = getResults()
console.log(JSON.stringify(chosen.map(test => ({
  id: test.id,
  name: test.name,
  kind: test.kind || 'required',
  depends: test.depends_on || [],
  result: results[test.id]
}))))
