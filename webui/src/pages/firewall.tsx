import { useState } from 'preact/hooks'
import { may } from '../api/client'
import { count } from '../api/format'
import { useList } from '../api/live'
import type { AddressGroup, Gateway, Ruleset, Site } from '../api/types'
import { Choose, Text } from '../parts/form'
import { Empty, PageHead, Tabs } from '../parts/messages'
import { Table } from '../parts/table'
import { WriteForm } from '../parts/write-form'
import { navigate, useQuery } from '../shell/location'
import { Groups } from './firewall/groups'
import { rulesetState } from './firewall/state'

const nothing: never[] = []

/** A site has one ruleset: those that have none yet are offered. */
function NewRuleset({ sites, close }: { sites: Site[]; close: () => void }) {
  return (
    <WriteForm<Record<string, string>, Ruleset> title="New ruleset" start={{ site_id: sites[0]!.id, name: '', base_policy: 'allow', description: '' }} method="POST" path="/api/v1/rulesets" action="Create" cancel={close}
      body={(f) => ({ site_id: f.site_id, name: f.name!.trim() || `${sites.find((s) => s.id === f.site_id)!.name}-edge`.slice(-63), base_policy: f.base_policy, description: f.description!.trim() || null })}
      done={(r) => navigate(`/firewall/${r.id}`)}>
      {(of, form) => (
        <>
          <Choose {...of('site_id')} label="Site" options={sites.map((s) => ({ value: s.id, text: s.name }))} help="Its gateways enforce the rules, between its own network and the tunnels" />
          <Text {...of('name')} label="Name" placeholder={`${sites.find((s) => s.id === form.site_id)?.name}-edge`} help="Lower-case letters, digits and hyphens; empty: as shown" />
          <Choose {...of('base_policy')} label="Everything else" options={[{ value: 'allow', text: 'allow what no rule denies' }, { value: 'deny', text: 'deny what no rule allows' }]}
            help="deny cuts the site off from all others until rules allow something; answers of allowed connections always pass. Of flows that stand already, whoever sends first from now on is judged: allow both directions, or expect them to reconnect" />
          <Text {...of('description')} label="Description" help="May be empty" />
        </>
      )}
    </WriteForm>
  )
}

export function FirewallPage() {
  const [tab] = useQuery('tab', 'rulesets')
  const [asking, ask] = useState(false)
  const rulesets = useList<Ruleset>('/api/v1/rulesets')
  const groups = useList<AddressGroup>('/api/v1/address-groups', 15_000)
  const sites = useList<Site>('/api/v1/sites', 15_000)
  const gateways = useList<Gateway>('/api/v1/gateways', 15_000)
  const site = new Map((sites.data ?? nothing).map((s) => [s.id, s]))
  const free = (sites.data ?? nothing).filter((s) => !rulesets.data?.some((r) => r.site_id === s.id))
  const allowed = may('POST', '/rulesets')
  if (sites.data && !sites.data.length) {
    return <><PageHead title="Firewall" /><div class="card"><Empty title="No site yet" action={{ href: '/create', text: 'Join two sites' }}>Rules stand at the edge of a site; begin with the sites.</Empty></div></>
  }
  return (
    <>
      <PageHead title="Firewall">
        {tab === 'rulesets' && allowed && free.length > 0 && !asking && rulesets.data && <button type="button" class="primary" onClick={() => ask(true)}>New ruleset</button>}
      </PageHead>
      <Tabs base="/firewall" now={tab} tabs={[{ id: 'rulesets', text: 'Rulesets' }, { id: 'groups', text: `Address groups ${groups.data?.length ?? ''}` }]} />
      {tab === 'groups' ? <Groups groups={groups} sites={sites.data ?? nothing} /> : (
        <div class="stack">
          {asking && free.length > 0 && <NewRuleset sites={free} close={() => ask(false)} />}
          <Table name="rulesets" rows={rulesets.data} problem={rulesets.problem} rowKey={(r) => r.id} sort="site"
            columns={[
              { id: 'name', title: 'Ruleset', value: (r) => r.name, show: (r) => <a href={`/firewall/${r.id}`}>{r.name}</a> },
              { id: 'site', title: 'Site', value: (r) => site.get(r.site_id)?.name ?? '', show: (r) => <a href={`/sites/${r.site_id}`}>{site.get(r.site_id)?.name}</a> },
              { id: 'state', title: 'On its gateways', value: (r) => rulesetState(r, gateways.data ?? nothing).text, show: (r) => rulesetState(r, gateways.data ?? nothing).mark },
              { id: 'rules', title: 'Rules', num: true, value: (r) => r.rules_total },
              { id: 'base', title: 'Everything else', value: (r) => r.base_policy },
              { id: 'hits', title: 'Connections by it', num: true, value: (r) => r.counters.base.packets, show: (r) => count(r.counters.base.packets) },
              { id: 'invalid', title: 'Fit no connection', num: true, value: (r) => r.counters.invalid.packets, show: (r) => count(r.counters.invalid.packets) },
              { id: 'description', title: 'Description', clip: true, width: '22%', value: (r) => r.description ?? '' },
            ]}
            empty={<Empty title="No rule anywhere: all sites pass everything">
              A ruleset stands at the edge of a site and decides which connections pass between its network and the tunnels. Until it has one, everything passes.
              {allowed && !asking && <><br /><button type="button" class="primary" style={{ marginTop: '12px' }} onClick={() => ask(true)}>New ruleset</button></>}
            </Empty>} />
        </div>
      )}
    </>
  )
}
