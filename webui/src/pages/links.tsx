import type { ComponentChildren } from 'preact'
import { serves } from '../api/client'
import { useFleet, type LinkView } from '../api/fleet'
import { mbps, ms, percent, rate } from '../api/format'
import { useGet } from '../api/live'
import type { Tunnel } from '../api/types'
import { Age } from '../parts/age'
import { Charts, linkCharts } from '../parts/charts'
import { Choose, Text } from '../parts/form'
import { Card, Empty, Facts } from '../parts/messages'
import { Missing, ObjectPage } from '../parts/object-page'
import { State, rank } from '../parts/state'
import { Table, type Column } from '../parts/table'
import { WriteForm } from '../parts/write-form'
import type { PageProps } from '.'

const home = { href: '/connections', text: 'Connections' }

export function linkColumns(measured: boolean): Column<LinkView>[] {
  const all: (Column<LinkView> & { measured?: boolean })[] = [
    { id: 'name', title: 'Link', value: (l) => l.name, show: (l) => <a href={`/links/${l.link.id}`}>{l.name}</a> },
    { id: 'state', title: 'State', value: (l) => rank(l.state), text: (l) => l.state, show: (l) => <State state={l.state} status={{ ...l.link.status, state: l.state, reason: l.reason }} /> },
    { id: 'kind', title: 'Kind', value: (l) => l.link.kind },
    { id: 'tunnels', title: 'Tunnels up', num: true, value: (l) => l.link.status.tunnels_up, show: (l) => `${l.link.status.tunnels_up} of ${l.link.tunnels}` },
    { id: 'ab', title: 'a to b Mbit/s', num: true, measured: true, value: (l) => l.ab, show: (l) => mbps(l.ab) },
    { id: 'ba', title: 'b to a Mbit/s', num: true, measured: true, value: (l) => l.ba, show: (l) => mbps(l.ba) },
    { id: 'rtt', title: 'RTT ms', num: true, measured: true, value: (l) => l.rtt, show: (l) => (l.rtt == null ? '–' : l.rtt.toFixed(2)) },
    { id: 'mtu', title: 'MTU', num: true, measured: true, value: (l) => l.mtu },
    { id: 'path', title: 'Outer addresses', value: (l) => (l.link.address_a ? `${l.link.address_a} – ${l.link.address_b}` : ''), show: (l) => l.link.address_a ? <span class="mono">{l.link.address_a} – {l.link.address_b}</span> : <span class="muted">not chosen yet</span> },
    { id: 'seen', title: 'Seen', num: true, value: (l) => (l.link.status.observed_at ? -Date.parse(l.link.status.observed_at) : null), show: (l) => <Age at={l.link.status.observed_at} stale={30} /> },
  ]
  return all.filter((c) => measured || !c.measured)
}

const end = (t: Tunnel, id: string) => t.ends.find((e) => e.gateway_id === id)

function tunnelColumns(a: string, b: string): Column<Tunnel>[] {
  const sum = (x: number | undefined, y: number | undefined) => (x === undefined && y === undefined ? null : (x ?? 0) + (y ?? 0))
  const first = (t: Tunnel) => end(t, a) ?? end(t, b)
  return [
    { id: 'tunnel', title: 'Tunnel', num: true, value: (t) => t.tunnel },
    { id: 'state', title: 'State', value: (t) => rank(t.status.state), text: (t) => t.status.state, show: (t) => <State status={t.status} /> },
    { id: 'port', title: 'UDP port', num: true, value: (t) => first(t)?.port },
    { id: 'worker', title: 'Workers', num: true, value: (t) => end(t, a)?.worker, show: (t) => <span title="at a, at b">{end(t, a)?.worker ?? '–'}, {end(t, b)?.worker ?? '–'}</span> },
    { id: 'mtu', title: 'MTU', num: true, value: (t) => first(t)?.mtu },
    { id: 'rtt', title: 'RTT ms', num: true, value: (t) => first(t)?.rtt_ms.avg, show: (t) => { const r = first(t)?.rtt_ms; return r?.avg == null ? '–' : <span title={`${r.min?.toFixed(2)} to ${r.max?.toFixed(2)}`}>{r.avg.toFixed(2)}</span> } },
    { id: 'loss', title: 'Loss %', num: true, value: (t) => first(t)?.loss_ratio, show: (t) => { const l = first(t)?.loss_ratio; return l == null ? '–' : (l * 100).toFixed(l ? 2 : 0) } },
    { id: 'ab', title: 'a to b Mbit/s', num: true, value: (t) => end(t, a)?.goodput_tx_bps, show: (t) => mbps(end(t, a)?.goodput_tx_bps) },
    { id: 'ba', title: 'b to a Mbit/s', num: true, value: (t) => end(t, b)?.goodput_tx_bps, show: (t) => mbps(end(t, b)?.goodput_tx_bps) },
    { id: 'packets', title: 'Packets', num: true, value: (t) => sum(end(t, a)?.tx_packets, end(t, b)?.tx_packets), show: (t) => { const n = sum(end(t, a)?.tx_packets, end(t, b)?.tx_packets); return n == null ? '–' : n.toLocaleString('en-US').replaceAll(',', ' ') } },
    { id: 'seen', title: 'Seen', num: true, value: (t) => (t.status.observed_at ? -Date.parse(t.status.observed_at) : null), show: (t) => <Age at={t.status.observed_at} stale={30} /> },
  ]
}

