import { serves } from '../api/client'
import { useList } from '../api/live'
import type { Connection } from '../api/types'
import { Until } from './age'

export const weakText = (suite: string) => (suite === 'none' ? 'plaintext' : 'aes-256-gmac: authenticated, not secret')

/** On every page while any connection is permitted to go without encryption. */
export function WeakBanner() {
  const connections = useList<Connection>(serves('/connections/{id}/encryption-policy') ? '/api/v1/connections' : null, 15_000)
  const permitted = (connections.data ?? []).filter((c) => c.permission)
  if (!permitted.length) return null
  const [first, ...rest] = permitted.sort((a, b) => Number(b.permission!.in_effect) - Number(a.permission!.in_effect))
  const p = first!.permission!
  return (
    <div class="banner bad plain" role="alert">
      <strong>UNENCRYPTED</strong>
      <span>traffic {p.in_effect ? 'runs' : 'is permitted'} on <a href={`/connections/${first!.id}`}>{first!.name}</a> ({weakText(p.suite)}), ends <Until at={p.ends_at} />: {p.reason}</span>
      {rest.length > 0 && <span>– and on {rest.slice(0, 3).map((c, i) => <>{i > 0 && ', '}<a href={`/connections/${c.id}`}>{c.name}</a></>)}{rest.length > 3 && ` and ${rest.length - 3} more`}</span>}
    </div>
  )
}
