import { useEffect, useState } from 'preact/hooks'
import { Problem, post, serves } from '../api/client'
import type { Plan, PlannedLink } from '../api/types'
import type { Write } from './commands'

/** What /plan takes; other writes have no effect on any gateway that could be told beforehand. */
const planned = /^\/api\/v1\/(sites|gateways|connections|links|rulesets|address-groups)(\/|$)/

export interface Foresight {
  plan: Plan | undefined
  /** Why there is none, where it should be there. */
  problem: Problem | undefined
  /** What is to be known about these very writes is known. */
  ready: boolean
}

/** The plan of writes that may still change under the user's hands: asked when they rest. */
export function usePlan(writes: Write[]): Foresight {
  const changes = writes.map(({ method, path, body }) => ({ method, path, ...(body === undefined ? {} : { body }) }))
  const key = changes.length && serves('/plan', 'POST') && writes.every((w) => planned.test(w.path)) ? JSON.stringify(changes) : ''
  const [known, setKnown] = useState<{ key: string; plan?: Plan; problem?: Problem }>({ key: '' })
  useEffect(() => {
    if (!key) return
    let gone = false
    const ask = async () => {
      try {
        const plan = await post<Plan>('/api/v1/plan', { changes: JSON.parse(key) })
        if (!gone) setKnown({ key, plan })
      } catch (e) {
        if (!(e instanceof Problem)) throw e
        // A write that this controller cannot plan is made without.
        if (!gone) setKnown({ key, ...(e.body.field?.endsWith('.path') ? {} : { problem: e }) })
      }
    }
    const timer = setTimeout(ask, 300)
    return () => {
      gone = true
      clearTimeout(timer)
    }
  }, [key])
  const fits = key !== '' && known.key === key
  return { plan: fits ? known.plan : undefined, problem: fits ? known.problem : undefined, ready: key === '' || fits }
}

/** The refusal of a planned write, as the write itself would be refused. */
export function refusalOf(plan: Plan | undefined): Problem | undefined {
  const first = plan?.refusals.find((r) => r.change !== null)
  return first && new Problem({ type: '', title: 'This is refused', status: first.status ?? 422, detail: first.detail, field: first.field, request_id: '' })
}

const LINKS = 8

function Links({ what, links }: { what: string; links: PlannedLink[] }) {
  if (!links.length) return null
  const tunnels = (l: PlannedLink) => (l.tunnels_before !== null && l.tunnels_after !== null && l.tunnels_before !== l.tunnels_after ? `${l.tunnels_before} → ${l.tunnels_after}` : l.tunnels_after ?? l.tunnels_before ?? 0)
  return (
    <ul class="plan-links">
      {links.slice(0, LINKS).map((l) => <li key={l.link_id}>{what} link {l.gateway_a} – {l.gateway_b}: {tunnels(l)} tunnels{l.tunnels_reason ? ` (${l.tunnels_reason})` : ''}{l.detail ? `; ${l.detail}` : ''}</li>)}
      {links.length > LINKS && <li>{what} {links.length - LINKS} more</li>}
    </ul>
  )
}

export function PlanBox({ plan }: { plan: Plan }) {
  return (
    <div class={plan.feasible ? 'note' : 'problem'} role="status">
      <strong>{plan.feasible ? 'What will happen' : 'This cannot be'}</strong>
      {plan.refusals.length ? plan.refusals.map((r, i) => <span key={i}>{r.detail}{r.field ? ` (${r.field})` : ''}</span>) : <span>{plan.summary}</span>}
      {plan.warnings.map((t) => <span key={t}>{t}</span>)}
      <Links what="Adds" links={plan.links.added} />
      <Links what="Removes" links={plan.links.removed} />
      <Links what="Changes" links={plan.links.changed} />
    </div>
  )
}

/** The plan, or that it is being made, with room kept so that buttons stay where they are. */
export function PlanNote({ foresight }: { foresight: Foresight }) {
  const { plan, problem, ready } = foresight
  if (plan) return <PlanBox plan={plan} />
  if (problem) return <div class="note" role="status"><strong>No plan</strong><span>{problem.body.detail}</span></div>
  return ready ? null : <div class="note" role="status"><strong>What will happen</strong><span class="muted">The controller plans it…</span></div>
}
