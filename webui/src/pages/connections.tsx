import { useState } from 'preact/hooks'
import { del, patch } from '../api/client'
import { useFleet, type ConnectionView } from '../api/fleet'
import { mbps, ms, percent, rate, time } from '../api/format'
import { refresh } from '../api/live'
import type { Connection } from '../api/types'
import { Commands } from '../parts/commands'
import { Confirm } from '../parts/confirm'
import { Choose, Text, loose, useSubmit } from '../parts/form'
import { Card, Empty, Facts, PageHead, ProblemBox } from '../parts/messages'
import { State, rank } from '../parts/state'
import { Table, type Column } from '../parts/table'
import { navigate } from '../shell/location'
import type { PageProps } from '.'
import { linkColumns } from './links'

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
      <PageHead title="Connections"><a class="button primary" href="/create">Create</a></PageHead>
      <Table name="connections" rows={fleet.data?.connections} problem={fleet.problem} columns={connectionColumns(!!fleet.data?.topology)} rowKey={(c) => c.connection.id} sort="name"
        empty={<Empty title="No connection yet" action={{ href: '/create', text: 'Join two sites' }}>A connection says which two sites reach each other; links and tunnels follow from it.</Empty>} />
    </>
  )
}

function EditConnection({ connection, done }: { connection: Connection; done: () => void }) {
  const before = {
    name: connection.name, path: connection.path as string, underlay_family: String(connection.underlay_family ?? ''),
    tunnels: String(connection.tunnels ?? ''), suites: connection.suites.join(' '), enabled: connection.enabled ? 'yes' : 'no',
  }
  const [form, setForm] = useState(before)
  const submit = useSubmit()
  const of = (k: keyof typeof form) => ({ value: form[k], set: (v: string) => setForm({ ...form, [k]: v }), name: k, problem: submit.problem })
  const as = (f: typeof form): Record<string, unknown> => ({
    name: f.name.trim(), path: f.path, underlay_family: f.underlay_family ? Number(f.underlay_family) : null, tunnels: f.tunnels ? Number(f.tunnels) : null,
    suites: f.suites.split(' '), enabled: f.enabled === 'yes',
  })
  const was = as(before)
  const body = Object.fromEntries(Object.entries(as(form)).filter(([k, v]) => JSON.stringify(v) !== JSON.stringify(was[k])))
  const path = `/api/v1/connections/${connection.id}`
  return (
    <Card title={`Change ${connection.name}`}>
      <form class="stack" onSubmit={(e) => {
        e.preventDefault()
        submit.run(async () => {
          await patch(path, body)
          refresh()
          done()
        })
      }}>
        <div class="fields">
          <Text {...of('name')} label="Name" required help="Lower-case letters, digits and hyphens" />
          <Choose {...of('enabled')} label="Enabled" options={[{ value: 'yes', text: 'yes' }, { value: 'no', text: 'no' }]} help="Disabled: its tunnels are taken down" />
          <Choose {...of('path')} label="Path" options={[{ value: 'auto', text: 'auto: private before public' }, { value: 'private', text: 'private addresses' }, { value: 'public', text: 'public addresses' }]} help="Which addresses of the gateways are used" />
          <Choose {...of('underlay_family')} label="Underlay" options={[{ value: '', text: 'auto: first that both have' }, { value: '4', text: 'IPv4' }, { value: '6', text: 'IPv6' }]} help="IP version outside of the tunnels" />
          <Text {...of('tunnels')} label="Tunnels a link" type="number" placeholder="auto" help="1 to 50; empty: from the sizes at both ends" />
          <Choose {...of('suites')} label="Encryption" options={[
            { value: 'aes-256-gcm', text: 'AES-256-GCM' }, { value: 'aes-128-gcm', text: 'AES-128-GCM' },
            { value: 'aes-256-gcm aes-128-gcm', text: 'AES-256-GCM, else AES-128-GCM' },
            ...(['aes-256-gcm', 'aes-128-gcm', 'aes-256-gcm aes-128-gcm'].includes(before.suites) ? [] : [{ value: before.suites, text: before.suites }]),
          ]} help="In order of preference" />
        </div>
        <ProblemBox problem={loose(submit.problem, Object.keys(form))} />
        <div class="actions">
          <button class="primary" disabled={submit.busy || !Object.keys(body).length}>Save</button>
          <button type="button" onClick={done}>Cancel</button>
        </div>
        {Object.keys(body).length > 0 && <Commands writes={[{ method: 'PATCH', path, body }]} />}
      </form>
    </Card>
  )
}

export function ConnectionPage({ id }: PageProps) {
  const fleet = useFleet()
  const [editing, setEditing] = useState(false)
  const [removing, setRemoving] = useState(false)
  const view = fleet.data?.connections.find((c) => c.connection.id === id)
  if (fleet.data && !view) return <Empty page title="There is no such connection" action={{ href: '/connections', text: 'All connections' }} />
  if (!view) return <ProblemBox problem={fleet.problem} />
  const c = view.connection
  const measured = !!fleet.data!.topology
  return (
    <>
      <PageHead title={c.name} crumb={{ href: '/connections', text: 'Connections' }}>
        <State state={view.state} status={{ state: view.state, reason: view.reason }} />
        <button type="button" onClick={() => setEditing(true)}>Change</button>
        <button type="button" class="danger" onClick={() => setRemoving(true)}>Delete</button>
      </PageHead>
      <div class="stack">
        {view.reason && <div class="note">{view.reason}</div>}
        {editing ? <EditConnection connection={c} done={() => setEditing(false)} /> : (
          <Card>
            <Facts rows={[
              ['Between', <><a href={`/sites/${c.site_a_id}`}>{view.a?.name}</a> (a) and <a href={`/sites/${c.site_b_id}`}>{view.b?.name}</a> (b)</>],
              ['Kind', c.kind],
              ['Encryption', view.encrypted === false ? <span class="chip plain">UNENCRYPTED</span> : c.suites.join(', ')],
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
        )}
        <h2>Links</h2>
        <Table prefix="l-" name="links of this connection" rows={view.links} columns={linkColumns(measured)} rowKey={(l) => l.link.id} sort="name"
          empty={<Empty title="No link yet">{view.reason || 'The planner makes one for each pair of gateways of both sites.'}</Empty>} />
      </div>
      {removing && <Confirm title={`Delete connection ${c.name}?`} action="Delete" close={() => setRemoving(false)}
        text={`${view.a?.name} and ${view.b?.name} no longer reach each other; ${view.tunnelsTotal} tunnels go.`}
        run={async () => {
          await del(`/api/v1/connections/${id}`)
          refresh()
          navigate('/connections')
        }} />}
    </>
  )
}
