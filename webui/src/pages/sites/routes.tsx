import type { Fleet } from '../../api/fleet'
import type { Site } from '../../api/types'

/** Sites that this one reaches: over its connections, and on through transits; a spoke carries nothing for others. */
export function reached(fleet: Fleet, site: Site): Site[] {
  const seen = new Set([site.id])
  const queue = [site]
  for (let at = queue.shift(); at; at = queue.shift()) {
    if (at.id !== site.id && at.role !== 'transit') continue
    for (const { connection: c } of fleet.connections) {
      const other = c.site_a_id === at.id ? c.site_b_id : c.site_b_id === at.id ? c.site_a_id : undefined
      const next = c.enabled && other ? fleet.site.get(other) : undefined
      if (!next || seen.has(next.id) || next.domain !== site.domain) continue
      seen.add(next.id)
      queue.push(next)
    }
  }
  seen.delete(site.id)
  return [...seen].map((id) => fleet.site.get(id)!)
}

/** What the network of a site must send to its gateways, since Hawser does not touch the hosts or the cloud's route tables. */
export function HostRoutes({ fleet, site }: { fleet: Fleet; site: Site }) {
  const prefixes = reached(fleet, site).flatMap((s) => s.cidrs)
  const gateways = fleet.gateways.filter((g) => g.site_id === site.id)
  const at = gateways.flatMap((g) => g.interfaces.filter((i) => i.role !== 'underlay').map((i) => `${g.name} at ${i.addresses.map((a) => String(a).split('/')[0]).join(', ')}`))
  if (!prefixes.length) return <span class="muted">none: no other site is reached yet</span>
  return <><span class="mono">{prefixes.join(', ')}</span> to {at.join(' or ') || (gateways.length ? gateways.map((g) => g.name).join(' or ') : 'its gateway')}</>
}
