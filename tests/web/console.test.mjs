/** The console against a real controller on a running lab of two spokes and a transit. */
import { strict as assert } from 'node:assert'
import { after, before, test } from 'node:test'
import { api, barriers, close, lab, open, signIn, state, token, url, visit, visitor } from './browser.mjs'

before(open)
after(close)

const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>'

test('nobody sees a page without signing in, and comes back to it afterwards', async () => {
  const { page, context, complaints } = await visitor()
  await page.goto(`${url}/gateways?sort=-name`)
  await page.getByLabel('API token').fill('hwa1.wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('this token is not valid').waitFor()
  await page.getByLabel('API token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'gw-t1', exact: true }).waitFor()
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/gateways?sort=-name')
  assert.deepEqual(complaints.filter((c) => !/status of 401/.test(c)), [])
  const cookie = (await context.cookies()).find((c) => c.name === '__Host-hawser-session')
  assert.ok(cookie.httpOnly && cookie.secure && cookie.sameSite === 'Strict')
  assert.equal(await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })), '{}')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API token').waitFor()
  await page.goto(`${url}/gateways`)
  await page.getByLabel('API token').waitFor()
  await context.close()
})

test('every page shows itself and its objects', visit(async (page) => {
  const nodes = state().nodes
  const links = await api(page, 'GET', '/api/v1/links')
  const connections = await api(page, 'GET', '/api/v1/connections')
  const pages = [
    ['/', 'Dashboard', 'site-a-site-t'], ['/topology', 'Topology', 'site-b-site-t'], ['/sites', 'Sites', '10.2.0.0/16'],
    [`/sites/${nodes['gw-a1'].site_id}`, 'site-a', 'gw-a1'], ['/gateways', 'Gateways', 'gw-b1'],
    [`/gateways/${nodes['gw-t1'].gateway_id}`, 'gw-t1', '10.3.0.1'], [`/gateways/${nodes['gw-t1'].gateway_id}?tab=links`, 'gw-t1', 'gw-a1 – gw-t1'],
    [`/gateways/${nodes['gw-t1'].gateway_id}?tab=config`, 'gw-t1', 'In force'], ['/connections', 'Connections', 'site-b-site-t'],
    [`/connections/${connections.items[0].id}`, connections.items[0].name, 'AES|aes-256-gcm'], [`/links/${links.items[0].id}`, 'gw-', 'of 8 up'],
    ['/enrolment', 'Enrolment', 'Make token'], ['/create', 'Join two sites', 'First site'],
  ]
  const served = (await api(page, 'GET', '/api/v1/openapi.json')).paths
  if (served['/api/v1/instance-sizes']) pages.push(['/instance-sizes', 'Instance sizes', 'Highest figure'])
  if (served['/api/v1/telemetry']) pages.push([`/gateways/${nodes['gw-t1'].gateway_id}?tab=charts&range=5m`, 'gw-t1', 'Goodput'])
  if (served['/api/v1/gateways/{id}/workers']) pages.push([`/gateways/${nodes['gw-t1'].gateway_id}?tab=workers`, 'gw-t1', 'Worker'])
  if (served['/api/v1/gateways/{id}/openings']) pages.push([`/gateways/${nodes['gw-t1'].gateway_id}?tab=openings`, 'gw-t1', '4510'])
  if (served['/api/v1/diagnostics/trace-path']) pages.push(['/diagnostics', 'Diagnostics', 'Asked before'])
  for (const [path, title, text] of pages) {
    await page.goto(url + path)
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    await page.locator('main').getByText(new RegExp(text)).first().waitFor()
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wide <= 0, `${path} is ${wide} px too wide`)
    assert.deepEqual(await barriers(page), [], path)
  }
  await page.goto(`${url}/no/such/page`)
  await page.getByText('There is no such page').waitFor()
}))

