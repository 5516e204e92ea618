import { useState } from 'preact/hooks'
import { may, post, serves } from '../api/client'
import { gatewayState, useFleet, type Fleet } from '../api/fleet'
import { percent, rate, time } from '../api/format'
import { refresh, useGet } from '../api/live'
import type { Gateway, Opening, Worker } from '../api/types'
import { ActionLink } from '../parts/action-link'
import { Age, Until } from '../parts/age'
import { Charts, gatewayCharts } from '../parts/charts'
import { Confirm } from '../parts/confirm'
import { Text } from '../parts/form'
import { Card, Empty, Facts, Tabs } from '../parts/messages'
import { Missing, ObjectPage } from '../parts/object-page'
import { State } from '../parts/state'
import { Table } from '../parts/table'
import { WriteForm } from '../parts/write-form'
import { useQuery } from '../shell/location'
import type { PageProps } from '.'
import { staleAfter } from './gateways'
import { useSizeNames } from './instance-sizes'
import { linkColumns } from './links'

const home = { href: '/gateways', text: 'Gateways' }

function GatewayEditor({ gateway, done }: { gateway: Gateway; done: () => void }) {
  const sizes = useSizeNames()
  return (
    <WriteForm title={`Change ${gateway.name}`} start={{ name: gateway.name, size: gateway.size ?? '', weight: String(gateway.weight), port_base: String(gateway.port_base) }}
      method="PATCH" path={`/api/v1/gateways/${gateway.id}`} action="Apply" done={done} cancel={done}
      body={(f) => ({ name: f.name.trim(), size: f.size.trim() || null, weight: Number(f.weight), port_base: Number(f.port_base) })}>
      {(of) => (
        <>
          <Text {...of('name')} label="Name" required help="Lower-case letters, digits and hyphens" />
          <Text {...of('size')} label="Size" placeholder="c6in.8xlarge" options={sizes} help="The machine's instance size; may be empty" />
          <Text {...of('weight')} label="Weight" type="number" help="Share of the site's flows, in relation to its other gateways" />
          <Text {...of('port_base')} label="First port" type="number" help="UDP from here to 49 above, TCP this one. Changing it keys its links anew" />
        </>
      )}
    </WriteForm>
  )
}

function Overview({ g, fleet }: { g: Gateway; fleet: Fleet }) {
  const t = g.telemetry
  const stale = staleAfter(g)
  return (
    <div class="two">
      <Card title="Now">
        <Facts rows={[
          ['State', <State state={gatewayState(g)} status={g.status} />],
          ...(g.status.reason ? [['Why', g.status.reason] as [string, string]] : []),
          ['Seen', <>{g.status.observer ? `by ${g.status.observer}, ` : ''}<Age at={g.status.observed_at} stale={stale} /></>],
          ['Last report', <Age at={t?.observed_at} stale={stale} />],
          ['Goodput', t ? `${rate(t.goodput_tx_bps)} out, ${rate(t.goodput_rx_bps)} in` : '–'],
          ['Wire', t ? `${rate(t.wire_tx_bps)} out, ${rate(t.wire_rx_bps)} in` : '–'],
          ['Links', t ? `${t.links_up} up, ${t.links_degraded} degraded, ${t.links_down} down` : '–'],
          ...(g.performance ? [['Live ÷ published', `${percent(g.performance.ratio)} of ${rate(g.performance.published_bps)}`] as [string, string]] : []),
        ]} />
      </Card>
      <Card title="Machine">
        <Facts rows={[
          ['Site', <a href={`/sites/${g.site_id}`}>{fleet.site.get(g.site_id)?.name}</a>],
          ['Size', g.size ?? <span class="muted">not told</span>],
          ...(g.cloud ? [['Cloud', [g.cloud.provider, g.cloud.region, g.cloud.size].filter(Boolean).join(', ')] as [string, string]] : []),
          ['Reached at', g.endpoints.length ? <>{g.endpoints.map((e) => <div key={String(e.address)}><span class="mono">{String(e.address)}</span> <span class="muted">{e.scope}{e.reachable ? '' : ', cannot be dialled'}</span></div>)}</> : <span class="muted">not known yet</span>],
          ['Overlay', <span class="mono">{g.overlay.ipv4}, {g.overlay.ipv6}</span>],
          ['Interfaces', g.interfaces.length ? <>{g.interfaces.map((i) => <div key={i.name}><span class="mono">{i.name}</span> <span class="muted">{i.role}, MTU {i.mtu}</span></div>)}</> : '–'],
          ['Ports', `UDP ${g.port_base}–${g.port_base + 49}, TCP ${g.port_base}`],
          ['Weight', g.weight],
          ['Agent', g.agent_version ?? '–'],
          ['Certificate', g.certificate ? <>ends <Until at={g.certificate.not_after} /> <span class="muted mono" title="serial number">{g.certificate.serial.slice(0, 12)}…</span></> : '–'],
        ]} />
      </Card>
    </div>
  )
}

