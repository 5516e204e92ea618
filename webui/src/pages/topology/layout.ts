/** Where things stand on the map: transits in the middle, spokes left and right, and wherever the user dragged them. */
import type { Fleet } from '../../api/fleet'
import type { Site } from '../../api/types'

export interface Point { x: number; y: number }

const COLUMN = 330
const ROW = 64
const GAP = 84
const KEY = 'hawser.map'

/** Nodes of a site: its gateways, or a place holder where it has none. */
export const members = (fleet: Fleet, site: Site) => {
  const own = fleet.gateways.filter((g) => g.site_id === site.id).map((g) => g.id)
  return own.length ? own : [`none ${site.id}`]
}

/** Spokes in the order of their transits, so that few lines cross. */
function byTransit(fleet: Fleet, spokes: Site[], transits: Site[]) {
  const index = (s: Site) => {
    const peers = fleet.connections.flatMap(({ connection: c }) => (c.site_a_id === s.id ? [c.site_b_id] : c.site_b_id === s.id ? [c.site_a_id] : []))
    const at = transits.findIndex((t) => peers.includes(t.id))
    return at < 0 ? transits.length : at
  }
  return spokes.sort((a, b) => index(a) - index(b))
}

function column(fleet: Fleet, sites: Site[], x: number, out: Map<string, Point>, gap = GAP) {
  const heights = sites.map((s) => members(fleet, s).length * ROW)
  let y = -(heights.reduce((a, b) => a + b, 0) + gap * (sites.length - 1)) / 2
  sites.forEach((s, i) => {
    members(fleet, s).forEach((id, k) => out.set(id, { x, y: y + ROW * (k + 0.5) }))
    y += heights[i]! + gap
  })
}

export function place(fleet: Fleet): Map<string, Point> {
  const byName = [...fleet.sites].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
  const transits = byName.filter((s) => s.role === 'transit')
  const spokes = byName.filter((s) => s.role === 'spoke')
  const left = byTransit(fleet, spokes.slice(0, Math.ceil(spokes.length / 2)), transits)
  const right = byTransit(fleet, spokes.slice(left.length), transits)
  const out = new Map<string, Point>()
  column(fleet, left, transits.length ? -COLUMN : -COLUMN / 2, out)
  column(fleet, transits, 0, out, 1.5 * GAP)
  column(fleet, right, transits.length ? COLUMN : COLUMN / 2, out)
  for (const [id, p] of Object.entries(kept())) if (out.has(id)) out.set(id, p)
  return out
}

function kept(): Record<string, Point> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, Point>
  } catch {
    return {}
  }
}

export function keep(points: Record<string, Point>) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...kept(), ...points }))
  } catch { /* kept for this page alone */ }
}

export function forgetPlaces() {
  try {
    localStorage.removeItem(KEY)
  } catch { /* nothing was kept */ }
}

/** Width of a line by its rate: 1 Mbit/s and less 2 px, ten times the rate 2 px more. */
export const width = (bps: number | null) => (bps && bps > 1e6 ? Math.min(14, 2 + 2.2 * Math.log10(bps / 1e6)) : 2)
