/** A connection's permission to go without encryption: its guards, its mark on every page, its end. */
import { strict as assert } from 'node:assert'
import { after, before, test } from 'node:test'
import { api, barriers, close, open, state, url, visit } from './browser.mjs'

before(open)
after(close)

const MARKUP = '<img src=x onerror=alert(1)>'

test('encryption goes only when every guard is met, is marked everywhere, and returns by a press', visit(async (page, t) => {
  if (!(await api(page, 'GET', '/api/v1/openapi.json')).paths['/api/v1/connections/{id}/encryption-policy']) return t.skip('this controller has no encryption policy')
  const connection = (await api(page, 'GET', '/api/v1/connections')).items.find((c) => c.name === 'site-a-site-t')
  const path = `/api/v1/connections/${connection.id}`
  const sites = [connection.site_a_id, connection.site_b_id]
  try {
    await page.goto(`${url}/connections/${connection.id}`)
    await page.getByRole('button', { name: 'Permit to go without encryption' }).click()
    const guards = page.getByRole('list', { name: 'conditions' }).first()
    assert.equal(await guards.locator('.unmet').count(), 3)
    await page.getByLabel('Permit', { exact: true }).selectOption('aes-256-gmac')
    await page.getByLabel('Reason').fill(MARKUP)
    const permit = page.getByRole('button', { name: 'Permit it' })
    // Told by the plan, or by the refusal.
    if (await permit.isEnabled()) await permit.click()
    await page.getByText(/not met/).first().waitFor()
    assert.equal((await api(page, 'GET', `${path}/encryption-policy`)).permission, null)
    assert.deepEqual(await barriers(page), [])
    await page.getByRole('button', { name: 'Cancel' }).click()

    for (const id of sites) await api(page, 'PATCH', `/api/v1/sites/${id}`, { trusted_underlay: true })
    await api(page, 'PATCH', path, { path_resiliency: true })
    await page.reload()
    await page.getByRole('button', { name: 'Permit to go without encryption' }).click()
    assert.equal(await guards.locator('.met').count(), 3)
    await page.getByLabel('Permit', { exact: true }).selectOption('aes-256-gmac')
    await page.getByLabel('Ends').selectOption(String(8 * 3600))
    await page.getByLabel('Reason').fill(`copy inside the hall ${MARKUP}`)
    await permit.click()
    await page.getByText(/^UNENCRYPTED/).first().waitFor()
    assert.deepEqual(await barriers(page), [])
    for (const other of ['/', '/gateways', '/topology']) {
      await page.goto(url + other)
      const banner = page.getByRole('alert').filter({ hasText: 'UNENCRYPTED' })
      await banner.getByText(MARKUP).waitFor()
      assert.match(await banner.evaluate((e) => getComputedStyle(e).backgroundImage), /repeating-linear-gradient/)
      assert.deepEqual(await barriers(page), [], other)
    }
    await page.getByRole('alert').getByRole('link', { name: 'site-a-site-t' }).click()
    await page.getByRole('button', { name: 'Encrypt again now' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Encrypt again' }).click()
    await page.getByText('not permitted').waitFor()
    await page.getByRole('alert').filter({ hasText: 'UNENCRYPTED' }).waitFor({ state: 'detached' })
    assert.equal(await page.locator('img').count(), 0)
  } finally {
    await api(page, 'DELETE', `${path}/encryption-policy`)
    await api(page, 'PATCH', path, { path_resiliency: false })
    for (const id of sites) await api(page, 'PATCH', `/api/v1/sites/${id}`, { trusted_underlay: false })
  }
}, { allowed: /status of 4(09|22)/ }))
