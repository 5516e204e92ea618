import cytoscape, { type Core, type ElementDefinition, type EventObject } from 'cytoscape'
import { useEffect, useRef, useState } from 'preact/hooks'
import { gatewayState, type ConnectionView, type Fleet } from '../../api/fleet'
import { ms, percent, rate } from '../../api/format'
import { State } from '../../parts/state'
import { navigate } from '../../shell/location'
import { themeChanged, token } from '../../shell/theme'
import { keep, members, place, width } from './layout'

const marks: Record<string, string> = { up: '●', degraded: '◐', down: '○', unknown: '?', pending: '…', revoked: '×', disabled: '–' }
const tokens: Record<string, string> = { up: '--up', degraded: '--degraded', down: '--down' }
const colour = (state: string) => token(tokens[state] ?? '--unknown')

const total = (c: ConnectionView) => (c.ab == null && c.ba == null ? null : (c.ab ?? 0) + (c.ba ?? 0))

function label(c: ConnectionView): string {
  const first = c.encrypted === false ? 'UNENCRYPTED' : ''
  const state = c.state === 'up' ? '' : `${marks[c.state]} ${c.state}`
  const measured = total(c) == null ? `${c.tunnelsUp} of ${c.tunnelsTotal} tunnels` : `${rate(total(c))}${c.rtt == null ? '' : ` · ${ms(c.rtt)}`}`
  return [first, state, measured].filter(Boolean).join('\n')
}

function elements(fleet: Fleet): ElementDefinition[] {
  const at = place(fleet)
  const list: ElementDefinition[] = []
  for (const s of fleet.sites) {
    list.push({ group: 'nodes', data: { id: s.id, label: `${s.name} · ${s.role}`, kind: 'site', role: s.role } })
    for (const id of members(fleet, s)) {
      const g = fleet.gateway.get(id)
      const state = g ? gatewayState(g) : 'pending'
      list.push({
        group: 'nodes', position: { ...at.get(id)! },
        data: { id, parent: s.id, kind: g ? 'gateway' : 'none', state, label: g ? `${marks[state]} ${g.name}` : 'no gateway yet', colour: colour(state) },
      })
    }
  }
  for (const c of fleet.connections) {
    if (!fleet.site.has(c.connection.site_a_id) || !fleet.site.has(c.connection.site_b_id)) continue
    list.push({
      group: 'edges',
      data: {
        id: c.connection.id, source: c.connection.site_a_id, target: c.connection.site_b_id, label: label(c), width: width(total(c)),
        colour: c.encrypted === false ? token('--down') : colour(c.state), line: c.state === 'up' || c.state === 'degraded' ? (c.encrypted === false ? 'dotted' : 'solid') : 'dashed',
      },
    })
  }
  return list
}

const style = (): cytoscape.StylesheetJson => {
  const font = token('--font')
  return [
    { selector: 'node[kind="site"]', style: { shape: 'round-rectangle', 'background-color': token('--surface-2'), 'background-opacity': 1, 'border-width': 1, 'border-color': token('--line-2'), label: 'data(label)', 'text-wrap': 'wrap', 'text-valign': 'top', 'text-margin-y': -6, 'font-size': 13, 'font-family': font, color: token('--text'), padding: '16px' } },
    { selector: 'node[kind="gateway"], node[kind="none"]', style: { shape: 'round-rectangle', width: 132, height: 36, 'background-color': token('--surface'), 'border-width': 2, 'border-color': 'data(colour)', label: 'data(label)', 'text-valign': 'center', 'text-halign': 'center', 'font-size': 13, 'font-family': font, color: token('--text') } },
    { selector: 'node[kind="none"]', style: { 'border-style': 'dashed', 'border-width': 1, 'border-color': token('--line-2'), color: token('--text-2') } },
    { selector: 'edge', style: { 'curve-style': 'bezier', width: 'data(width)', 'line-color': 'data(colour)', 'line-style': 'data(line)' as 'solid', label: 'data(label)', 'text-wrap': 'wrap', 'font-size': 12, 'font-family': font, color: token('--text'), 'text-background-color': token('--surface'), 'text-background-opacity': 1, 'text-background-padding': '3px', 'text-background-shape': 'roundrectangle' } },
    { selector: 'edge:active, edge.on', style: { 'overlay-color': token('--accent'), 'overlay-opacity': 0.15, 'overlay-padding': 6 } },
    { selector: 'node:active', style: { 'overlay-opacity': 0 } },
  ] as cytoscape.StylesheetJson
}

