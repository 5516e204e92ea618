import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { may, now, post, serves } from '../api/client'
import { gatewayState, useFleet, type Fleet } from '../api/fleet'
import { percent, rate } from '../api/format'
import { refresh, useGet, useList } from '../api/live'
import type { Gateway, Ruleset, Telemetry } from '../api/types'
import { ActionLink } from '../parts/action-link'
import { Chart, type Line } from '../parts/chart'
import { useSubmit } from '../parts/form'
import { Card, Empty, PageHead, ProblemBox } from '../parts/messages'
import { useRange } from '../parts/range'
import { State, rank } from '../parts/state'
import { Table } from '../parts/table'
import { connectionColumns } from './connections'
import { gatewayColumns, staleAfter } from './gateways'

function Tile({ what, value, unit, more, href }: { what: string; value: ComponentChildren; unit?: string; more?: ComponentChildren; href: string }) {
  return (
    <a class="card tile" href={href} style={{ color: 'inherit', textDecoration: 'none' }}>
      <div class="what">{what}</div>
      <div class="value">{value}{unit && <small>{unit}</small>}</div>
      <div class="more">{more}</div>
    </a>
  )
}

/** A report that is too old says nothing about now. */
const fresh = (g: Gateway) => !!g.telemetry && (now() - Date.parse(g.telemetry.observed_at)) / 1000 <= staleAfter(g)

function Tiles({ fleet }: { fleet: Fleet }) {
  const seen = fleet.gateways.filter(fresh)
  const total = seen.reduce((n, g) => n + g.telemetry!.goodput_tx_bps, 0)
  const [value, unit] = rate(total).split(' ')
  const up = fleet.gateways.filter((g) => gatewayState(g) === 'up').length
  const connected = fleet.connections.filter((c) => c.state === 'up').length
  const tunnelsUp = fleet.links.reduce((n, l) => n + l.link.status.tunnels_up, 0)
  const tunnels = fleet.links.reduce((n, l) => n + l.link.tunnels, 0)
  const rest = (n: number, of: number, word: string) => (n === of ? `all ${word}` : `${of - n} not ${word}`)
  return (
    <div class="tiles">
      <Tile what="Goodput sent" value={seen.length ? value : '–'} unit={seen.length ? unit : ''} more={`by ${seen.length} of ${fleet.gateways.length} gateways`} href="/gateways?sort=-out" />
      <Tile what="Gateways" value={up} unit={`of ${fleet.gateways.length} up`} more={rest(up, fleet.gateways.length, 'up')} href="/gateways?sort=state" />
      <Tile what="Connections" value={connected} unit={`of ${fleet.connections.length} up`} more={rest(connected, fleet.connections.length, 'up')} href="/connections?sort=state" />
      <Tile what="Tunnels" value={tunnelsUp} unit={`of ${tunnels} up`} more={rest(tunnelsUp, tunnels, 'up')} href="/connections?sort=state" />
    </div>
  )
}

interface Trouble { key: string; state: string; what: ComponentChildren; why: string }

function troubles(fleet: Fleet, rulesets: Ruleset[]): Trouble[] {
  const list: Trouble[] = []
  for (const g of fleet.gateways) {
    const state = gatewayState(g)
    if (state !== 'up') list.push({ key: g.id, state, what: <a href={`/gateways/${g.id}`}>{g.name}</a>, why: state === 'pending' ? 'waits for its machine to enrol' : state === 'revoked' ? 'revoked; delete it when it is gone' : g.status.reason || 'no report' })
    if (g.revisions.refused.some((r) => r.revision === g.revisions.config)) list.push({ key: `${g.id} config`, state: 'degraded', what: <a href={`/gateways/${g.id}?tab=config`}>{g.name}</a>, why: `refused its config: ${g.revisions.refused.find((r) => r.revision === g.revisions.config)!.reason}` })
  }
  for (const r of rulesets) {
    const failed = r.enabled ? r.gateways.find((g) => g.state === 'failed') : undefined
    if (failed) list.push({ key: r.id, state: 'down', what: <a href={`/firewall/${r.id}`}>{r.name}</a>, why: `its rules are not in force on ${fleet.gateway.get(failed.gateway_id)?.name ?? 'a gateway'}: ${failed.reason}` })
  }
  for (const c of fleet.connections) {
    if (c.encrypted === false) list.push({ key: `${c.connection.id} plain`, state: 'down', what: <a href={`/connections/${c.connection.id}`}>{c.connection.name}</a>, why: 'its traffic is UNENCRYPTED' })
    if (c.state !== 'up' && c.state !== 'disabled') list.push({ key: c.connection.id, state: c.state, what: <a href={`/connections/${c.connection.id}`}>{c.connection.name}</a>, why: c.reason || c.state })
  }
  return list.sort((x, y) => rank(x.state) - rank(y.state))
}

