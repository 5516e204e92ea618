import { useGet } from '../api/live'
import { ms, packets, percent, rate } from '../api/format'
import type { Telemetry } from '../api/types'
import { useQuery } from '../shell/location'
import { Chart, type Line } from './chart'
import { ProblemBox } from './messages'

const ranges = ['5m', '15m', '1h', '6h', '24h', '7d', '30d']

interface Spec {
  title: string
  lines: Line[]
  show: (v: number | null | undefined) => string
  least: number
  whole?: boolean
  mark?: { value: number; text: string } | undefined
}

const both = (tx: string, rx: string): Line[] => [
  { metric: tx, text: 'out', colour: '--series-2', below: true }, { metric: rx, text: 'in', colour: '--series-1' },
]

const whole = (v: number | null | undefined) => (v == null ? '–' : String(Math.round(v)))

export const gatewayCharts = (kind: string, published?: number): Spec[] => [
  { title: kind === 'wire' ? 'Wire' : 'Goodput', lines: both(`${kind}_tx_bps`, `${kind}_rx_bps`), show: rate, least: 1e6, mark: published ? { value: published, text: `published ${rate(published)}` } : undefined },
  { title: 'Packets per second', lines: both('tx_pps', 'rx_pps'), show: packets, least: 100 },
  { title: 'Busy, hottest core', lines: [{ metric: 'busy_ratio', text: 'busy', colour: '--series-4' }], show: percent, least: 1 },
  { title: 'Drops', lines: [{ metric: 'drops', text: 'packets', colour: '--series-2' }], show: whole, least: 10, whole: true },
]

export const linkCharts = (kind: string): Spec[] => [
  { title: kind === 'wire' ? 'Wire' : 'Goodput', lines: both(`${kind}_tx_bps`, `${kind}_rx_bps`), show: rate, least: 1e6 },
  { title: 'RTT', lines: [{ metric: 'rtt_ms', text: 'RTT', colour: '--series-3' }], show: ms, least: 1 },
  { title: 'Loss', lines: [{ metric: 'loss_ratio', text: 'loss', colour: '--series-2' }], show: percent, least: 0.01 },
  { title: 'Tunnels up', lines: [{ metric: 'tunnels_up', text: 'up', colour: '--series-5' }], show: whole, least: 1, whole: true },
]

/** All charts of an object, from one request. */
export function Charts({ object, charts }: { object: string; charts: (kind: string) => Spec[] }) {
  const [range, setRange] = useQuery('range', '1h')
  const [kind, setKind] = useQuery('rates', 'goodput')
  const specs = charts(kind)
  const metrics = [...new Set(specs.flatMap((s) => s.lines.map((l) => l.metric)))]
  const telemetry = useGet<Telemetry>(`/api/v1/telemetry?object=${object}&metric=${metrics.join(',')}&range=${range}`, ['5m', '15m', '1h'].includes(range) ? 10_000 : 60_000)
  return (
    <div class="stack">
      <div class="row">
        <div class="seg" role="group" aria-label="Range">{ranges.map((r) => <button key={r} type="button" aria-pressed={r === range} onClick={() => setRange(r)}>{r}</button>)}</div>
        <div class="seg" role="group" aria-label="Rates">{['goodput', 'wire'].map((k) => <button key={k} type="button" aria-pressed={k === kind} onClick={() => setKind(k)}>{k}</button>)}</div>
        <span class="muted">Drag to zoom, double click to see all. {telemetry.data ? `Step ${telemetry.data.step === 'raw' ? 'of the reports' : telemetry.data.step}` : ''}</span>
      </div>
      <ProblemBox problem={telemetry.data ? undefined : telemetry.problem} />
      {telemetry.data && <div class="charts">{specs.map((s) => <Chart key={s.title} {...s} object={object} telemetry={telemetry.data!} />)}</div>}
    </div>
  )
}
