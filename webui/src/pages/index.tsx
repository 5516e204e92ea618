/** Which address shows what; pages whose API this controller lacks are not there. */
import type { ComponentChildren, ComponentType } from 'preact'
import { serves } from '../api/client'
import { GatewaysPage } from './gateways'

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

export const pages: Entry[] = [
  { path: '/gateways', title: 'Gateways', nav: 'Gateways', there: () => serves('/gateways'), page: GatewaysPage },
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
