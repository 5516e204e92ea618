import { ms } from '../../api/format'
import type { TracePathResult } from '../../api/types'

type Trace = TracePathResult['outward']
type Hop = Trace['hops'][number]

const LEFT = 64
const TOP = 28
const STAIR = 150
const BARS = 64
const FOOT = 40

const who = (h: Hop) => (h.name ?? (h.address ? String(h.address) : 'no answer'))

/** Round MTUs around those that were seen; a flat path stands in the middle. */
function scale(mtus: number[]): { low: number; high: number } {
  const low = Math.min(...mtus)
  const high = Math.max(...mtus)
  const room = Math.max((high - low) * 0.35, 60)
  return { low: low - room, high: high + room * 0.6 }
}

/** Hops to the right, MTU upwards; a step down is marked with where it is; RTT stands below as bars. */
export function Staircase({ trace }: { trace: Trace }) {
  const hops = trace.hops
  const known = hops.map((h) => h.mtu).filter((m): m is number => m !== null)
  const step = Math.max(104, Math.min(200, 900 / Math.max(1, hops.length)))
  const width = LEFT + step * hops.length + 16
  const height = TOP + STAIR + BARS + FOOT
  const { low, high } = known.length ? scale(known) : { low: 0, high: 1 }
  const y = (mtu: number) => TOP + STAIR * (1 - (mtu - low) / (high - low))
  const slowest = Math.max(...hops.map((h) => h.rtt_ms.avg ?? 0), 0.001)
  let before: number | null = null
  return (
    <div class="table-scroll">
      <svg class="stairs" width={width} height={height} role="img" aria-label={`Path MTU by hop: ${trace.verdict}`}>
        {[...new Set(known)].map((m) => (
          <g key={m}><line class="grid" x1={LEFT} x2={width - 16} y1={y(m)} y2={y(m)} /><text class="axis" x={LEFT - 8} y={y(m) + 4} text-anchor="end">{m}</text></g>
        ))}
        <text class="axis" x={LEFT - 8} y={14} text-anchor="end">MTU</text>
        <text class="axis" x={LEFT - 8} y={TOP + STAIR + BARS - 4} text-anchor="end">RTT</text>
        {hops.map((h, i) => {
          const x = LEFT + step * i
          const drop = h.mtu !== null && before !== null && h.mtu < before
          const from = before
          if (h.mtu !== null) before = h.mtu
          const bar = ((h.rtt_ms.avg ?? 0) / slowest) * (BARS - 30)
          const base = TOP + STAIR + BARS - 4
          return (
            <g key={h.hop}>
              <title>{`hop ${h.hop}: ${who(h)}, MTU ${h.mtu ?? 'not known'}${h.mtu_source ? ` (${h.mtu_source})` : ''}, RTT ${ms(h.rtt_ms.avg)}, ${h.answered} of ${h.sent} answered${h.note ? `; ${h.note}` : ''}`}</title>
              {h.mtu !== null && <rect class="tread" x={x} width={step} y={y(h.mtu)} height={TOP + STAIR - y(h.mtu)} />}
              {h.mtu !== null && <line class={drop ? 'edge drop' : 'edge'} x1={x} x2={x + step} y1={y(h.mtu)} y2={y(h.mtu)} />}
              {drop && <line class="edge drop" x1={x} x2={x} y1={y(from!)} y2={y(h.mtu!)} />}
              {drop && <text class="fall" x={x + 6} y={y(h.mtu!) - 7}>▼ {h.mtu} here</text>}
              <rect class="rtt" x={x + step / 2 - 9} width={18} y={base - bar} height={Math.max(bar, 1)} />
              <text class="axis" x={x + step / 2} y={base - bar - 5} text-anchor="middle">{h.rtt_ms.avg === null ? '–' : ms(h.rtt_ms.avg)}</text>
              <text class={h.address ? '' : 'axis'} x={x + step / 2} y={base + 17} text-anchor="middle">{who(h).length > 17 ? `${who(h).slice(0, 16)}…` : who(h)}</text>
              <text class="axis" x={x + step / 2} y={base + 33} text-anchor="middle">hop {h.hop}</text>
            </g>
          )
        })}
        <line class="axis-line" x1={LEFT} x2={width - 16} y1={TOP + STAIR} y2={TOP + STAIR} />
      </svg>
    </div>
  )
}
