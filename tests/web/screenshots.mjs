/** Writes HAWSER_SCREENSHOTS/PAGE-{light,dark}.png of the lab's console, with some traffic between the hosts. */
import { api, close, lab, open, signIn, state, url, visitor } from './browser.mjs'

const folder = process.env.HAWSER_SCREENSHOTS
const target = state().nodes['host-b'].addresses.site[0]
await lab('exec', 'host-b', '--', 'iperf3', '-s', '-1', '-D')
const traffic = lab('exec', 'host-a', '--', 'iperf3', '-c', target, '-t', '45', '-P', '8', '-b', '60M', '--bidir').catch((e) => console.error(String(e)))
await new Promise((done) => setTimeout(done, 20_000))

/** A trace of the path, over when it is shown. */
async function trace(page) {
  const [from, to] = ['gw-a1', 'gw-t1'].map((n) => state().nodes[n].gateway_id)
  return (await api(page, 'POST', '/api/v1/diagnostics/trace-path', { gateway_id: from, target_gateway_id: to })).id
}
await open()
for (const theme of ['light', 'dark']) {
  const { page, context } = await visitor({ colorScheme: theme })
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('API token').waitFor()
  await page.screenshot({ path: `${folder}/sign-in-${theme}.png` })
  await signIn(page)
  await page.mouse.move(0, 0)
  const nodes = state().nodes
  const served = (await api(page, 'GET', '/api/v1/openapi.json')).paths
  const first = async (kind) => (await api(page, 'GET', `/api/v1/${kind}`)).items[0].id
  const pages = {
    dashboard: '/', topology: '/topology', sites: '/sites', gateways: '/gateways', gateway: `/gateways/${nodes['gw-t1'].gateway_id}`,
    charts: `/gateways/${nodes['gw-t1'].gateway_id}?tab=charts&range=5m`, connections: '/connections', connection: `/connections/${await first('connections')}`, link: `/links/${await first('links')}?range=5m`,
    enrolment: '/enrolment', create: '/create',
    ...(served['/api/v1/instance-sizes'] ? { 'instance-sizes': '/instance-sizes' } : {}),
    ...(served['/api/v1/diagnostics/trace-path'] ? { 'trace-path': `/diagnostics/${await trace(page)}`, diagnostics: '/diagnostics' } : {}),
  }
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle').catch(() => {})
    await page.waitForTimeout(700)
    await page.screenshot({ path: `${folder}/${name}-${theme}.png` })
  }
  await context.close()
}
await close()
await traffic