test('the page says how old it is; state of a page stands in its address', visit(async (page) => {
  await page.getByRole('link', { name: 'Gateways', exact: true }).first().click()
  await page.getByRole('searchbox').fill('site:site-a')
  await page.getByText('1 of 3').waitFor()
  assert.match(page.url(), /\/gateways\?q=site%3Asite-a$/)
  await page.getByRole('button', { name: 'Gateway', exact: true }).click()
  await page.getByRole('link', { name: 'gw-a1', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'gw-a1' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('10.3.0.1')
  await page.getByRole('option', { name: 'gw-t1' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'gw-t1' }).waitFor()
  await page.goBack()
  await page.goBack()
  assert.equal(await page.getByRole('searchbox').inputValue(), 'site:site-a')
  await page.getByText(/^updated \d s ago$/).waitFor()
}))

test('strings with markup are text in every field', visit(async (page) => {
  for (const path of ['/gateways', '/sites', '/connections']) {
    await page.goto(`${url}${path}?q=${encodeURIComponent(MARKUP)}`)
    await page.getByText(`Nothing matches “${MARKUP}”`).waitFor()
  }
  // The first step refuses nothing; the API's refusal of the name is shown at its field, as text.
  await page.goto(`${url}/create`)
  await page.getByText('Domain, takeover and underlay').click()
  for (const label of ['Name', 'Region', 'Networks', 'Domain', 'Gateway']) await page.getByLabel(label, { exact: true }).fill(MARKUP)
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByLabel('Site', { exact: true }).selectOption({ label: 'site-t (transit)' })
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByLabel('Name', { exact: true }).fill(MARKUP)
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText(MARKUP).first().waitFor()
  const apply = page.getByRole('button', { name: 'Apply' })
  if (await apply.isEnabled()) {
    await apply.click()
    await page.getByRole('alert').first().waitFor()
  }
  await page.goto(`${url}/enrolment?name=${encodeURIComponent(MARKUP)}`)
  await page.getByRole('button', { name: 'Make token' }).click()
  await page.getByRole('alert').first().waitFor()
  await page.goto(`${url}/sign-in?next=${encodeURIComponent('//evil.example/')}`)
  await page.getByRole('heading', { name: 'Dashboard' }).waitFor()
  assert.equal(await page.locator('img, script:not([src])').count(), 0)
  assert.equal((await api(page, 'GET', '/api/v1/sites')).items.length, 3)
}, { allowed: /status of 4(22|00)/ }))

test('a gateway that goes away turns down on the open page, and comes back', visit(async (page) => {
  const row = page.getByRole('table', { name: 'connections' }).getByRole('row').filter({ hasText: 'site-a-site-t' })
  await row.locator('.state.up').waitFor()
  await lab('cut', 'gw-a1')
  try {
    await row.locator('.state.down, .state.degraded').waitFor({ timeout: 25_000 })
    await page.getByRole('table', { name: 'Needs attention' }).getByText('site-a-site-t').waitFor()
  } finally {
    await lab('heal')
  }
  await row.locator('.state.up').waitFor({ timeout: 40_000 })
}))

test('a controller that does not answer is said, and what was seen stays', visit(async (page) => {
  await page.getByRole('link', { name: 'gw-a1', exact: true }).first().waitFor()
  await page.context().setOffline(true)
  await page.getByText('The controller does not answer.').waitFor({ timeout: 15_000 })
  await page.getByRole('link', { name: 'gw-a1', exact: true }).first().waitFor()
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Try now' }).click()
  await page.getByText('The controller does not answer.').waitFor({ state: 'detached' })
}, { allowed: /ERR_INTERNET_DISCONNECTED/ }))

test('a gateway traces the path and the answer is drawn', visit(async (page, t) => {
  const served = (await api(page, 'GET', '/api/v1/openapi.json')).paths
  if (!served['/api/v1/diagnostics/trace-path']) return t.skip('this controller has no diagnostics')
  await page.goto(`${url}/diagnostics`)
  await page.getByLabel('From', { exact: true }).selectOption('gw-a1')
  await page.getByLabel('To', { exact: true }).selectOption('gw-t1')
  await page.getByRole('button', { name: 'Trace path' }).last().click()
  await page.locator('.verdict').waitFor({ timeout: 30_000 })
  await page.getByRole('img', { name: /^Path MTU by hop/ }).first().waitFor()
  assert.match(await page.locator('.verdict').textContent(), /MTU is 1500/)
  assert.deepEqual(await barriers(page), [])
}))

/** site-b goes, and its machine forgets who it was. */
async function forget(page) {
  const find = async (kind, name) => (await api(page, 'GET', `/api/v1/${kind}`)).items.find((x) => x.name === name).id
  await api(page, 'DELETE', `/api/v1/connections/${await find('connections', 'site-b-site-t')}`)
  await lab('kill', 'agent@gw-b1')
  await api(page, 'DELETE', `/api/v1/gateways/${await find('gateways', 'gw-b1')}`)
  await api(page, 'DELETE', `/api/v1/sites/${await find('sites', 'site-b')}`)
  await lab('exec', 'gw-b1', '--', 'sh', '-c', 'rm -rf /var/lib/hawser/*')
}

test('from the assistant to traffic', visit(async (page) => {
  await forget(page)
  await page.goto(`${url}/create`)
  await page.getByLabel('Name', { exact: true }).fill('site-b')
  await page.getByLabel('Where').selectOption('onprem')
  await page.getByLabel('Networks').fill('10.2.0.0/16\nfd02::/48')
  await page.getByLabel('Gateway', { exact: true }).fill('gw-b1')
  await page.getByRole('button', { name: 'Next' }).click()
  // The only transit is offered.
  await page.getByText('Which one it is joined with').waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('new; spoke, On premises, 10.2.0.0/16, fd02::/48').waitFor()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('gw-b1 waits for its machine to enrol').waitFor()

  // The shell lines as shown, with the lab's way to start a service.
  const lines = await page.getByLabel('shell lines for gw-b1', { exact: true }).textContent()
  const secret = lines.match(/hwt1\.[A-Za-z0-9_-]+/)[0]
  await lab('exec', 'gw-b1', '--', 'sh', '-c', `printf '%s\\n' ${secret} >/etc/hawser/token && chown 18452 /etc/hawser/token && chmod 600 /etc/hawser/token`)
  await lab('start', 'agent@gw-b1')
  await page.getByText('gw-b1 is enrolled').waitFor({ timeout: 40_000 })
  await page.getByText(/site-b-site-t is up: \d+ of \d+ tunnels/).waitFor({ timeout: 40_000 })
  await page.getByText('10.3.0.0/16, fd03::/48, 10.1.0.0/16, fd01::/48 to gw-b1 at 10.2.1.1').waitFor()
  for (const address of state().nodes['host-b'].addresses.site) {
    await lab('exec', 'host-a', '--', 'ping', '-n', '-c', '3', '-i', '0.2', '-W', '5', address)
  }
  await page.getByRole('link', { name: 'See it on the map' }).click()
  await page.getByRole('heading', { level: 1, name: 'Topology' }).waitFor()
}))

test('signing out elsewhere ends the session here', async () => {
  const { page, context } = await visitor()
  await signIn(page)
  const other = await context.newPage()
  await other.goto(`${url}/gateways`)
  await other.getByRole('button', { name: 'Sign out' }).click()
  await other.getByLabel('API token').waitFor()
  await page.getByLabel('API token').waitFor()
  await context.close()
})