function Tunnels({ view }: { view: LinkView }) {
  const tunnels = useGet<{ items: Tunnel[] }>(`/api/v1/links/${view.link.id}/tunnels`)
  return (
    <>
      <h2>Tunnels</h2>
      <Table prefix="t-" name="tunnels of this link" rows={tunnels.data?.items} problem={tunnels.problem} rowKey={(t) => String(t.tunnel).padStart(2, '0')} sort="tunnel"
        columns={tunnelColumns(view.link.gateway_a_id, view.link.gateway_b_id)}
        empty={<Empty title="No tunnel yet">They are made when both gateways are enrolled.</Empty>} />
    </>
  )
}

function LinkEditor({ view, done }: { view: LinkView; done: () => void }) {
  const l = view.link
  return (
    <WriteForm title={`Change ${view.name}`} start={{ tunnels_override: String(l.tunnels_override ?? ''), enabled: l.enabled ? 'yes' : 'no' }} method="PATCH" path={`/api/v1/links/${l.id}`} action="Apply" done={done} cancel={done}
      body={(f) => ({ tunnels_override: f.tunnels_override ? Number(f.tunnels_override) : null, enabled: f.enabled === 'yes' })}>
      {(of) => (
        <>
          <Text {...of('tunnels_override')} label="Tunnels" type="number" placeholder="auto" help="Of this link alone, 1 to 50; empty: as the connection says, else from the sizes at both ends" />
          <Choose {...of('enabled')} label="Enabled" options={[{ value: 'yes', text: 'yes' }, { value: 'no', text: 'no' }]} help="Disabled: its tunnels are taken down; other links of the connection carry the flows" />
        </>
      )}
    </WriteForm>
  )
}

function LinkFacts({ view, measured }: { view: LinkView; measured: boolean }) {
  const l = view.link
  return (
    <Card>
      <Facts rows={[
        ['Gateways', <><a href={`/gateways/${l.gateway_a_id}`}>{view.a?.name}</a> (a) and <a href={`/gateways/${l.gateway_b_id}`}>{view.b?.name}</a> (b)</>],
        ['Kind', l.kind],
        ['Outer addresses', l.address_a ? <span class="mono">{l.address_a} – {l.address_b}</span> : <span class="muted">not chosen yet</span>],
        ['Tunnels', `${l.status.tunnels_up} of ${l.tunnels} up${l.tunnels_override ? ', number set' : ''}${l.tunnels_reason ? `; ${l.tunnels_reason}` : ''}`],
        ...(l.status.suite ? [['Encryption', l.status.encrypted === false ? <span class="chip plain">UNENCRYPTED {l.status.suite}</span> : l.status.suite] as [string, ComponentChildren]] : []),
        ...(measured ? [
          ['Goodput', `${rate(view.ab)} a to b, ${rate(view.ba)} b to a`] as [string, string],
          ['RTT, loss, MTU', `${ms(view.rtt)}, ${percent(view.loss)}, ${view.mtu ?? '–'}`] as [string, string],
        ] : []),
        ['Seen', <>{l.status.observer ? `by ${l.status.observer}, ` : ''}<Age at={l.status.observed_at} stale={30} /></>],
      ]} />
    </Card>
  )
}

export function LinkPage({ id }: PageProps) {
  const fleet = useFleet()
  const view = fleet.data?.links.find((l) => l.link.id === id)
  if (!view) return <Missing live={fleet} noun="link" home={home} />
  const l = view.link
  const connection = fleet.data!.connections.find((c) => c.connection.id === l.connection_id)
  return (
    <ObjectPage title={view.name} noun="link" home={home} path={`/api/v1/links/${l.id}`} editor={(done) => <LinkEditor view={view} done={done} />}
      crumb={connection ? { href: `/connections/${connection.connection.id}`, text: connection.connection.name } : home}
      state={<State state={view.state} status={{ ...l.status, state: view.state, reason: view.reason }} />}>
      {(editor) => (
        <div class="stack">
          {view.state !== 'up' && view.reason && <div class="note">{view.reason}</div>}
          {editor ?? <LinkFacts view={view} measured={!!fleet.data!.topology} />}
          {serves('/telemetry') && <Charts object={`link/${l.id}`} observers={[l.gateway_a_id, l.gateway_b_id]} charts={linkCharts(view.a?.name ?? 'a', view.b?.name ?? 'b')} />}
          {serves('/links/{id}/tunnels') && <Tunnels view={view} />}
        </div>
      )}
    </ObjectPage>
  )
}
