/** Writes HAWSER_SCREENSHOTS/PAGE-{light,dark}.png of the lab's console, with some traffic between the hosts. */
import { api, close, lab, open, signIn, state, url, visitor } from './browser.mjs'

const folder = process.env.HAWSER_SCREENSHOTS
const target = state().nodes['host-b'].addresses.site[0]
const pause = (ms) => new Promise((done) => setTimeout(done, ms))

/** 45 s of it; settled when that is over. */
async function traffic() {
  await lab('exec', 'host-b', '--', 'iperf3', '-s', '-1', '-D')
  const over = lab('exec', 'host-a', '--', 'iperf3', '-c', target, '-t', '45', '-P', '8', '-b', '60M', '--bidir').catch((e) => console.error(String(e)))
  await pause(15_000)
  return { over }
}

/** A trace of the path, over when it is shown. */
async function trace(page) {
  const [from, to] = ['gw-a1', 'gw-t1'].map((n) => state().nodes[n].gateway_id)
  return (await api(page, 'POST', '/api/v1/diagnostics/trace-path', { gateway_id: from, target_gateway_id: to })).id
}

/** Something to see on the pages that a new network leaves empty. */
async function furnish(page, served) {
  const made = {}
  const { site_id } = state().nodes['gw-a1']
  const make = (path, body) => api(page, 'POST', `/api/v1/${path}`, body)
  if (served['/api/v1/rulesets'] && !(await api(page, 'GET', '/api/v1/rulesets')).items.length) {
    const group = await make('address-groups', { name: 'branches', site_id, prefixes: ['10.2.0.0/16', 'fd02::/48'] })
    const ruleset = await make('rulesets', { name: 'site-a-edge', site_id, base_policy: 'deny', description: 'What the branches may reach' })
    await make(`rulesets/${ruleset.id}/rules`, { rules: [
      { name: 'ping', action: 'allow', protocol: 'icmp' },
      { name: 'no-telnet', action: 'deny', protocol: 'tcp', destination_ports: ['23'], log: true },
      { name: 'web-in', action: 'allow', protocol: 'tcp', source: { group_ids: [group.id] }, destination: { prefixes: ['10.1.1.0/24', 'fd01:0:0:1::/64'] }, destination_ports: ['80', '443', '8000-8099'] },
      { name: 'measurements', action: 'allow', protocol: 'tcp', source: { prefixes: ['10.1.0.0/16'] }, destination_ports: ['5201-5209'] },
      { name: 'dns-out', action: 'allow', protocol: 'udp', source: { prefixes: ['10.1.0.0/16', 'fd01::/48'] }, destination_ports: ['53'] },
    ] })
  }
  if (served['/api/v1/rulesets']) made.ruleset = (await api(page, 'GET', '/api/v1/rulesets')).items[0].id
  if (served['/api/v1/api-keys'] && (await api(page, 'GET', '/api/v1/api-keys')).items.length < 2) {
    await make('api-keys', { name: 'monitoring', role: 'viewer' })
    await make('api-keys', { name: 'terraform', role: 'operator', expires_in_days: 7 })
  }
  return made
}

/** A connection that may go without encryption, and its end. */
async function permit(page) {
  const connection = (await api(page, 'GET', '/api/v1/connections')).items.find((c) => c.name === 'site-b-site-t')
  const path = `/api/v1/connections/${connection.id}`
  for (const id of [connection.site_a_id, connection.site_b_id]) await api(page, 'PATCH', `/api/v1/sites/${id}`, { trusted_underlay: true })
  await api(page, 'PATCH', path, { path_resiliency: true })
  await api(page, 'PUT', `${path}/encryption-policy`, { suite: 'aes-256-gmac', reason: 'Copy of the archive inside the hall, ticket 4711', ends_at: new Date(Date.now() + 6 * 86400e3).toISOString().replace(/\.\d+Z$/, 'Z') })
  return { path, page: `/connections/${connection.id}` }
}

await open()
for (const theme of ['light', 'dark']) {
  const { over } = await traffic()
  const { page, context } = await visitor({ colorScheme: theme })
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('API token').waitFor()
  await page.screenshot({ path: `${folder}/sign-in-${theme}.png` })
  await signIn(page)
  await page.mouse.move(0, 0)
  const nodes = state().nodes
  const served = (await api(page, 'GET', '/api/v1/openapi.json')).paths
  const { ruleset } = await furnish(page, served)
  const first = async (kind) => (await api(page, 'GET', `/api/v1/${kind}`)).items[0].id
  const pages = {
    dashboard: '/?range=5m', topology: '/topology', sites: '/sites', gateways: '/gateways', gateway: `/gateways/${nodes['gw-t1'].gateway_id}`,
    charts: `/gateways/${nodes['gw-t1'].gateway_id}?tab=charts&range=5m`, connections: '/connections', connection: `/connections/${await first('connections')}`, link: `/links/${await first('links')}?range=5m`,
    enrolment: '/enrolment', create: '/create',
    ...(served['/api/v1/instance-sizes'] ? { 'instance-sizes': '/instance-sizes' } : {}),
    ...(ruleset ? { firewall: '/firewall', ruleset: `/firewall/${ruleset}`, 'address-groups': '/firewall?tab=groups' } : {}),
    ...(served['/api/v1/api-keys'] ? { settings: '/settings' } : {}),
    ...(served['/api/v1/audit'] ? { changes: '/changes' } : {}),
    ...(served['/api/v1/diagnostics/trace-path'] ? { 'trace-path': `/diagnostics/${await trace(page)}`, diagnostics: '/diagnostics' } : {}),
  }
  const shoot = async (name) => {
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle').catch(() => {})
    await page.waitForTimeout(700)
    await page.screenshot({ path: `${folder}/${name}-${theme}.png` })
  }
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(url + path)
    await shoot(name)
  }
  await page.goto(`${url}/connections/${await first('connections')}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByLabel('Tunnels a link').fill('4')
  await page.getByText(/8 → 4 tunnels/).waitFor()
  await shoot('plan')
  if (served['/api/v1/connections/{id}/encryption-policy']) {
    const permission = await permit(page)
    await page.goto(url + permission.page)
    await shoot('unencrypted')
    await api(page, 'DELETE', `${permission.path}/encryption-policy`)
  }
  await context.close()
  await over
}
await close()
