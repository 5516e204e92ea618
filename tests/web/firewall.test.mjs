/** Rules through the console, at work on a running lab's gateway. */
import { strict as assert } from 'node:assert'
import { after, before, test } from 'node:test'
import { api, barriers, close, lab, open, state, url, visit } from './browser.mjs'

before(open)
after(close)

const MARKUP = '<img src=x onerror=alert(1)>'

async function clean(page) {
  for (const kind of ['rulesets', 'address-groups']) {
    for (const x of (await api(page, 'GET', `/api/v1/${kind}`)).items) await api(page, 'DELETE', `/api/v1/${kind}/${x.id}`)
  }
}

async function begin(page, name, fill) {
  await page.getByRole('button', { name: 'Add a rule' }).click()
  await page.getByLabel('Name', { exact: true }).fill(name)
  await fill()
}
async function add(page, name, fill) {
  await begin(page, name, fill)
  await page.getByRole('button', { name: 'Add rule', exact: true }).click()
}
const order = (page) => page.getByRole('table', { name: 'rules' }).locator('tbody tr td:nth-child(2)').allTextContents()

test('rules are made, moved, changed and deleted, and decide about traffic', visit(async (page) => {
  const ping = (host) => lab('exec', 'host-b', '--', 'ping', '-n', '-c', '2', '-i', '0.2', '-W', '2', state().nodes[host].addresses.site[0])
  try {
    await page.goto(`${url}/firewall`)
    await page.getByText('No rule anywhere: all sites pass everything').waitFor()
    await page.getByRole('button', { name: 'New ruleset' }).first().click()
    await page.getByLabel('Site', { exact: true }).selectOption('site-a')
    await page.getByLabel('Everything else').selectOption('deny')
    await page.getByLabel('Description').fill(MARKUP)
    assert.deepEqual(await barriers(page), [])
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'site-a-edge' }).waitFor()
    await page.getByText('No rule yet: nothing passes').waitFor()
    await page.getByText(MARKUP).waitFor()

    await page.goto(`${url}/firewall?tab=groups`)
    await page.getByRole('button', { name: 'New address group' }).click()
    await page.getByLabel('Name', { exact: true }).fill('branch')
    await page.getByLabel('Site', { exact: true }).selectOption('site-a')
    await page.getByLabel('Prefixes').fill('10.2.0.0/16\nfd02::/48')
    await page.getByLabel('Description').fill(MARKUP)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('10.2.0.0/16, fd02::/48').waitFor()
    assert.deepEqual(await barriers(page), [])

    await page.getByRole('link', { name: 'Rulesets' }).click()
    await page.getByRole('link', { name: 'site-a-edge' }).click()
    await add(page, 'web-in', async () => {
      await page.getByRole('button', { name: 'Source: add branch' }).click()
      await page.getByLabel('Destination', { exact: true }).fill('10.1.1.10')
      await page.getByLabel('Destination ports').fill('443, 8000-8099')
      await page.getByLabel('Description').fill(MARKUP)
    })
    await page.getByRole('cell', { name: '10.1.1.10/32' }).waitFor()
    await add(page, 'ping', () => page.getByLabel('Protocol', { exact: true }).selectOption('icmp'))
    await page.getByRole('button', { name: 'Change ping' }).waitFor()
    assert.deepEqual(await order(page), ['web-in', 'ping'])

    // What no packet would meet is refused at its field, with the reason, before it is asked for.
    await begin(page, 'again', () => page.getByLabel('Protocol', { exact: true }).selectOption('icmp'))
    await page.getByText(/earlier rules take all of its packets, up to rule ping/).first().waitFor()
    assert.ok(await page.getByRole('button', { name: 'Add rule', exact: true }).isDisabled())
    assert.equal(await page.getByLabel('Position').getAttribute('aria-invalid'), 'true')
    assert.deepEqual(await barriers(page), [])
    await page.getByRole('button', { name: 'Cancel' }).click()

    await page.getByRole('button', { name: 'Move ping up' }).click()
    await page.getByRole('row').nth(1).getByText('ping').waitFor()
    assert.deepEqual(await order(page), ['ping', 'web-in'])
    await page.getByRole('button', { name: 'Change web-in' }).click()
    await page.getByLabel('Destination ports').fill('443')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('cell', { name: '443', exact: true }).waitFor()

    // Hosts of the other site meet the first rule; its hits come with the gateway's next reports.
    await page.getByText('in force on gw-a1').waitFor({ timeout: 30_000 })
    await ping('host-a')
    await page.getByRole('row').filter({ hasText: 'ping' }).getByRole('cell', { name: /^[1-9]\d*$/ }).nth(1).waitFor({ timeout: 30_000 })

    await page.getByRole('button', { name: 'Delete web-in' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Change web-in' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByLabel('Enabled').selectOption('no')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('disabled').first().waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No rule anywhere').waitFor()
    assert.equal(await page.locator('img').count(), 0)
  } finally {
    await clean(page)
  }
}, { allowed: /status of 422/ }))
