import { serves } from '../api/client'
import { useFleet, type ConnectionView } from '../api/fleet'
import { mbps, ms, percent, rate, time } from '../api/format'
import type { Connection } from '../api/types'
import { ActionLink } from '../parts/action-link'
import { Choose, Text } from '../parts/form'
import { Card, Empty, Facts, PageHead } from '../parts/messages'
import { Missing, ObjectPage } from '../parts/object-page'
import { State, rank } from '../parts/state'
import { Table, type Column } from '../parts/table'
import { WriteForm } from '../parts/write-form'
import type { PageProps } from '.'
import { Encryption } from './connections/encryption'
import { KeptApart } from './connections/kept-apart'
import { linkColumns } from './links'
import { yesNo } from './sites'

const home = { href: '/connections', text: 'Connections' }

/** Rates stand in it where the controller serves them. */
export function connectionColumns(measured: boolean): Column<ConnectionView>[] {
  const all: (Column<ConnectionView> & { measured?: boolean })[] = [
    { id: 'name', title: 'Connection', value: (c) => c.connection.name, show: (c) => <a href={`/connections/${c.connection.id}`}>{c.connection.name}</a> },
    { id: 'state', title: 'State', value: (c) => rank(c.state), text: (c) => c.state, show: (c) => <State state={c.state} status={{ state: c.state, reason: c.reason }} /> },
    { id: 'a', title: 'Site a', value: (c) => c.a?.name ?? '', show: (c) => <a href={`/sites/${c.connection.site_a_id}`}>{c.a?.name}</a> },
    { id: 'b', title: 'Site b', value: (c) => c.b?.name ?? '', show: (c) => <a href={`/sites/${c.connection.site_b_id}`}>{c.b?.name}</a> },
    { id: 'kind', title: 'Kind', value: (c) => c.connection.kind },
    { id: 'encryption', title: 'Encryption', value: (c) => (c.encrypted === false ? 'UNENCRYPTED' : c.connection.suites.join(', ')), show: (c) => c.encrypted === false ? <span class="chip plain">UNENCRYPTED</span> : c.connection.suites.join(', ') },
    { id: 'tunnels', title: 'Tunnels up', num: true, value: (c) => c.tunnelsUp, show: (c) => c.tunnelsTotal ? `${c.tunnelsUp} of ${c.tunnelsTotal}` : '–' },
    { id: 'ab', title: 'a to b Mbit/s', num: true, measured: true, value: (c) => c.ab, show: (c) => mbps(c.ab) },
    { id: 'ba', title: 'b to a Mbit/s', num: true, measured: true, value: (c) => c.ba, show: (c) => mbps(c.ba) },
    { id: 'rtt', title: 'RTT ms', num: true, measured: true, value: (c) => c.rtt, show: (c) => (c.rtt == null ? '–' : c.rtt.toFixed(2)) },
    { id: 'mtu', title: 'MTU', num: true, measured: true, value: (c) => c.mtu },
  ]
  return all.filter((c) => measured || !c.measured)
}

export function ConnectionsPage() {
  const fleet = useFleet()
  return (
    <>
      <PageHead title="Connections"><ActionLink primary href="/create">Join two sites</ActionLink></PageHead>
      <Table name="connections" rows={fleet.data?.connections} problem={fleet.problem} columns={connectionColumns(!!fleet.data?.topology)} rowKey={(c) => c.connection.id} sort="name"
        empty={<Empty title="No connection yet" action={{ href: '/create', text: 'Join two sites' }}>A connection says which two sites reach each other; links and tunnels follow from it.</Empty>} />
      {fleet.data && <KeptApart fleet={fleet.data} />}
    </>
  )
}

const suiteChoices = ['aes-256-gcm', 'aes-128-gcm', 'aes-256-gcm aes-128-gcm']
export const suiteText = (suites: string) => suites.split(' ').map((s) => s.toUpperCase()).join(', else ')

