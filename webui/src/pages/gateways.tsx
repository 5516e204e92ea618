import { useList } from '../api/live'
import { mbps } from '../api/format'
import type { Gateway, Site } from '../api/types'
import { Age } from '../parts/age'
import { Empty, PageHead } from '../parts/messages'
import { State, rank } from '../parts/state'
import { Table, type Column } from '../parts/table'

/** An enrolled gateway is as it was last seen; before and after that its enrolment is what matters. */
export const gatewayState = (g: Gateway) => (g.state === 'enrolled' ? g.status.state : g.state)

export const seconds = (g: Gateway) => 3 * (g.telemetry?.interval_seconds ?? 10)

export function gatewayColumns(sites: Map<string, Site>): Column<Gateway>[] {
  const site = (g: Gateway) => sites.get(g.site_id)?.name ?? ''
  return [
    { id: 'name', title: 'Gateway', value: (g) => g.name, show: (g) => <a href={`/gateways/${g.id}`}>{g.name}</a> },
    { id: 'state', title: 'State', value: (g) => rank(gatewayState(g)), text: gatewayState, show: (g) => <State state={gatewayState(g)} status={g.status} /> },
    { id: 'site', title: 'Site', value: site, show: (g) => <a href={`/sites/${g.site_id}`}>{site(g)}</a> },
    { id: 'size', title: 'Size', value: (g) => g.size ?? '', show: (g) => g.size ?? <span class="muted">not told</span> },
    { id: 'links', title: 'Links up', num: true, value: (g) => g.telemetry?.links_up, show: (g) => g.telemetry ? `${g.telemetry.links_up} of ${g.telemetry.links_up + g.telemetry.links_degraded + g.telemetry.links_down}` : '–' },
    { id: 'out', title: 'Out Mbit/s', num: true, value: (g) => g.telemetry?.goodput_tx_bps, show: (g) => mbps(g.telemetry?.goodput_tx_bps) },
    { id: 'in', title: 'In Mbit/s', num: true, value: (g) => g.telemetry?.goodput_rx_bps, show: (g) => mbps(g.telemetry?.goodput_rx_bps) },
    { id: 'config', title: 'Config', num: true, value: (g) => g.revisions.in_force, show: (g) => g.revisions.in_force === g.revisions.config ? g.revisions.in_force : <span title="in force, and planned">{g.revisions.in_force} of {g.revisions.config}</span> },
    { id: 'version', title: 'Agent', value: (g) => g.agent_version ?? '' },
    { id: 'seen', title: 'Last report', num: true, value: (g) => (g.status.observed_at ? -Date.parse(g.status.observed_at) : null), show: (g) => <Age at={g.telemetry?.observed_at} stale={seconds(g)} /> },
  ]
}

export function GatewaysPage() {
  const gateways = useList<Gateway>('/api/v1/gateways')
  const sites = useList<Site>('/api/v1/sites', 15_000)
  const byId = new Map((sites.data ?? []).map((s) => [s.id, s]))
  return (
    <>
      <PageHead title="Gateways" />
      <Table name="gateways" rows={gateways.data} problem={gateways.problem} columns={gatewayColumns(byId)} rowKey={(g) => g.id} sort="name"
        empty={<Empty title="No gateway yet">A gateway appears here when its machine enrols with a token.</Empty>} />
    </>
  )
}
