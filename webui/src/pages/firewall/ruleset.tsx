import { useState } from 'preact/hooks'
import { del, may, patch } from '../../api/client'
import { bytes, count, time } from '../../api/format'
import { refresh, useGet, useList } from '../../api/live'
import type { AddressGroup, Gateway, Rule, Ruleset, Site } from '../../api/types'
import { Age } from '../../parts/age'
import { Confirm } from '../../parts/confirm'
import { Choose, Text, useSubmit } from '../../parts/form'
import { Card, Empty, Facts, ProblemBox } from '../../parts/messages'
import { Missing, ObjectPage } from '../../parts/object-page'
import { State } from '../../parts/state'
import { Table, type Column } from '../../parts/table'
import { WriteForm } from '../../parts/write-form'
import type { PageProps } from '..'
import { protocolText, sideText } from './model'
import { RuleEditor } from './rule-form'
import { rulesetState } from './state'

const home = { href: '/firewall', text: 'Firewall' }
const MANY = 1000

function RulesetEditor({ ruleset, done }: { ruleset: Ruleset; done: () => void }) {
  return (
    <WriteForm title={`Change ${ruleset.name}`} method="PATCH" path={`/api/v1/rulesets/${ruleset.id}`} action="Apply" done={done} cancel={done}
      start={{ name: ruleset.name, base_policy: ruleset.base_policy as string, enabled: ruleset.enabled ? 'yes' : 'no', log_base: ruleset.log_base ? 'yes' : 'no', description: ruleset.description ?? '' }}
      body={(f) => ({ name: f.name.trim(), base_policy: f.base_policy, enabled: f.enabled === 'yes', log_base: f.log_base === 'yes', description: f.description.trim() || null })}>
      {(of) => (
        <>
          <Text {...of('name')} label="Name" required help="Lower-case letters, digits and hyphens" />
          <Choose {...of('base_policy')} label="Everything else" options={[{ value: 'allow', text: 'allow what no rule denies' }, { value: 'deny', text: 'deny what no rule allows' }]} help="Answers of allowed connections always pass" />
          <Choose {...of('enabled')} label="Enabled" options={[{ value: 'yes', text: 'yes' }, { value: 'no', text: 'no: everything passes' }]} help="Off: the rules are kept, and none is enforced" />
          <Choose {...of('log_base')} label="Log everything else" options={[{ value: 'no', text: 'no' }, { value: 'yes', text: 'first packet of each connection' }]} help="Those that no rule decided" />
          <Text {...of('description')} label="Description" wide help="May be empty" />
        </>
      )}
    </WriteForm>
  )
}

function RulesetFacts({ ruleset: r, site, gateways }: { ruleset: Ruleset; site: Site | undefined; gateways: Gateway[] }) {
  const name = (id: string) => gateways.find((g) => g.id === id)?.name ?? id
  const states: Record<string, string> = { applied: 'up', pending: 'pending', failed: 'down', unknown: 'unknown' }
  const words: Record<string, string> = { applied: 'in force', pending: 'an older config is in force', failed: 'failed', unknown: 'no recent report' }
  return (
    <Card>
      <Facts rows={[
        ['Site', <a href={`/sites/${r.site_id}`}>{site?.name}</a>],
        ...(r.description ? [['Description', r.description] as [string, string]] : []),
        ['Enforced', 'between the site’s own network and the tunnels, by each of its gateways'],
        ['Gateways', r.gateways.length ? <>{r.gateways.map((g) => (
          <div key={g.gateway_id} class="row wrap">
            <a href={`/gateways/${g.gateway_id}`}>{name(g.gateway_id)}</a><State state={states[g.state]!} text={words[g.state]!} />
            {g.reason && <span>{g.reason}</span>}
            {g.conntrack_entries != null && <span class="muted">{count(g.conntrack_entries)} of {count(g.conntrack_max)} tracked connections</span>}
            <Age at={g.observed_at} stale={30} />
          </div>
        ))}</> : <span class="muted">none yet: the rules wait for its first gateway</span>],
        ['Established', <>{count(r.counters.established.packets)} packets, {bytes(r.counters.established.bytes)} of connections that were allowed</>],
        ['Fit no connection', <>{count(r.counters.invalid.packets)} packets</>],
        ['Changed', time(r.updated_at)],
      ]} />
    </Card>
  )
}

