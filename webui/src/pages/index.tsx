/** Which address shows what; pages whose API this controller lacks are not there. */
import type { ComponentChildren, ComponentType } from 'preact'
import { may, serves } from '../api/client'
import { ChangesPage } from './changes'
import { ConnectionPage, ConnectionsPage } from './connections'
import { CreatePage } from './create'
import { DashboardPage } from './dashboard'
import { DiagnosticsPage } from './diagnostics'
import { OperationPage } from './diagnostics/operation'
import { EnrolmentPage } from './enrolment'
import { FirewallPage } from './firewall'
import { RulesetPage } from './firewall/ruleset'
import { GatewayPage } from './gateway'
import { GatewaysPage } from './gateways'
import { InstanceSizesPage } from './instance-sizes'
import { LinkPage } from './links'
import { SettingsPage } from './settings'
import { SitePage, SitesPage } from './sites'
import { TopologyPage } from './topology'

export interface PageProps {
  /** The part of the address that `:id` stands for. */
  id: string
}

interface Entry {
  path: string
  title: string
  /** Name in the navigation. */
  nav?: string
  there: () => boolean
  page: ComponentType<PageProps>
}

const always = () => true
const filters = () => serves('/rulesets')
const asks = () => serves('/operations') && serves('/diagnostics/trace-path', 'POST')

export const pages: Entry[] = [
  { path: '/', title: 'Dashboard', nav: 'Dashboard', there: always, page: DashboardPage },
  { path: '/topology', title: 'Topology', nav: 'Topology', there: always, page: TopologyPage },
  { path: '/sites', title: 'Sites', nav: 'Sites', there: always, page: SitesPage },
  { path: '/sites/:id', title: 'Site', there: always, page: SitePage },
  { path: '/gateways', title: 'Gateways', nav: 'Gateways', there: always, page: GatewaysPage },
  { path: '/gateways/:id', title: 'Gateway', there: always, page: GatewayPage },
  { path: '/connections', title: 'Connections', nav: 'Connections', there: always, page: ConnectionsPage },
  { path: '/connections/:id', title: 'Connection', there: always, page: ConnectionPage },
  { path: '/links/:id', title: 'Link', there: always, page: LinkPage },
  { path: '/firewall', title: 'Firewall', nav: 'Firewall', there: filters, page: FirewallPage },
  { path: '/firewall/:id', title: 'Ruleset', there: filters, page: RulesetPage },
  { path: '/diagnostics', title: 'Diagnostics', nav: 'Diagnostics', there: asks, page: DiagnosticsPage },
  { path: '/diagnostics/:id', title: 'Diagnostics', there: asks, page: OperationPage },
  { path: '/instance-sizes', title: 'Instance sizes', nav: 'Instance sizes', there: () => serves('/instance-sizes'), page: InstanceSizesPage },
  { path: '/enrolment', title: 'Enrolment', nav: 'Enrolment', there: always, page: EnrolmentPage },
  { path: '/changes', title: 'Changes', nav: 'Changes', there: () => may('GET', '/audit'), page: ChangesPage },
  { path: '/settings', title: 'Settings', nav: 'Settings', there: () => may('GET', '/api-keys'), page: SettingsPage },
  { path: '/create', title: 'Join two sites', there: () => may('POST', '/connections'), page: CreatePage },
]

function find(path: string): { entry: Entry; id: string } | undefined {
  for (const entry of pages) {
    if (!entry.there()) continue
    if (entry.path === path) return { entry, id: '' }
    const base = entry.path.replace(/:id$/, '')
    if (base !== entry.path && path.startsWith(base) && /^[0-9a-f-]{36}$/.test(path.slice(base.length))) return { entry, id: path.slice(base.length) }
  }
  return undefined
}

export const titleOf = (path: string) => find(path)?.entry.title ?? 'Hawser'

export function Page({ path, nothing }: { path: string; nothing: ComponentChildren }) {
  const found = find(path)
  if (!found) return <>{nothing}</>
  const { page: Shown } = found.entry
  return <Shown key={path} id={found.id} />
}