/** Only what differs is touched, so nothing jumps. */
function update(cy: Core, wanted: ElementDefinition[]) {
  cy.batch(() => {
    const ids = new Set(wanted.map((e) => e.data.id))
    cy.elements().filter((e) => !ids.has(e.id())).remove()
    for (const e of wanted) {
      const there = cy.getElementById(e.data.id!)
      if (there.nonempty()) there.data(e.data)
      else cy.add(e)
    }
  })
}

function Tip({ view, at }: { view: ConnectionView; at: { x: number; y: number } }) {
  return (
    <div class="tip" style={{ left: `${at.x + 14}px`, top: `${at.y + 14}px` }}>
      <strong>{view.connection.name}</strong> <State state={view.state} />
      <dl>
        <dt>Tunnels up</dt><dd>{view.tunnelsUp} of {view.tunnelsTotal}</dd>
        {(view.ab != null || view.ba != null) && <><dt>{view.a?.name} sends</dt><dd>{rate(view.ab)}</dd><dt>{view.b?.name} sends</dt><dd>{rate(view.ba)}</dd></>}
        {view.rtt != null && <><dt>RTT</dt><dd>{ms(view.rtt)}</dd></>}
        {view.loss != null && <><dt>Loss</dt><dd>{percent(view.loss)}</dd></>}
        {view.mtu != null && <><dt>MTU</dt><dd>{view.mtu}</dd></>}
      </dl>
      {view.reason && <div class="muted">{view.reason}</div>}
    </div>
  )
}

/** `reset` changes when the user wants the first layout back. */
export function TopologyMap({ fleet, reset }: { fleet: Fleet; reset: number }) {
  const box = useRef<HTMLDivElement>(null)
  const cy = useRef<Core>()
  const shown = useRef(fleet)
  const [tip, setTip] = useState<{ id: string; x: number; y: number }>()
  shown.current = fleet

  useEffect(() => {
    const c = cytoscape({
      container: box.current, elements: elements(fleet), style: style(), layout: { name: 'preset' },
      minZoom: 0.3, maxZoom: 2, boxSelectionEnabled: false, autounselectify: true,
    })
    cy.current = c
    c.fit(undefined, 48)
    if (c.zoom() > 1.25) {
      c.zoom(1.25)
      c.center()
    }
    const point = (e: EventObject) => setTip({ id: e.target.id(), x: e.renderedPosition.x, y: e.renderedPosition.y })
    c.on('mouseover mousemove', 'edge', (e) => {
      e.target.addClass('on')
      point(e)
    })
    c.on('mouseout', 'edge', (e) => {
      e.target.removeClass('on')
      setTip(undefined)
    })
    c.on('tap', 'edge', (e) => {
      const links = shown.current.connections.find((x) => x.connection.id === e.target.id())?.links ?? []
      navigate(links.length === 1 ? `/links/${links[0]!.link.id}` : `/connections/${e.target.id()}`)
    })
    c.on('tap', 'node[kind="gateway"]', (e) => navigate(`/gateways/${e.target.id()}`))
    c.on('tap', 'node[kind="site"]', (e) => { if (e.target === e.cy.$(`#${e.target.id()}`)[0]) navigate(`/sites/${e.target.id()}`) })
    c.on('dragfree', 'node', () => keep(Object.fromEntries(c.nodes(':childless').map((n) => [n.id(), { ...n.position() }]))))
    const repaint = () => {
      c.style(style())
      update(c, elements(shown.current))
    }
    themeChanged.add(repaint)
    return () => {
      themeChanged.delete(repaint)
      c.destroy()
      cy.current = undefined
    }
  }, [reset])

  useEffect(() => { if (cy.current) update(cy.current, elements(fleet)) }, [fleet])

  const view = tip && fleet.connections.find((c) => c.connection.id === tip.id)
  return (
    <div class="map">
      <div ref={box} class="canvas" role="img" aria-label="Map of the network; the table below says the same" />
      {view && <Tip view={view} at={tip} />}
    </div>
  )
}
