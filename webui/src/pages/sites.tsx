import { useState } from 'preact/hooks'
import { del, patch, post } from '../api/client'
import { useFleet } from '../api/fleet'
import { refresh } from '../api/live'
import type { Site } from '../api/types'
import { Commands } from '../parts/commands'
import { Confirm } from '../parts/confirm'
import { Choose, Text, loose, split, useSubmit } from '../parts/form'
import { Card, Empty, Facts, PageHead, ProblemBox } from '../parts/messages'
import { Table, type Column } from '../parts/table'
import { time } from '../api/format'
import { navigate } from '../shell/location'
import type { PageProps } from '.'
import { connectionColumns } from './connections'
import { gatewayColumns } from './gateways'

export const providers = [
  { value: 'aws', text: 'AWS' }, { value: 'azure', text: 'Azure' }, { value: 'gcp', text: 'Google Cloud' },
  { value: 'oci', text: 'Oracle Cloud' }, { value: 'vsphere', text: 'vSphere' }, { value: 'onprem', text: 'On premises' },
]
export const providerName = (p: string) => providers.find((x) => x.value === p)?.text ?? p

const columns: Column<Site & { gateways: number }>[] = [
  { id: 'name', title: 'Site', value: (s) => s.name, show: (s) => <a href={`/sites/${s.id}`}>{s.name}</a> },
  { id: 'role', title: 'Role', value: (s) => s.role },
  { id: 'provider', title: 'Provider', value: (s) => providerName(s.provider) },
  { id: 'region', title: 'Region', value: (s) => s.region ?? '' },
  { id: 'cidrs', title: 'Networks', value: (s) => s.cidrs.join(', '), clip: true, width: '34%', show: (s) => s.cidrs.join(', ') || <span class="muted">none</span> },
  { id: 'domain', title: 'Domain', value: (s) => s.domain },
  { id: 'gateways', title: 'Gateways', num: true, value: (s) => s.gateways },
]

export function SitesPage() {
  const fleet = useFleet()
  const rows = fleet.data?.sites.map((s) => ({ ...s, gateways: fleet.data!.gateways.filter((g) => g.site_id === s.id).length }))
  return (
    <>
      <PageHead title="Sites"><a class="button primary" href="/create">Create</a></PageHead>
      <Table name="sites" rows={rows} problem={fleet.problem} columns={columns} rowKey={(s) => s.id} sort="name"
        empty={<Empty title="No site yet" action={{ href: '/create', text: 'Join two sites' }}>A site is one network: a VPC, a VNet, or one on your premises.</Empty>} />
    </>
  )
}

export interface SiteForm {
  name: string
  provider: string
  region: string
  role: string
  cidrs: string
  domain: string
  takeover: string
}

export const siteBody = (f: SiteForm) => ({
  name: f.name.trim(), provider: f.provider, region: f.region.trim() || null, role: f.role, cidrs: split(f.cidrs),
  domain: f.domain.trim() || 'default', takeover: f.takeover,
})

export const siteFields = ['name', 'provider', 'region', 'role', 'cidrs', 'domain', 'takeover']

export function SiteFields({ form, set, problem }: { form: SiteForm; set: (f: SiteForm) => void; problem: ReturnType<typeof useSubmit>['problem'] }) {
  const of = (k: keyof SiteForm) => ({ value: form[k], set: (v: string) => set({ ...form, [k]: v }), name: k, problem })
  return (
    <>
    <div class="fields">
      <Text {...of('name')} label="Name" required placeholder="branch-berlin" help="Lower-case letters, digits and hyphens" />
      <Choose {...of('role')} label="Role" options={[{ value: 'spoke', text: 'Spoke' }, { value: 'transit', text: 'Transit' }]} help="Spokes reach each other through transits" />
      <Choose {...of('provider')} label="Where" options={providers} help="For sizes and openings; changes nothing in the traffic" />
      <Text {...of('region')} label="Region" placeholder="eu-central-1" help="As the provider names it; may be empty" />
      <Text {...of('cidrs')} label="Networks" lines wide placeholder={'10.1.0.0/16\nfd01::/48'} help="IPv4 and IPv6 prefixes of this site, one a line. No two sites may overlap" />
    </div>
    <details open={!!(problem?.at('domain') || problem?.at('takeover'))}>
      <summary>Domain and takeover</summary>
      <div class="fields" style={{ marginTop: '12px' }}>
        <Text {...of('domain')} label="Domain" placeholder="default" help="Sites of different domains do not reach each other" />
        <Choose {...of('takeover')} label="Takeover" options={[
          { value: 'none', text: 'none' }, { value: 'arp', text: 'ARP: the other gateway takes the address' },
          { value: 'ecmp', text: 'ECMP: the network does it' }, { value: 'cloud_routes', text: 'Cloud route tables' },
        ]} help="How hosts follow when a gateway goes away" />
      </div>
    </details>
    </>
  )
}

