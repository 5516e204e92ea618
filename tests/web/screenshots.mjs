/** Writes HAWSER_SCREENSHOTS/PAGE-{light,dark}.png of the lab's console. */
import { api, close, open, signIn, state, url, visitor } from './browser.mjs'

const folder = process.env.HAWSER_SCREENSHOTS
await open()
for (const theme of ['light', 'dark']) {
  const { page, context } = await visitor({ colorScheme: theme })
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('API token').waitFor()
  await page.screenshot({ path: `${folder}/sign-in-${theme}.png` })
  await signIn(page)
  const nodes = state().nodes
  const first = async (kind) => (await api(page, 'GET', `/api/v1/${kind}`)).items[0].id
  const pages = {
    dashboard: '/', topology: '/topology', sites: '/sites', gateways: '/gateways', gateway: `/gateways/${nodes['gw-t1'].gateway_id}`,
    connections: '/connections', connection: `/connections/${await first('connections')}`, link: `/links/${await first('links')}`,
    enrolment: '/enrolment', create: '/create',
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
