/** An operator's open dashboard: signs in, says so on a line, and stays until its standard input ends. */
import { close, open, signIn, visitor } from '../web/browser.mjs'

await open()
const { page, complaints } = await visitor()
await signIn(page)
await page.waitForLoadState('load')
console.log('open')
process.stdin.resume()
await new Promise((done) => process.stdin.on('end', done))
const shown = await page.getByRole('heading', { name: 'Dashboard' }).isVisible()
await close()
const failed = complaints.filter((c) => !/status of 401/.test(c))
if (!shown || failed.length) {
  console.error(`the dashboard did not stay: ${failed.join('; ')}`)
  process.exitCode = 1
}
