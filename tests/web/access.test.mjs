/** Keys, roles and the list of changes. */
import { strict as assert } from 'node:assert'
import { after, before, test } from 'node:test'
import { api, barriers, close, open, signIn, state, url, visit, visitor } from './browser.mjs'

before(open)
after(close)

const find = async (page, name) => (await api(page, 'GET', '/api/v1/api-keys')).items.find((k) => k.name === name)

async function clean(page) {
  for (const name of ['console-viewer', 'console-operator']) {
    const key = await find(page, name)
    if (key) await api(page, 'DELETE', `/api/v1/api-keys/${key.id}`)
  }
}

async function make(page, name, role) {
  await page.goto(`${url}/settings`)
  await page.getByRole('button', { name: 'New API key' }).click()
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Role', { exact: true }).selectOption(role)
  await page.getByLabel('Ends', { exact: true }).selectOption('7')
  assert.deepEqual(await barriers(page), [])
  await page.getByRole('button', { name: 'Make the key' }).click()
  const key = await page.getByLabel(`key ${name}`, { exact: true }).textContent()
  assert.match(key, /^hwa1\.[A-Za-z0-9_-]{43}$/)
  return key
}

test('a key is shown once; who signs in with it is offered what its role may do', visit(async (page) => {
  await clean(page)
  try {
    const key = await make(page, 'console-viewer', 'viewer')
    assert.deepEqual(await barriers(page), [])
    await page.getByRole('button', { name: 'I have kept it' }).click()
    const row = page.getByRole('row').filter({ hasText: 'console-viewer' })
    await row.getByText(key.slice(0, 10)).waitFor()
    await row.getByText('expiring').waitFor()
    await page.reload()
    await row.waitFor()
    assert.ok(!(await page.content()).includes(key))

    const other = await visitor()
    await signIn(other.page, key)
    await other.page.getByText('viewer · console-viewer').waitFor()
    await other.page.getByText(/The API key console-viewer .* ends/).waitFor()
    const pages = ['/', '/sites', '/gateways', '/connections', '/enrolment', '/firewall', '/diagnostics', `/gateways/${state().nodes['gw-a1'].gateway_id}`, `/sites/${state().nodes['gw-a1'].site_id}`]
    for (const path of pages) {
      await other.page.goto(url + path)
      await other.page.getByRole('heading', { level: 1 }).waitFor()
      await other.page.getByText(/^updated/).waitFor()
      const offered = other.page.getByRole('button', { name: /^(Change|Delete|Revoke|Make token|New .*|Trace path|Apply)/ }).or(other.page.getByRole('link', { name: /^(Add a|Join|Token)/ }))
      assert.equal(await offered.count(), 0, path)
      assert.deepEqual(await barriers(other.page), [], path)
    }
    for (const name of ['Settings', 'Changes']) assert.equal(await other.page.getByRole('link', { name, exact: true }).count(), 0)
    await other.page.goto(`${url}/create`)
    await other.page.getByText('There is no such page').waitFor()

    // Revoked, its sessions end with it.
    await page.getByRole('button', { name: 'Revoke console-viewer' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
    await other.page.goto(`${url}/gateways`)
    await other.page.getByLabel('API token').waitFor()
    await other.context.close()
  } finally {
    await clean(page)
  }
}))

test('every write stands in the list of changes', visit(async (page, t) => {
  if (!(await api(page, 'GET', '/api/v1/openapi.json')).paths['/api/v1/audit']) return t.skip('this controller keeps no audit')
  const site = state().nodes['gw-a1'].site_id
  const before = (await api(page, 'GET', `/api/v1/sites/${site}`)).region
  await api(page, 'PATCH', `/api/v1/sites/${site}`, { region: 'audited-1' })
  await api(page, 'PATCH', `/api/v1/sites/${site}`, { region: before })
  await page.goto(`${url}/changes`)
  await page.getByRole('heading', { level: 1, name: 'Changes' }).waitFor()
  await page.getByText(/region: audited-1 → /).first().waitFor()
  await page.getByLabel('Kind').selectOption('sites')
  await page.waitForURL(/kind=sites/)
  const row = page.getByRole('row').filter({ hasText: '→ audited-1' }).first()
  await row.getByRole('button', { name: /^Record/ }).click()
  await page.getByText('/api/v1/sites/').first().waitFor()
  await page.getByRole('table', { name: 'what changed' }).getByText('audited-1').waitFor()
  await page.getByRole('link', { name: 'site-a' }).waitFor()
  assert.deepEqual(await barriers(page), [])
  await page.goBack()
  await page.getByLabel('Outcome').selectOption('refused')
  await page.waitForURL(/outcome=refused/)
  assert.deepEqual(await barriers(page), [])
}))