function Side({ side, groups }: { side: Rule['source']; groups: AddressGroup[] }) {
  const text = sideText(side, groups, ', ')
  return text ? <span class="mono">{text}</span> : <span class="muted">any</span>
}

const ports = (r: Rule) => [r.source_ports.length ? `from ${r.source_ports.join(', ')}` : '', r.destination_ports.join(', ')].filter(Boolean).join(' to ')

/** `old`: a gateway has not reported lately. */
function ruleColumns(groups: AddressGroup[], old: boolean): Column<Rule>[] {
  const off = (r: Rule) => (r.enabled ? '' : 'muted')
  return [
    { id: 'position', title: '#', num: true, value: (r) => r.position },
    { id: 'name', title: 'Rule', value: (r) => r.name, show: (r) => <span class={off(r)} title={r.description ?? undefined}>{r.name}{!r.enabled && <> <span class="chip">off</span></>}{r.log && <> <span class="chip">log</span></>}</span> },
    { id: 'action', title: 'Action', value: (r) => r.action, show: (r) => <span class={`verdict-${r.action}`}>{r.action === 'allow' ? '✓ allow' : '✕ deny'}</span> },
    { id: 'protocol', title: 'Protocol', value: (r) => protocolText(r.protocol) },
    { id: 'source', title: 'Source', clip: true, width: '16%', value: (r) => sideText(r.source, groups, ', ') || 'any', show: (r) => <Side side={r.source} groups={groups} /> },
    { id: 'destination', title: 'Destination', clip: true, width: '16%', value: (r) => sideText(r.destination, groups, ', ') || 'any', show: (r) => <Side side={r.destination} groups={groups} /> },
    { id: 'ports', title: 'Ports', clip: true, width: '14%', value: ports, show: (r) => ports(r) || <span class="muted">{r.protocol === 'tcp' || r.protocol === 'udp' ? 'any' : '–'}</span> },
    { id: 'hits', title: 'Hits', num: true, value: (r) => r.counters.packets, show: (r) => <span title={r.counters.packets == null ? 'no gateway has reported yet' : `${bytes(r.counters.bytes)}; connections’ first packets that this rule decided`} class={old ? 'stale' : ''}>{count(r.counters.packets)}</span> },
  ]
}

