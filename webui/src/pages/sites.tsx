import type { ComponentChildren } from 'preact'
import { post, serves } from '../api/client'
import { useFleet } from '../api/fleet'
import { time } from '../api/format'
import { useList } from '../api/live'
import type { Ruleset, Site } from '../api/types'
import { ActionLink } from '../parts/action-link'
import { Choose, Text, split } from '../parts/form'
import { Card, Empty, Facts, PageHead } from '../parts/messages'
import { Missing, ObjectPage } from '../parts/object-page'
import { Table, type Column } from '../parts/table'
import { WriteForm, type Of } from '../parts/write-form'
import type { PageProps } from '.'
import { connectionColumns } from './connections'
import { KeptApart } from './connections/kept-apart'
import { gatewayColumns } from './gateways'
import { HostRoutes } from './sites/routes'

const home = { href: '/sites', text: 'Sites' }

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
      <PageHead title="Sites"><ActionLink primary href="/create">Add a site</ActionLink></PageHead>
      <Table name="sites" rows={rows} problem={fleet.problem} columns={columns} rowKey={(s) => s.id} sort="name"
        empty={<Empty title="No site yet" action={{ href: '/create', text: 'Join two sites' }}>A site is one network: a VPC, a VNet, or one on your premises.</Empty>} />
    </>
  )
}

export type SiteForm = {
  name: string
  provider: string
  region: string
  role: string
  cidrs: string
  domain: string
  takeover: string
  trusted_underlay: string
}

export const siteBody = (f: SiteForm) => ({
  name: f.name.trim(), provider: f.provider, region: f.region.trim() || null, role: f.role, cidrs: split(f.cidrs),
  domain: f.domain.trim() || 'default', takeover: f.takeover,
  trusted_underlay: f.trusted_underlay === 'yes',
})

export const siteFields = ['name', 'provider', 'region', 'role', 'cidrs', 'domain', 'takeover', 'trusted_underlay']

export function SiteFields({ of }: { of: Of<SiteForm> }) {
  const more = (['domain', 'takeover', 'trusted_underlay'] as const).some((k) => of(k).problem?.at(k))
  return (
    <>
      <Text {...of('name')} label="Name" required placeholder="branch-berlin" help="Lower-case letters, digits and hyphens" />
      <Choose {...of('role')} label="Role" options={[{ value: 'spoke', text: 'Spoke' }, { value: 'transit', text: 'Transit' }]} help="Spokes reach each other through transits" />
      <Choose {...of('provider')} label="Where" options={providers} help="For sizes and openings; changes nothing in the traffic" />
      <Text {...of('region')} label="Region" placeholder="eu-central-1" help="As the provider names it; may be empty" />
      <Text {...of('cidrs')} label="Networks" lines wide placeholder={'10.1.0.0/16\nfd01::/48'} help="IPv4 and IPv6 prefixes of this site, one a line. No two sites may overlap" />
      <details class="wide" open={more}>
        <summary>Domain, takeover and underlay</summary>
        <div class="fields" style={{ marginTop: '12px' }}>
          <Text {...of('domain')} label="Domain" placeholder="default" help="Sites of different domains do not reach each other" />
          <Choose {...of('takeover')} label="Takeover" options={[
            { value: 'none', text: 'none' }, { value: 'arp', text: 'ARP: the other gateway takes the address' },
            { value: 'ecmp', text: 'ECMP: the network does it' }, { value: 'cloud_routes', text: 'Cloud route tables' },
          ]} help="How hosts follow when a gateway goes away" />
          <Choose {...of('trusted_underlay')} label="Underlay" options={[{ value: 'no', text: 'not trusted' }, { value: 'yes', text: 'trusted' }]}
            help="Trusted at both sites is one of the conditions for a connection without encryption; by itself it changes nothing" />
        </div>
      </details>
    </>
  )
}

export const emptySite = (role: string): SiteForm => ({ name: '', provider: 'aws', region: '', role, cidrs: '', domain: 'default', takeover: 'none', trusted_underlay: 'no' })
export const yesNo = (v: boolean) => (v ? 'yes' : 'no')