function Config({ g }: { g: Gateway }) {
  const r = g.revisions
  return (
    <Card>
      <Facts rows={[
        ['Planned', `revision ${r.config}`], ['Received', `revision ${r.received}`], ['Applied', `revision ${r.applied}`], ['In force', `revision ${r.in_force}`],
        ['Refused', r.refused.length ? <>{r.refused.map((x) => <div key={x.revision}>revision {x.revision}: {x.reason}</div>)}</> : 'none'],
        ['Changed', time(g.updated_at)], ['Created', time(g.created_at)],
      ]} />
    </Card>
  )
}

function Workers({ id }: { id: string }) {
  const workers = useGet<{ items: Worker[] }>(`/api/v1/gateways/${id}/workers`)
  return (
    <Table prefix="w-" name="workers" rows={workers.data?.items} problem={workers.problem} rowKey={(w) => String(w.worker).padStart(2, '0')} sort="worker"
      columns={[
        { id: 'worker', title: 'Worker', num: true, value: (w) => w.worker },
        { id: 'busy', title: 'Busy %', num: true, value: (w) => w.busy_ratio, show: (w) => <>{(w.busy_ratio * 100).toFixed(0)}<span class="bar" aria-hidden="true"><i style={{ width: `${w.busy_ratio * 100}%` }} /></span></> },
        { id: 'max', title: 'Highest second %', num: true, value: (w) => w.busy_ratio_max, show: (w) => (w.busy_ratio_max * 100).toFixed(0) },
        { id: 'tunnels', title: 'Tunnels', num: true, value: (w) => w.tunnels },
        { id: 'handoffs', title: 'Hand-offs /s', num: true, value: (w) => w.handoffs_per_second, show: (w) => w.handoffs_per_second.toFixed(0) },
        { id: 'seen', title: 'Seen', num: true, value: (w) => -Date.parse(w.observed_at), show: (w) => <Age at={w.observed_at} stale={30} /> },
      ]}
      empty={<Empty title="No worker reported yet" />} />
  )
}

function Openings({ id }: { id: string }) {
  const openings = useGet<{ items: Opening[] }>(`/api/v1/gateways/${id}/openings`, 30_000)
  const key = (o: Opening) => [o.direction, o.protocol, o.peer, o.purpose, o.local_ports, o.remote_ports, ...o.remote_addresses].join(' ')
  return (
    <div class="stack-s">
      <p class="muted">What a cloud's firewall must let through for this gateway. Nothing else comes in or goes out on its underlay.</p>
      <Table prefix="o-" name="openings" rows={openings.data?.items} problem={openings.problem} rowKey={key} sort="direction"
        columns={[
          { id: 'direction', title: 'Direction', value: (o) => o.direction },
          { id: 'protocol', title: 'Protocol', value: (o) => o.protocol.toUpperCase() },
          { id: 'local', title: 'Own ports', value: (o) => o.local_ports },
          { id: 'remote', title: "Peer's ports", value: (o) => o.remote_ports },
          { id: 'addresses', title: "Peer's addresses", value: (o) => o.remote_addresses.join(', '), show: (o) => <span class="mono">{o.remote_addresses.join(', ') || 'any'}</span> },
          { id: 'peer', title: 'Peer', value: (o) => o.peer },
          { id: 'why', title: 'Why', value: (o) => o.why },
        ]}
        empty={<Empty title="Nothing to open yet">Openings follow from the connections of its site.</Empty>} />
    </div>
  )
}

