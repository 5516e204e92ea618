import { useGet } from '../api/live'
import { ms, packets, percent, rate } from '../api/format'
import type { Telemetry } from '../api/types'
import { useQuery } from '../shell/location'
import { Chart, type Line } from './chart'
import { ProblemBox } from './messages'
import { useRange } from './range'

interface Spec {
  title: string
  lines: Line[]
  show: (v: number | null | undefined) => string
  least: number
  whole?: boolean
  mark?: { value: number; text: string } | undefined
}

const whole = (v: number | null | undefined) => (v == null ? '–' : String(Math.round(v)))

export function gatewayCharts(kind: string, published?: number): Spec[] {
  const both = (tx: string, rx: string): Line[] => [{ metric: tx, text: 'out', colour: '--series-2', below: true }, { metric: rx, text: 'in', colour: '--series-1' }]
  return [
    { title: kind === 'wire' ? 'Wire' : 'Goodput', lines: both(`${kind}_tx_bps`, `${kind}_rx_bps`), show: rate, least: 1e6, mark: published ? { value: published, text: `published ${rate(published)}` } : undefined },
    { title: 'Packets per second', lines: both('tx_pps', 'rx_pps'), show: packets, least: 100 },
    { title: 'Busy, hottest core', lines: [{ metric: 'busy_ratio', text: 'busy', colour: '--series-4' }], show: percent, least: 1 },
    { title: 'Drops', lines: [{ metric: 'drops', text: 'packets', colour: '--series-2' }], show: whole, least: 10, whole: true },
  ]
}

/** What both ends say: end a is the first answer, end b the second. What left one and did not come to the other was lost between. */
export function linkCharts(a: string, b: string): (kind: string) => Spec[] {
  const ends = (metric: string): Line[] => [{ metric, text: a, colour: '--series-1' }, { metric, text: b, colour: '--series-2', end: 1 }]
  return (kind) => [
    { title: `${a} to ${b}`, lines: [{ metric: `${kind}_tx_bps`, text: 'sent', colour: '--series-1' }, { metric: `${kind}_rx_bps`, text: 'received', colour: '--series-3', end: 1 }], show: rate, least: 1e6 },
    { title: `${b} to ${a}`, lines: [{ metric: `${kind}_tx_bps`, text: 'sent', colour: '--series-2', end: 1 }, { metric: `${kind}_rx_bps`, text: 'received', colour: '--series-5' }], show: rate, least: 1e6 },
    { title: 'RTT', lines: ends('rtt_ms'), show: ms, least: 1 },
    { title: 'Loss', lines: ends('loss_ratio'), show: percent, least: 0.01 },
    { title: 'Tunnels up', lines: ends('tunnels_up'), show: whole, least: 1, whole: true },
    { title: 'MTU', lines: ends('mtu'), show: whole, least: 100, whole: true },
  ]
}

/** All charts of an object, as one or two observers saw it. */
export function Charts({ object, observers = [''], charts }: { object: string; observers?: string[]; charts: (kind: string) => Spec[] }) {
  const { query, interval } = useRange()
  const [kind, setKind] = useQuery('rates', 'goodput')
  const specs = charts(kind)
  const metrics = [...new Set(specs.flatMap((s) => s.lines.map((l) => l.metric)))]
  const path = (observer: string | undefined) => (observer === undefined ? null : `/api/v1/telemetry?object=${object}&metric=${metrics.join(',')}&${query}${observer ? `&observer_id=${observer}` : ''}`)
  const first = useGet<Telemetry>(path(observers[0]), interval)
  const second = useGet<Telemetry>(path(observers[1]), interval)
  const telemetry = [first, second].slice(0, observers.length).map((t) => t.data)
  const there = telemetry.every((t) => t !== undefined)
  return (
    <div class="stack">
      <div class="row">
        <div class="seg" role="group" aria-label="Rates">{['goodput', 'wire'].map((k) => <button key={k} type="button" aria-pressed={k === kind} onClick={() => setKind(k)}>{k}</button>)}</div>
        <span class="muted">Drag over a chart to look closer. {first.data ? `Step ${first.data.step === 'raw' ? 'of the reports' : first.data.step}` : ''}</span>
      </div>
      <ProblemBox problem={there ? undefined : first.problem ?? second.problem} />
      {there && <div class="charts">{specs.map((s) => <Chart key={s.title} {...s} object={object} telemetry={telemetry as Telemetry[]} />)}</div>}
    </div>
  )
}