function ConnectionEditor({ connection, done }: { connection: Connection; done: () => void }) {
  const resilient = connection.path_resiliency !== undefined
  const start = {
    name: connection.name, path: connection.path as string, underlay_family: String(connection.underlay_family ?? ''),
    tunnels: String(connection.tunnels ?? ''), suites: connection.suites.join(' '), enabled: yesNo(connection.enabled), path_resiliency: yesNo(connection.path_resiliency),
  }
  return (
    <WriteForm title={`Change ${connection.name}`} start={start} method="PATCH" path={`/api/v1/connections/${connection.id}`} action="Apply" done={done} cancel={done}
      body={(f) => ({
        name: f.name.trim(), path: f.path, underlay_family: f.underlay_family ? Number(f.underlay_family) : null, tunnels: f.tunnels ? Number(f.tunnels) : null,
        suites: f.suites.split(' '), enabled: f.enabled === 'yes', ...(resilient ? { path_resiliency: f.path_resiliency === 'yes' } : {}),
      })}>
      {(of) => (
        <>
          <Text {...of('name')} label="Name" required help="Lower-case letters, digits and hyphens" />
          <Choose {...of('enabled')} label="Enabled" options={[{ value: 'yes', text: 'yes' }, { value: 'no', text: 'no' }]} help="Disabled: its tunnels are taken down" />
          <Choose {...of('path')} label="Path" options={[{ value: 'auto', text: 'auto: private before public' }, { value: 'private', text: 'private addresses' }, { value: 'public', text: 'public addresses' }]} help="Which addresses of the gateways are used" />
          <Choose {...of('underlay_family')} label="Underlay" options={[{ value: '', text: 'auto: first that both have' }, { value: '4', text: 'IPv4' }, { value: '6', text: 'IPv6' }]} help="IP version outside of the tunnels" />
          <Text {...of('tunnels')} label="Tunnels a link" type="number" placeholder="auto" help="1 to 50; empty: from the sizes at both ends" />
          <Choose {...of('suites')} label="Encryption" options={[...new Set([...suiteChoices, start.suites])].map((s) => ({ value: s, text: suiteText(s) }))} help="In order of preference; both ends must have it" />
          {resilient && <Choose {...of('path_resiliency')} label="Path resiliency" options={[{ value: 'no', text: 'no' }, { value: 'yes', text: 'at least 2 tunnels a link, on distinct ports' }]} help="One port that somebody blocks does not take the link down" />}
        </>
      )}
    </WriteForm>
  )
}

function ConnectionFacts({ view, measured }: { view: ConnectionView; measured: boolean }) {
  const c = view.connection
  return (
    <Card>
      <Facts rows={[
        ['Between', <><a href={`/sites/${c.site_a_id}`}>{view.a?.name}</a> (a) and <a href={`/sites/${c.site_b_id}`}>{view.b?.name}</a> (b)</>],
        ['Kind', c.kind],
        ...(serves('/connections/{id}/encryption-policy') ? [] : [['Encryption', c.suites.join(', ')] as [string, string]]),
        ['Tunnels', `${view.tunnelsUp} of ${view.tunnelsTotal} up; ${c.tunnels ? `${c.tunnels} a link, set` : 'number chosen by the planner'}`],
        ...(measured ? [
          ['Goodput', `${rate(view.ab)} a to b, ${rate(view.ba)} b to a`] as [string, string],
          ['RTT, loss, MTU', `${ms(view.rtt)}, ${percent(view.loss)}, ${view.mtu ?? '–'}`] as [string, string],
        ] : []),
        ['Path', `${c.path}${c.underlay_family ? `, IPv${c.underlay_family}` : ''}`],
        ['Liveness', `a probe every ${c.liveness.interval_ms} ms; down after ${c.liveness.missed} unanswered`],
        ['Created', time(c.created_at)],
      ]} />
    </Card>
  )
}

export function ConnectionPage({ id }: PageProps) {
  const fleet = useFleet()
  const view = fleet.data?.connections.find((c) => c.connection.id === id)
  if (!view) return <Missing live={fleet} noun="connection" home={home} />
  const c = view.connection
  const measured = !!fleet.data!.topology
  return (
    <ObjectPage title={c.name} noun="connection" home={home} path={`/api/v1/connections/${id}`} state={<State state={view.state} status={{ state: view.state, reason: view.reason }} />}
      editor={(done) => <ConnectionEditor connection={c} done={done} />} removal={{ text: `${view.a?.name} and ${view.b?.name} no longer reach each other. Unless a way over transits still joins them they stay kept apart: their gateways let nothing through in plain, until they are joined again or an admin lets packets pass.` }}>
      {(editor) => (
        <div class="stack">
          {view.reason && <div class="note">{view.reason}</div>}
          {editor ?? <ConnectionFacts view={view} measured={measured} />}
          <Encryption view={view} />
          <h2>Links</h2>
          <Table prefix="l-" name="links of this connection" rows={view.links} columns={linkColumns(measured)} rowKey={(l) => l.link.id} sort="name"
            empty={<Empty title="No link yet">{view.reason || 'The planner makes one for each pair of gateways of both sites.'}</Empty>} />
        </div>
      )}
    </ObjectPage>
  )
}