function Rules({ ruleset, site }: { ruleset: Ruleset; site: Site | undefined }) {
  const path = `/api/v1/rulesets/${ruleset.id}/rules`
  const rules = useList<Rule>(path, ruleset.rules_total > MANY ? 60_000 : 10_000)
  const groups = useList<AddressGroup>(`/api/v1/address-groups?site_id=${ruleset.site_id}`, 15_000)
  const [open, setOpen] = useState<{ rule?: Rule; position: number }>()
  const [removing, setRemoving] = useState<Rule>()
  const moving = useSubmit()
  const writable = may('POST', path)
  const named = groups.data ?? []
  const total = rules.data?.length ?? 0
  const move = (r: Rule, position: number) => moving.run(async () => {
    await patch(`${path}/${r.id}`, { position })
    refresh()
  })
  const actions: Column<Rule> = { id: 'do', title: '', num: true, value: () => '', show: (r) => (
    <>
      <button type="button" class="quiet small" aria-label={`Move ${r.name} up`} title="Up" disabled={moving.busy || r.position === 1} onClick={() => move(r, r.position - 1)}>↑</button>
      <button type="button" class="quiet small" aria-label={`Move ${r.name} down`} title="Down" disabled={moving.busy || r.position === total} onClick={() => move(r, r.position + 1)}>↓</button>
      <button type="button" class="quiet small" aria-label={`Insert a rule before ${r.name}`} title="Insert before" onClick={() => setOpen({ position: r.position })}>+</button>
      <button type="button" class="quiet small" aria-label={`Change ${r.name}`} onClick={() => setOpen({ rule: r, position: r.position })}>Change</button>
      <button type="button" class="quiet small" aria-label={`Delete ${r.name}`} onClick={() => setRemoving(r)}>Delete</button>
    </>
  ) }
  const add = writable && !open && <button type="button" class={total ? '' : 'primary'} onClick={() => setOpen({ position: total + 1 })}>Add a rule</button>
  return (
    <>
      <h2>Rules, in their order</h2>
      {open && groups.data && <RuleEditor key={`${open.rule?.id} ${open.position}`} rulesetId={ruleset.id} rule={open.rule} position={open.position} total={total} site={site} groups={named} done={() => setOpen(undefined)} />}
      <ProblemBox problem={moving.problem} />
      <Table prefix="r-" name="rules" rows={rules.data} problem={rules.problem} rowKey={(r) => String(r.position).padStart(4, '0')} sort="position" tools={add}
        columns={[...ruleColumns(named, ruleset.gateways.some((g) => g.state === 'unknown')), ...(writable ? [actions] : [])]}
        foot={<><td /><td class="nowrap">everything else</td><td><span class={`verdict-${ruleset.base_policy}`}>{ruleset.base_policy === 'allow' ? '✓ allow' : '✕ deny'}</span></td><td colSpan={4} class="muted">{ruleset.log_base ? 'logged' : ''}</td><td class="num">{count(ruleset.counters.base.packets)}</td>{writable && <td />}</>}
        empty={<Empty title={ruleset.base_policy === 'deny' ? 'No rule yet: nothing passes' : 'No rule yet: everything passes'}>
          The first rule that fits a new connection decides about it. {ruleset.base_policy === 'deny' ? 'Add what shall be allowed.' : 'Add what shall be denied.'}
          {add && <><br /><span style={{ display: 'inline-block', marginTop: '12px' }}>{add}</span></>}
        </Empty>} />
      {removing && <Confirm title={`Delete rule ${removing.name}?`} action="Delete" close={() => setRemoving(undefined)} writes={[{ method: 'DELETE', path: `${path}/${removing.id}` }]}
        text="Connections that it decided are decided by the rules after it; those that stand go on."
        run={async () => {
          await del(`${path}/${removing.id}`)
          refresh()
        }} />}
    </>
  )
}

export function RulesetPage({ id }: PageProps) {
  const live = useGet<Ruleset>(`/api/v1/rulesets/${id}`)
  const sites = useList<Site>('/api/v1/sites', 15_000)
  const gateways = useList<Gateway>('/api/v1/gateways', 15_000)
  const ruleset = live.data
  if (!ruleset || !sites.data || !gateways.data) return <Missing live={{ data: live.problem?.body.status === 404, problem: live.problem }} noun="ruleset" home={{ ...home, text: 'Rulesets' }} />
  const site = sites.data.find((s) => s.id === ruleset.site_id)
  return (
    <ObjectPage title={ruleset.name} noun="ruleset" home={home} path={`/api/v1/rulesets/${id}`} state={rulesetState(ruleset, gateways.data).mark}
      editor={(done) => <RulesetEditor ruleset={ruleset} done={done} />} removal={{ text: `Its ${ruleset.rules_total} rules go with it: everything passes at ${site?.name}.` }}>
      {(editor) => (
        <div class="stack">
          {editor ?? <RulesetFacts ruleset={ruleset} site={site} gateways={gateways.data!} />}
          <Rules ruleset={ruleset} site={site} />
        </div>
      )}
    </ObjectPage>
  )
}
