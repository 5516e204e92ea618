import type { Gateway, Ruleset } from '../../api/types'
import { State } from '../../parts/state'

/** In one word and mark how a ruleset stands on the gateways of its site. */
export function rulesetState(r: Ruleset, gateways: Gateway[]) {
  const name = (id: string) => gateways.find((g) => g.id === id)?.name ?? id
  const of = (s: string) => r.gateways.filter((g) => g.state === s)
  if (!r.enabled) return { text: 'disabled', mark: <State state="disabled" /> }
  if (!r.gateways.length) return { text: 'no gateway yet', mark: <State state="pending" text="no gateway yet" /> }
  const why = r.gateways.filter((g) => g.state !== 'applied').map((g) => `${name(g.gateway_id)}: ${g.reason || g.state}`).join('; ')
  const applied = of('applied').length
  const text = applied === r.gateways.length ? `in force on ${applied === 1 ? name(r.gateways[0]!.gateway_id) : `all ${applied}`}` : `in force on ${applied} of ${r.gateways.length}`
  const state = applied === r.gateways.length ? 'up' : of('failed').length ? 'degraded' : of('pending').length ? 'pending' : 'unknown'
  return { text, mark: <State state={state} text={text} status={{ state, reason: why }} /> }
}