const formOf = (s: Site): SiteForm => ({
  name: s.name, provider: s.provider, region: s.region ?? '', role: s.role, cidrs: s.cidrs.join('\n'), domain: s.domain, takeover: s.takeover,
  trusted_underlay: yesNo(s.trusted_underlay),
})

function SiteEditor({ site, done }: { site: Site; done: () => void }) {
  return (
    <WriteForm title={`Change ${site.name}`} start={formOf(site)}
      method="PATCH" path={`/api/v1/sites/${site.id}`} body={siteBody} action="Apply" done={done} cancel={done}>
      {(of) => <SiteFields of={of} />}
    </WriteForm>
  )
}

/** What stands at its edge. */
function SiteRuleset({ id }: { id: string }) {
  const rulesets = useList<Ruleset>(`/api/v1/rulesets?site_id=${id}`, 15_000)
  const r = rulesets.data?.[0]
  if (!rulesets.data) return null
  return r ? <><a href={`/firewall/${r.id}`}>{r.name}</a> <span class="muted">{r.enabled ? `${r.rules_total} rules, everything else: ${r.base_policy}` : 'disabled: everything passes'}</span></> : <><a href="/firewall">none</a> <span class="muted">everything passes</span></>
}

export function SitePage({ id }: PageProps) {
  const fleet = useFleet()
  const site = fleet.data?.site.get(id)
  if (!site) return <Missing live={fleet} noun="site" home={home} />
  const gateways = fleet.data!.gateways.filter((g) => g.site_id === id)
  const connections = fleet.data!.connections.filter((c) => c.connection.site_a_id === id || c.connection.site_b_id === id)
  return (
    <ObjectPage title={site.name} noun="site" home={home} path={`/api/v1/sites/${id}`} editor={(done) => <SiteEditor site={site} done={done} />}
      removal={{ text: 'Its networks are no longer reached. It must have neither gateways nor connections.' }}
      actions={<ActionLink href={`/enrolment?site=${id}`}>Add a gateway</ActionLink>}>
      {(editor) => (
        <div class="stack">
          {editor ?? (
            <Card>
              <Facts rows={[
                ['Role', site.role], ['Where', `${providerName(site.provider)}${site.region ? `, ${site.region}` : ''}`],
                ['Networks', site.cidrs.length ? <span class="mono">{site.cidrs.join(', ')}</span> : <span class="muted">none</span>],
                ['Domain', site.domain], ['Takeover', site.takeover],
                ['Underlay', site.trusted_underlay ? 'trusted' : 'not trusted'],
                ...(serves('/rulesets') ? [['Firewall', <SiteRuleset id={id} />] as [string, ComponentChildren]] : []),
                ['Hosts’ routes', <HostRoutes fleet={fleet.data!} site={site} />],
                ['Created', time(site.created_at)],
              ]} />
            </Card>
          )}
          <h2>Gateways</h2>
          <Table prefix="g-" name="gateways of this site" rows={gateways} columns={gatewayColumns(fleet.data!.site).filter((c) => c.id !== 'site')} rowKey={(g) => g.id} sort="name"
            empty={<Empty title="No gateway yet" action={{ href: `/enrolment?site=${id}`, text: 'Make an enrolment token' }}>A machine of this site becomes its gateway by enrolling with a token.</Empty>} />
          <h2>Connections</h2>
          <Table prefix="c-" name="connections of this site" rows={connections} columns={connectionColumns(!!fleet.data!.topology)} rowKey={(c) => c.connection.id} sort="name"
            empty={<Empty title="Not connected yet" action={{ href: `/create?first=${id}`, text: 'Connect it' }} />} />
          <KeptApart fleet={fleet.data!} site={id} />
        </div>
      )}
    </ObjectPage>
  )
}

export const createSite = (f: SiteForm) => post<Site>('/api/v1/sites', siteBody(f))
