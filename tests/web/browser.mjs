/** Alone starts Chromium. A test fails on any console error, page error or breach of the content security policy. */
import { strict as assert } from 'node:assert'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { pathToFileURL } from 'node:url'

const modules = process.env.HAWSER_NODE_MODULES
const { chromium } = await import(pathToFileURL(`${modules}/playwright-core/index.mjs`).href)

export const url = process.env.HAWSER_URL
export const token = readFileSync(process.env.HAWSER_TOKEN_FILE, 'utf8').trim()

let browser

export async function open() {
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium' })
}
export const close = () => browser.close()

/** A browser of its own: no cookie, nothing stored. `complaints` is what it complained of. */
export async function visitor(options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  const complaints = []
  page.setDefaultTimeout(20_000)
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') complaints.push(m.text()) })
  page.on('pageerror', (e) => complaints.push(String(e)))
  page.on('dialog', (d) => {
    complaints.push(`dialog: ${d.message()}`)
    d.dismiss()
  })
  page.on('request', (r) => { if (!r.url().startsWith(url) && !r.url().startsWith('data:')) complaints.push(`asked elsewhere: ${r.url()}`) })
  return { page, context, complaints }
}

export async function signIn(page, key = token) {
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('API token').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Dashboard' }).waitFor()
}

/** Runs a test with a visitor who has signed in; `allowed` complaints are part of it. */
export function visit(body, { allowed = /$^/, ...options } = {}) {
  return async (t) => {
    const v = await visitor(options)
    try {
      await signIn(v.page)
      await body(v.page, t)
      // What is not signed in yet is told so by 401.
      assert.deepEqual(v.complaints.filter((c) => !/status of 401/.test(c) && !allowed.test(c)), [])
    } finally {
      await v.context.close()
    }
  }
}

const axe = readFileSync(`${modules}/axe-core/axe.min.js`, 'utf8')

/** What keeps somebody out who does not see or point, above "minor". */
export async function barriers(page) {
  await page.evaluate(axe)
  const found = await page.evaluate(() => window.axe.run())
  return found.violations.filter((v) => v.impact !== 'minor').map((v) => `${v.impact} ${v.id}: ${v.nodes[0].html}`)
}

/** The API as automation uses it, through the browser's network. */
export async function api(page, method, path, body) {
  const reply = await page.request.fetch(url + path, {
    method, headers: { Authorization: `Bearer ${token}`, ...(body ? { 'Content-Type': 'application/json' } : {}), ...(await version(page, method, path)) },
    ...(body ? { data: JSON.stringify(body) } : {}),
  })
  assert.ok(reply.ok(), `${method} ${path}: ${reply.status()} ${await reply.text()}`)
  return reply.status() === 204 ? undefined : reply.json()
}

async function version(page, method, path) {
  if (method === 'GET' || method === 'POST') return {}
  const reply = await page.request.get(url + path, { headers: { Authorization: `Bearer ${token}` } })
  const etag = reply.headers().etag
  return etag ? { 'If-Match': etag } : {}
}

const run = promisify(execFile)
export const lab = async (...words) => (await run(process.env.HAWSER_LAB, words, { timeout: 60_000 })).stdout
export const state = () => JSON.parse(readFileSync(process.env.HAWSER_LAB_STATE, 'utf8'))
