import { useFleet, gatewayState } from '../api/fleet'
import { mbps } from '../api/format'
import type { Gateway, Site } from '../api/types'
import { ActionLink } from '../parts/action-link'
import { Age } from '../parts/age'
import { Empty, PageHead } from '../parts/messages'
import { State, rank } from '../parts/state'
import { Table, type Column } from '../parts/table'

/** Older than this a report says nothing about now. */
export const staleAfter = (g: Gateway) => 3 * (g.telemetry?.interval_seconds ?? 10)

export function gatewayColumns(sites: Map<string, Site>): Column<Gateway>[] {
  const site = (g: Gateway) => sites.get(g.site_id)?.name ?? ''
  const links = (g: Gateway) => (g.telemetry ? g.telemetry.links_up + g.telemetry.links_degraded + g.telemetry.links_down : 0)
  return [
    { id: 'name', title: 'Gateway', value: (g) => g.name, show: (g) => <a href={`/gateways/${g.id}`}>{g.name}</a> },
    { id: 'state', title: 'State', value: (g) => rank(gatewayState(g)), text: gatewayState, show: (g) => <State state={gatewayState(g)} status={g.status} /> },
    { id: 'site', title: 'Site', value: site, show: (g) => <a href={`/sites/${g.site_id}`}>{site(g)}</a> },
    { id: 'size', title: 'Size', value: (g) => g.size ?? '', show: (g) => g.size ?? <span class="muted">not told</span> },
    { id: 'links', title: 'Links up', num: true, value: (g) => g.telemetry?.links_up, show: (g) => (g.telemetry ? `${g.telemetry.links_up} of ${links(g)}` : '–') },
    { id: 'out', title: 'Out Mbit/s', num: true, value: (g) => g.telemetry?.goodput_tx_bps, show: (g) => mbps(g.telemetry?.goodput_tx_bps) },
    { id: 'in', title: 'In Mbit/s', num: true, value: (g) => g.telemetry?.goodput_rx_bps, show: (g) => mbps(g.telemetry?.goodput_rx_bps) },
    { id: 'config', title: 'Config', num: true, value: (g) => g.revisions.in_force, show: (g) => g.revisions.in_force === g.revisions.config ? g.revisions.in_force : <span title={`${g.revisions.in_force} in force, ${g.revisions.config} planned`}>{g.revisions.in_force} → {g.revisions.config}</span> },
    { id: 'version', title: 'Agent', value: (g) => g.agent_version ?? '' },
    { id: 'seen', title: 'Last report', num: true, value: (g) => (g.telemetry ? -Date.parse(g.telemetry.observed_at) : null), show: (g) => <Age at={g.telemetry?.observed_at} stale={staleAfter(g)} /> },
  ]
}

export function GatewaysPage() {
  const fleet = useFleet()
  return (
    <>
      <PageHead title="Gateways"><ActionLink primary href="/enrolment">Add a gateway</ActionLink></PageHead>
      <Table name="gateways" rows={fleet.data?.gateways} problem={fleet.problem} columns={gatewayColumns(fleet.data?.site ?? new Map())} rowKey={(g) => g.id} sort="name"
        empty={fleet.data?.sites.length
          ? <Empty title="No gateway yet" action={{ href: '/enrolment', text: 'Make an enrolment token' }}>A machine becomes a gateway by enrolling with a token.</Empty>
          : <Empty title="No gateway yet" action={{ href: '/create', text: 'Join two sites' }}>Begin with two sites that shall reach each other.</Empty>} />
    </>
  )
}