export const emptySite = (role: string): SiteForm => ({ name: '', provider: 'aws', region: '', role, cidrs: '', domain: 'default', takeover: 'none' })

function EditSite({ site, done }: { site: Site; done: () => void }) {
  const before: SiteForm = { ...site, region: site.region ?? '', cidrs: site.cidrs.join('\n') }
  const [form, setForm] = useState(before)
  const submit = useSubmit()
  const was = siteBody(before)
  const body = Object.fromEntries(Object.entries(siteBody(form)).filter(([k, v]) => JSON.stringify(v) !== JSON.stringify(was[k as keyof typeof was])))
  const path = `/api/v1/sites/${site.id}`
  return (
    <Card title={`Change ${site.name}`}>
      <form class="stack" onSubmit={(e) => {
        e.preventDefault()
        submit.run(async () => {
          await patch(path, body)
          refresh()
          done()
        })
      }}>
        <SiteFields form={form} set={setForm} problem={submit.problem} />
        <ProblemBox problem={loose(submit.problem, siteFields)} />
        <div class="actions">
          <button class="primary" disabled={submit.busy || !Object.keys(body).length}>Save</button>
          <button type="button" onClick={done}>Cancel</button>
        </div>
        {Object.keys(body).length > 0 && <Commands writes={[{ method: 'PATCH', path, body }]} />}
      </form>
    </Card>
  )
}

export function SitePage({ id }: PageProps) {
  const fleet = useFleet()
  const [editing, setEditing] = useState(false)
  const [removing, setRemoving] = useState(false)
  const site = fleet.data?.site.get(id)
  if (fleet.data && !site) return <Empty page title="There is no such site" action={{ href: '/sites', text: 'All sites' }} />
  if (!site) return <ProblemBox problem={fleet.problem} />
  const gateways = fleet.data!.gateways.filter((g) => g.site_id === id)
  const connections = fleet.data!.connections.filter((c) => c.connection.site_a_id === id || c.connection.site_b_id === id)
  return (
    <>
      <PageHead title={site.name} crumb={{ href: '/sites', text: 'Sites' }}>
        <a class="button" href={`/enrolment?site=${id}`}>Add a gateway</a>
        <button type="button" onClick={() => setEditing(true)}>Change</button>
        <button type="button" class="danger" onClick={() => setRemoving(true)}>Delete</button>
      </PageHead>
      <div class="stack">
        {editing ? <EditSite site={site} done={() => setEditing(false)} /> : (
          <Card>
            <Facts rows={[
              ['Role', site.role], ['Where', `${providerName(site.provider)}${site.region ? `, ${site.region}` : ''}`],
              ['Networks', site.cidrs.length ? <span class="mono">{site.cidrs.join(', ')}</span> : <span class="muted">none</span>],
              ['Domain', site.domain], ['Takeover', site.takeover],
              ['Underlay', site.trusted_underlay ? 'trusted' : 'not trusted'],
              ['Created', time(site.created_at)],
            ]} />
          </Card>
        )}
        <h2>Gateways</h2>
        <Table prefix="g-" name="gateways of this site" rows={gateways} columns={gatewayColumns(fleet.data!.site).filter((c) => c.id !== 'site')} rowKey={(g) => g.id} sort="name"
          empty={<Empty title="No gateway yet" action={{ href: `/enrolment?site=${id}`, text: 'Make an enrolment token' }}>A machine of this site becomes its gateway by enrolling with a token.</Empty>} />
        <h2>Connections</h2>
        <Table prefix="c-" name="connections of this site" rows={connections} columns={connectionColumns(!!fleet.data!.topology)} rowKey={(c) => c.connection.id} sort="name"
          empty={<Empty title="Not connected yet" action={{ href: '/create', text: 'Connect it' }} />} />
      </div>
      {removing && <Confirm title={`Delete site ${site.name}?`} action="Delete" close={() => setRemoving(false)}
        text="Its networks are no longer reached. It must have neither gateways nor connections."
        run={async () => {
          await del(`/api/v1/sites/${id}`)
          refresh()
          navigate('/sites')
        }} />}
    </>
  )
}

export const createSite = (f: SiteForm) => post<Site>('/api/v1/sites', siteBody(f))
