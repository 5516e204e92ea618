/** Plans before writes, the time range, and both ends of a link, on a running lab. */
import { strict as assert } from 'node:assert'
import { after, before, test } from 'node:test'
import { api, barriers, close, open, state, url, visit } from './browser.mjs'

before(open)
after(close)

const named = async (page, kind, name) => (await api(page, 'GET', `/api/v1/${kind}`)).items.find((x) => x.name === name)

test('a change shows its plan before it is made', visit(async (page) => {
  const connection = await named(page, 'connections', 'site-a-site-t')
  await page.goto(`${url}/connections/${connection.id}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  const apply = page.getByRole('button', { name: 'Apply' })
  assert.ok(await apply.isDisabled())
  await page.getByLabel('Tunnels a link').fill('5')
  await page.getByText(/8 → 5 tunnels \(set on the connection\)/).waitFor()
  assert.ok(await apply.isEnabled())
  assert.deepEqual(await barriers(page), [])
  await page.getByLabel('Name', { exact: true }).fill('Not a name')
  await page.getByText('This cannot be').waitFor()
  assert.equal(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), 'true')
  assert.ok(await apply.isDisabled())
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.equal((await named(page, 'connections', 'site-a-site-t')).tunnels, connection.tunnels)

  await page.goto(`${url}/sites/${state().nodes['gw-a1'].site_id}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByLabel('Region').fill('west-1')
  await page.getByText('What will happen').waitFor()
  await apply.click()
  await page.getByText('On premises, west-1').waitFor()
  await page.getByText('10.3.0.0/16, fd03::/48').waitFor()

  // What somebody else wrote meanwhile is not written over.
  const site = `/api/v1/sites/${state().nodes['gw-a1'].site_id}`
  const read = page.waitForResponse((r) => new URL(r.url()).pathname === site)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await read
  await api(page, 'PATCH', site, { region: 'west-2' })
  await page.getByLabel('Region').fill('west-3')
  await apply.click()
  await page.getByText('Somebody changed it meanwhile.').waitFor()
  assert.equal((await api(page, 'GET', site)).region, 'west-2')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/delete these first: .*gw-a1/).waitFor()
  assert.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled())
  assert.deepEqual(await barriers(page), [])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
}, { allowed: /status of 412/ }))

test('sites that were joined stay kept apart until an admin lets packets pass', visit(async (page) => {
  // A pair is remembered once one of its sites has an enrolled gateway.
  const a = await api(page, 'POST', '/api/v1/sites', { name: 'apart', provider: 'onprem', role: 'transit', cidrs: ['10.71.0.0/16'] })
  const b = await named(page, 'sites', 'site-a')
  const connection = await api(page, 'POST', '/api/v1/connections', { name: 'apart', site_a_id: a.id, site_b_id: b.id })
  await page.goto(`${url}/connections/${connection.id}`)
  await page.getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/they stay kept apart/).waitFor()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'Kept apart' }).waitFor()
  assert.deepEqual(await barriers(page), [])
  await page.goto(`${url}/sites/${a.id}`)
  await page.getByRole('button', { name: /^Let packets pass between (apart and site-a|site-a and apart)$/ }).click()
  await dialog.getByText(/in plain, unencrypted/).waitFor()
  assert.deepEqual(await barriers(page), [])
  await dialog.getByRole('button', { name: 'Let packets pass' }).click()
  await page.getByRole('heading', { name: 'Kept apart' }).waitFor({ state: 'detached' })
  assert.deepEqual((await api(page, 'GET', `/api/v1/separations?site_id=${a.id}`)).items, [])
  await api(page, 'DELETE', `/api/v1/sites/${a.id}`)
}))

test('one time range for all charts goes from page to page; a link is drawn from both ends', visit(async (page) => {
  const link = (await api(page, 'GET', '/api/v1/links')).items[0]
  const asked = []
  page.on('request', (r) => { if (r.url().includes('/telemetry?')) asked.push(new URL(r.url()).searchParams) })
  await page.goto(`${url}/links/${link.id}`)
  await page.getByRole('heading', { name: 'RTT' }).waitFor()
  await page.getByLabel('Time range').selectOption('5m')
  await page.waitForURL(/range=5m/)
  await page.getByRole('region', { name: 'RTT' }).getByText(/^\d/).nth(1).waitFor()
  assert.deepEqual(new Set(asked.map((q) => q.get('observer_id'))), new Set([link.gateway_a_id, link.gateway_b_id]))
  assert.equal(asked.at(-1).get('range'), '5m')
  assert.deepEqual(await barriers(page), [])
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByLabel('Tunnels', { exact: true }).fill('3')
  await page.getByText(/→ 3 tunnels/).waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()

  await page.getByRole('link', { name: 'Dashboard' }).click()
  await page.getByRole('heading', { name: 'Goodput sent' }).waitFor()
  assert.match(page.url(), /\/\?range=5m$/)

  // Drawn over, all charts show that part; back is the whole.
  const box = await page.locator('.u-over').first().boundingBox()
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/since=.*until=/)
  await page.getByRole('heading', { name: 'Goodput sent' }).waitFor()
  assert.ok(asked.at(-1).get('from'))
  await page.goBack()
  await page.waitForURL(/\/\?range=5m$/)
  await page.getByRole('link', { name: 'Sites', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Sites' }).waitFor()
  assert.equal(await page.getByLabel('Time range').count(), 0)
}))

test('a token is shown as user data for the agent itself', visit(async (page) => {
  await page.goto(`${url}/enrolment`)
  await page.getByRole('button', { name: 'Make token' }).click()
  await page.getByRole('button', { name: 'User data, read by the agent itself' }).click()
  const main = page.locator('main')
  const shown = await main.getByText('{"hawser"').innerText()
  const { token } = JSON.parse(shown).hawser
  assert.match(token, /^hwt1\./)
  assert.equal((await main.getByText('# hawser-token:').innerText()).trim(), `# hawser-token: ${token}`)
  await main.getByText('not --custom-data').waitFor()
  assert.deepEqual(await barriers(page), [])
}))