function Attention({ fleet }: { fleet: Fleet }) {
  const rulesets = useList<Ruleset>(serves('/rulesets') ? '/api/v1/rulesets' : null, 10_000)
  const list = troubles(fleet, rulesets.data ?? [])
  return (
    <Card title="Needs attention" pad={false}>
      {list.length ? (
        <table aria-label="Needs attention"><tbody>
          {list.slice(0, 8).map((t) => <tr key={t.key}><td style={{ width: '120px' }}><State state={t.state} /></td><td style={{ width: '30%' }}>{t.what}</td><td class="clip" title={t.why}>{t.why}</td></tr>)}
          {list.length > 8 && <tr><td colSpan={3} class="muted">and {list.length - 8} more</td></tr>}
        </tbody></table>
      ) : <div class="body"><State state="up" text="Everything is up" /></div>}
    </Card>
  )
}

/** The controller was restored from an older backup and waits for a person. */
function Held() {
  const revisions = useGet<{ revision: number; held: boolean; reason: string | null }>('/api/v1/revisions', 30_000)
  const submit = useSubmit()
  if (!revisions.data?.held) return null
  const allowed = may('POST', '/revisions/accept')
  return (
    <div class="problem" role="alert">
      <strong>No config is sent to any gateway</strong>
      <span>{revisions.data.reason}</span>
      <ProblemBox problem={submit.problem} />
      {!allowed && <span>Somebody of role admin must accept this controller’s state.</span>}
      {allowed && <div class="actions"><button type="button" disabled={submit.busy} onClick={() => submit.run(async () => {
        await post('/api/v1/revisions/accept')
        refresh()
      })}>Accept this controller’s state and send it</button></div>}
    </div>
  )
}

const colours = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5'] as const

/** Those that send most when the page is opened. */
function Busiest({ fleet }: { fleet: Fleet }) {
  const { query, interval } = useRange()
  const [ids] = useState(() => fleet.gateways.filter(fresh).sort((a, b) => b.telemetry!.goodput_tx_bps - a.telemetry!.goodput_tx_bps).slice(0, 5).map((g) => g.id))
  const shown = ids.filter((id) => fleet.gateway.has(id))
  const objects = shown.map((id) => `gateway/${id}`)
  const telemetry = useGet<Telemetry>(objects.length ? `/api/v1/telemetry?object=${objects.join(',')}&metric=goodput_tx_bps,busy_ratio&${query}` : null, interval)
  if (!telemetry.data) return null
  const lines = (metric: string): Line[] => shown.map((id, i) => ({ metric, object: `gateway/${id}`, text: fleet.gateway.get(id)!.name, colour: colours[i]! }))
  return (
    <div class="charts">
      <Chart title="Goodput sent" lines={lines('goodput_tx_bps')} telemetry={[telemetry.data]} object="" show={rate} least={1e6} />
      <Chart title="Busy, hottest core" lines={lines('busy_ratio')} telemetry={[telemetry.data]} object="" show={percent} least={1} />
    </div>
  )
}

export function DashboardPage() {
  const fleet = useFleet()
  const f = fleet.data
  if (f && !f.sites.length) {
    return (
      <>
        <PageHead title="Dashboard" />
        <div class="card"><Empty title="An empty network" action={{ href: '/create', text: 'Join two sites' }}>Name two sites, connect them, and give each a gateway: the assistant goes through it and shows when traffic flows.</Empty></div>
      </>
    )
  }
  return (
    <>
      <PageHead title="Dashboard"><ActionLink href="/create">Add a site</ActionLink></PageHead>
      <div class="stack">
        <Held />
        {!f && fleet.problem && <ProblemBox problem={fleet.problem} />}
        {f && <><Tiles fleet={f} /><Attention fleet={f} />{serves('/telemetry') && f.gateways.some(fresh) && <Busiest fleet={f} />}</>}
        <h2>Connections</h2>
        <Table prefix="c-" name="connections" rows={f?.connections} columns={connectionColumns(!!f?.topology).filter((c) => c.id !== 'kind')} rowKey={(c) => c.connection.id} sort="state"
          empty={<Empty title="No connection yet" action={{ href: '/create', text: 'Join two sites' }} />} />
        <h2>Gateways</h2>
        <Table prefix="g-" name="gateways" rows={f?.gateways} columns={gatewayColumns(f?.site ?? new Map()).filter((c) => !['version', 'config'].includes(c.id))} rowKey={(g) => g.id} sort="-out"
          empty={<Empty title="No gateway yet" action={{ href: '/enrolment', text: 'Make an enrolment token' }} />} />
      </div>
    </>
  )
}
