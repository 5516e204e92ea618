/** What the pages of the firewall share: rules as text that people type, and back. */
import type { AddressGroup, Rule, Site } from '../../api/types'
import { split } from '../../parts/form'

export const actionText = { allow: 'allow', deny: 'deny' } as const

export type RuleForm = {
  name: string
  action: string
  protocol: string
  number: string
  source: string
  destination: string
  source_ports: string
  destination_ports: string
  enabled: string
  log: string
  description: string
  position: string
}

type Side = Rule['source']

/** Prefixes and names of groups, one a line. */
export function sideText(side: Side, groups: AddressGroup[], between = '\n'): string {
  const names = (side.group_ids ?? []).map((id) => groups.find((g) => g.id === id)?.name ?? id)
  return [...names, ...(side.prefixes ?? [])].join(between)
}

/** A single address is its host prefix. */
const prefix = (text: string) => (text.includes('/') ? text : /^[0-9.]+$/.test(text) ? `${text}/32` : text.includes(':') ? `${text}/128` : text)

function side(text: string, groups: AddressGroup[]): Side {
  const words = split(text)
  const named = words.map((w) => groups.find((g) => g.name === w))
  return { prefixes: words.filter((_, i) => !named[i]).map(prefix), group_ids: named.flatMap((g) => (g ? [g.id] : [])) }
}

export const hasPorts = (f: RuleForm) => f.protocol === 'tcp' || f.protocol === 'udp'

export const ruleBody = (groups: AddressGroup[]) => (f: RuleForm) => ({
  name: f.name.trim(), action: f.action, protocol: f.protocol === 'other' ? f.number.trim() : f.protocol,
  source: side(f.source, groups), destination: side(f.destination, groups),
  source_ports: hasPorts(f) ? split(f.source_ports) : [], destination_ports: hasPorts(f) ? split(f.destination_ports) : [],
  enabled: f.enabled === 'yes', log: f.log === 'yes', description: f.description.trim() || null,
})

export const emptyRule = (position: string): RuleForm => ({
  name: '', action: 'allow', protocol: 'tcp', number: '47', source: '', destination: '', source_ports: '', destination_ports: '', enabled: 'yes', log: 'no', description: '', position,
})

export function formOf(r: Rule, groups: AddressGroup[]): RuleForm {
  const known = ['any', 'tcp', 'udp', 'icmp'].includes(r.protocol)
  return {
    name: r.name, action: r.action, protocol: known ? r.protocol : 'other', number: known ? '' : r.protocol, source: sideText(r.source, groups), destination: sideText(r.destination, groups),
    source_ports: r.source_ports.join(', '), destination_ports: r.destination_ports.join(', '), enabled: r.enabled ? 'yes' : 'no', log: r.log ? 'yes' : 'no', description: r.description ?? '', position: String(r.position),
  }
}

export const protocolText = (p: string) => (p === 'any' ? 'any' : /^[0-9]+$/.test(p) ? `protocol ${p}` : p.toUpperCase())

export const siteNetworks = (site: Site | undefined) => site?.cidrs.join('\n') ?? ''