/** What only gateways have: a token for their machine, and being refused for good. */
function GatewayActions({ g }: { g: Gateway }) {
  const [asking, setAsking] = useState(false)
  const path = `/api/v1/gateways/${g.id}/revoke`
  return (
    <>
      {g.state !== 'revoked' && <ActionLink href={`/enrolment?site=${g.site_id}&name=${encodeURIComponent(g.name)}`}>Token</ActionLink>}
      {g.state === 'enrolled' && may('POST', path) && <button type="button" class="danger" onClick={() => setAsking(true)}>Revoke</button>}
      {asking && <Confirm title={`Revoke ${g.name}?`} action="Revoke" close={() => setAsking(false)} writes={[{ method: 'POST', path }]}
        text="It is refused at once and for good, and its peers drop its keys. A machine of this name must enrol anew after the gateway was deleted."
        run={async () => {
          await post(path)
          refresh()
        }} />}
    </>
  )
}

export function GatewayPage({ id }: PageProps) {
  const fleet = useFleet()
  const [tab] = useQuery('tab', 'overview')
  const g = fleet.data?.gateway.get(id)
  if (!g) return <Missing live={fleet} noun="gateway" home={home} />
  const links = fleet.data!.links.filter((l) => l.link.gateway_a_id === id || l.link.gateway_b_id === id)
  const tabs = [
    { id: 'overview', text: 'Overview' }, ...(serves('/telemetry') ? [{ id: 'charts', text: 'Charts' }] : []), { id: 'links', text: `Links ${links.length}` },
    ...(serves('/gateways/{id}/workers') ? [{ id: 'workers', text: 'Workers' }] : []),
    ...(serves('/gateways/{id}/openings') ? [{ id: 'openings', text: 'Openings' }] : []),
    { id: 'config', text: 'Config' },
  ]
  return (
    <ObjectPage title={g.name} noun="gateway" home={home} path={`/api/v1/gateways/${id}`} state={<State state={gatewayState(g)} status={g.status} />}
      actions={<GatewayActions g={g} />} editor={(done) => <GatewayEditor gateway={g} done={done} />}
      removal={{ text: g.state === 'enrolled' ? 'It is revoked first; its links and tunnels go.' : 'Its links go.' }}>
      {(editor) => (
        <>
          {g.unconfirmed_peers.length > 0 && <div class="note">Not confirmed yet by {g.unconfirmed_peers.map((p) => fleet.data!.gateway.get(p)?.name ?? p).join(', ')}: their keys with it end with its certificate at the latest.</div>}
          <Tabs base={`/gateways/${id}`} now={tab} tabs={tabs} />
          {editor ?? (tab === 'links' ? <Table prefix="l-" name="links of this gateway" rows={links} columns={linkColumns(!!fleet.data!.topology)} rowKey={(l) => l.link.id} sort="name"
              empty={<Empty title="No link yet" action={{ href: `/create?first=${g.site_id}`, text: 'Connect its site' }}>Links follow from the connections of its site.</Empty>} />
            : tab === 'charts' ? <Charts object={`gateway/${id}`} charts={(kind) => gatewayCharts(kind, g.performance?.published_bps)} />
            : tab === 'workers' ? <Workers id={id} />
            : tab === 'openings' ? <Openings id={id} />
            : tab === 'config' ? <Config g={g} />
            : <Overview g={g} fleet={fleet.data!} />)}
        </>
      )}
    </ObjectPage>
  )
}
