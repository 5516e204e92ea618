/** The whole network as the console shows it: what is wished (sites, gateways, connections, links) with what is seen. */
import { serves } from './client'
import { useGet, useList, type Live } from './live'
import type { Connection, Gateway, Link, Site, StateName, Topology } from './types'

export interface LinkView {
  link: Link
  a: Gateway | undefined
  b: Gateway | undefined
  name: string
  state: StateName | 'pending'
  reason: string
  ab: number | null
  ba: number | null
  rtt: number | null
  loss: number | null
  mtu: number | null
}

export interface ConnectionView {
  connection: Connection
  a: Site | undefined
  b: Site | undefined
  links: LinkView[]
  state: StateName | 'pending'
  reason: string
  encrypted: boolean | null
  ab: number | null
  ba: number | null
  rtt: number | null
  loss: number | null
  mtu: number | null
  tunnelsUp: number
  tunnelsTotal: number
}

export interface Fleet {
  sites: Site[]
  gateways: Gateway[]
  connections: ConnectionView[]
  links: LinkView[]
  site: Map<string, Site>
  gateway: Map<string, Gateway>
  topology: Topology | undefined
}

/** An enrolled gateway is as it was last seen; before and after that its enrolment is what matters. */
export const gatewayState = (g: Gateway) => (g.state === 'enrolled' ? g.status.state : g.state)

const known = <T>(v: T | null | undefined): v is T => v !== null && v !== undefined
const extreme = (f: (...v: number[]) => number, v: (number | null)[]) => (v.some(known) ? f(...v.filter(known)) : null)

function linkView(link: Link, gateway: Map<string, Gateway>, topology: Topology | undefined): LinkView {
  const a = gateway.get(link.gateway_a_id)
  const b = gateway.get(link.gateway_b_id)
  const seen = topology?.links.find((l) => l.id === link.id)
  const waits = [a, b].filter((g) => g?.state === 'pending').map((g) => g!.name)
  return {
    link, a, b,
    name: `${a?.name ?? '?'} – ${b?.name ?? '?'}`,
    state: waits.length ? 'pending' : (seen?.status ?? link.status).state,
    reason: waits.length ? `${waits.join(' and ')} not enrolled yet` : (seen?.status ?? link.status).reason,
    ab: seen?.goodput_ab_bps ?? null,
    ba: seen?.goodput_ba_bps ?? null,
    rtt: seen?.rtt_ms ?? null,
    loss: seen?.loss_ratio ?? null,
    mtu: seen?.mtu ?? null,
  }
}

/** The word for several: one that is not up makes the whole degraded, all down make it down. */
function together(states: string[]): StateName | 'pending' {
  const all = (s: string) => states.every((x) => x === s)
  if (!states.length || all('pending')) return 'pending'
  for (const s of ['up', 'down', 'unknown', 'disabled'] as const) if (all(s)) return s
  return 'degraded'
}

function connectionView(connection: Connection, fleet: { site: Map<string, Site>; gateways: Gateway[] }, links: LinkView[], topology: Topology | undefined): ConnectionView {
  const own = links.filter((l) => l.link.connection_id === connection.id)
  const seen = topology?.connections.find((c) => c.id === connection.id)
  const a = fleet.site.get(connection.site_a_id)
  const b = fleet.site.get(connection.site_b_id)
  const without = [a, b].filter((s) => s && !fleet.gateways.some((g) => g.site_id === s.id)).map((s) => s!.name)
  const bad = own.find((l) => l.state !== 'up')
  const state = !connection.enabled ? 'disabled' : own.length && own.some((l) => l.state !== 'pending') ? seen?.state ?? together(own.map((l) => l.state)) : 'pending'
  return {
    connection, a, b, state, links: own,
    reason: without.length ? `${without.join(' and ')} ${without.length > 1 ? 'have' : 'has'} no gateway yet` : bad && connection.enabled ? `${bad.name}: ${bad.reason || bad.state}` : '',
    encrypted: seen?.encrypted ?? null,
    ab: seen?.goodput_ab_bps ?? null,
    ba: seen?.goodput_ba_bps ?? null,
    rtt: seen ? seen.rtt_ms : extreme(Math.max, own.map((l) => l.rtt)),
    loss: seen?.loss_ratio ?? null,
    mtu: seen ? seen.mtu : extreme(Math.min, own.map((l) => l.mtu)),
    tunnelsUp: seen?.tunnels_up ?? own.reduce((n, l) => n + l.link.status.tunnels_up, 0),
    tunnelsTotal: seen?.tunnels_total ?? own.reduce((n, l) => n + l.link.tunnels, 0),
  }
}

let last: { key: unknown[]; fleet: Fleet } | undefined

function build(sites: Site[], gateways: Gateway[], connections: Connection[], links: Link[], topology: Topology | undefined): Fleet {
  const key = [sites, gateways, connections, links, topology]
  if (last && last.key.every((k, i) => k === key[i])) return last.fleet
  const site = new Map(sites.map((s) => [s.id, s]))
  const gateway = new Map(gateways.map((g) => [g.id, g]))
  const linkViews = links.map((l) => linkView(l, gateway, topology))
  const fleet: Fleet = {
    sites, gateways, site, gateway, topology,
    links: linkViews,
    connections: connections.map((c) => connectionView(c, { site, gateways }, linkViews, topology)),
  }
  last = { key, fleet }
  return fleet
}

/** Rates are there where the controller serves `/topology`. */
export function useFleet(): Live<Fleet> {
  const sites = useList<Site>('/api/v1/sites')
  const gateways = useList<Gateway>('/api/v1/gateways')
  const connections = useList<Connection>('/api/v1/connections')
  const links = useList<Link>('/api/v1/links')
  const measures = serves('/topology')
  const topology = useGet<Topology>(measures ? '/api/v1/topology' : null)
  const parts = [sites, gateways, connections, links, ...(measures ? [topology] : [])]
  const whole = parts.every((p) => p.data !== undefined)
  return {
    data: whole ? build(sites.data!, gateways.data!, connections.data!, links.data!, topology.data) : undefined,
    problem: parts.find((p) => p.problem)?.problem,
    at: Math.min(...parts.map((p) => p.at)),
    reload: () => parts.forEach((p) => p.reload()),
  }
}
