import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Telemetry } from '../api/types'
import { themeChanged, token } from '../shell/theme'
import { zoomTo } from './range'

export interface Line {
  metric: string
  text: string
  colour: '--series-1' | '--series-2' | '--series-3' | '--series-4' | '--series-5'
  /** Whose, where a chart shows several. */
  object?: string
  /** Which of the answers it stands in. */
  end?: number
  /** Below the axis: what goes out. */
  below?: boolean
}

interface Props {
  title: string
  lines: Line[]
  telemetry: Telemetry[]
  object: string
  show: (v: number | null | undefined) => string
  /** The axis reaches at least so far: noise of an idle line is no mountain. */
  least: number
  whole?: boolean
  /** A figure to compare with, drawn as a dashed line. */
  mark?: { value: number; text: string } | undefined
}

type Values = (number | null | undefined)[]

/** Columns of uPlot: time, then avg, min and max of each line; what goes out is negative. Lines of several observers are joined by
 * time: where one was not asked is no gap of the other. */
function columns(telemetry: Telemetry[], object: string, lines: Line[]): uPlot.AlignedData {
  return uPlot.join(lines.map((line) => table(telemetry[line.end ?? 0]!, line.object ?? object, line)))
}

/** Longer without a report of its own is a gap of an observer. */
const GAP_SECONDS = 30

/** Raw answers about several objects have a null wherever another one reported: only a long silence is a gap. */
function ownPoints(times: number[], values: (number | null)[]): boolean[] {
  let last = -Infinity
  const next: number[] = []
  for (let i = times.length - 1, at = Infinity; i >= 0; i--) {
    if (values[i] !== null) at = times[i]!
    next[i] = at
  }
  return times.map((t, i) => {
    if (values[i] !== null) last = t
    return values[i] !== null || next[i]! - last > GAP_SECONDS
  })
}

function table(telemetry: Telemetry, object: string, line: Line): uPlot.AlignedData {
  const begin = Date.parse(telemetry.from) / 1000
  const end = Date.parse(telemetry.to) / 1000
  const series = telemetry.series.find((s) => s.object === object && s.metric === line.metric)
  const all = telemetry.offset_seconds.map((s) => begin + s)
  const kept = series && telemetry.step === 'raw' ? ownPoints(all, series.avg) : all.map(() => true)
  const times = all.filter((_, i) => kept[i])
  // The whole range is shown, also where nothing was measured.
  const before = times[0] !== begin ? 1 : 0
  const after = end > (times.at(-1) ?? begin) ? 1 : 0
  const pad = (v: (number | null)[]) => [...Array<null>(before).fill(null), ...v, ...Array<null>(after).fill(null)]
  const sign = line.below ? -1 : 1
  const part = (name: 'avg' | 'min' | 'max') => pad((series?.[name] ?? all.map(() => null)).filter((_, i) => kept[i]).map((v) => (v === null ? null : v * sign)))
  return [[...(before ? [begin] : []), ...times, ...(after ? [end] : [])], part('avg'), part('min'), part('max')]
}

function options(box: HTMLElement, { lines, show, mark, least, whole }: Props, at: (i: number | null | undefined) => void, beyond: (is: boolean) => void): uPlot.Options {
  const axis = { stroke: token('--text-2'), font: `12px ${token('--font')}`, grid: { stroke: token('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: box.clientWidth, height: 180, legend: { show: false }, padding: [8, 8, 0, 0],
    cursor: { sync: { key: 'page' }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    scales: { y: { range: (_u, low, high) => {
      const top = Math.max(high ?? 0, mark && mark.value <= 4 * (high ?? 0) ? mark.value : 0, least)
      return [Math.min(low ?? 0, lines.some((l) => l.below) ? -least : 0) * 1.08, top * 1.08]
    } } },
    axes: [
      { ...axis, values: [
        [86400, '{YYYY}-{MM}-{DD}', null, null, null, null, null, null, 1], [3600, '{HH}:{mm}', '\n{MM}-{DD}', null, null, null, null, null, 1],
        [60, '{HH}:{mm}', '\n{MM}-{DD}', null, null, null, null, null, 1], [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1],
      ] },
      { ...axis, size: 84, ...(whole ? { incrs: [1, 2, 5, 10, 20, 50, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8] } : {}), values: (_u: uPlot, splits: number[]) => splits.map((v) => show(Math.abs(v))) },
    ],
    series: [{}, ...lines.flatMap((l): uPlot.Series[] => {
      const stroke = token(l.colour)
      return [{ stroke, width: 1.5, points: { show: false } }, { stroke: 'transparent', points: { show: false } }, { stroke: 'transparent', points: { show: false } }]
    })],
    bands: lines.map((l, i) => {
      const [min, max] = [3 * i + 2, 3 * i + 3]
      return { series: l.below ? [min, max] : [max, min], fill: token(l.colour) + '33', dir: -1 as const } as uPlot.Band
    }),
    hooks: {
      setCursor: [(u) => at(u.cursor.idx)],
      setSelect: [(u) => {
        const { left, width } = u.select
        if (width < 8) return
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        zoomTo(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'))
      }],
      draw: [(u) => {
        if (!mark) return
        const y = u.valToPos(mark.value, 'y', true)
        beyond(y < u.bbox.top)
        if (y < u.bbox.top) return
        u.ctx.save()
        u.ctx.strokeStyle = token('--text-2')
        u.ctx.setLineDash([6, 4])
        u.ctx.beginPath()
        u.ctx.moveTo(u.bbox.left, y)
        u.ctx.lineTo(u.bbox.left + u.bbox.width, y)
        u.ctx.stroke()
        u.ctx.restore()
      }],
    },
  }
}

/** In above and out below the axis; the band is from the least to the greatest second; a gap means that nobody reported. */
export function Chart(props: Props) {
  const { title, lines, telemetry, object, show, mark } = props
  const box = useRef<HTMLDivElement>(null)
  const key = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>()
  const data = columns(telemetry, object, lines)
  const shown = useRef(data)
  shown.current = data

  /** Values under the cursor, or the newest. */
  const tell = (i: number | null | undefined) => {
    const d = shown.current
    const spans = key.current?.querySelectorAll('b') ?? []
    lines.forEach((_, k) => {
      const column = d[3 * k + 1] as Values
      const v = i == null ? [...column].reverse().find((x) => x != null) : column[i]
      if (spans[k]) spans[k]!.textContent = v == null ? '–' : show(Math.abs(v))
    })
  }

  /** A figure that would squeeze what is measured into the ground stands in words alone. */
  const beyond = (is: boolean) => {
    const span = key.current?.querySelector('.beyond')
    if (span) span.textContent = is ? ', above this chart' : ''
  }

  useEffect(() => {
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(options(box.current!, props, tell, beyond), shown.current, box.current!)
      tell(null)
    }
    draw()
    const size = new ResizeObserver(() => plot.current?.setSize({ width: box.current!.clientWidth, height: 180 }))
    size.observe(box.current!)
    themeChanged.add(draw)
    return () => {
      themeChanged.delete(draw)
      size.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [lines.map((l) => `${l.object ?? ''} ${l.metric}`).join(), mark?.value])

  useEffect(() => {
    plot.current?.setData(data)
    tell(plot.current?.cursor.idx)
  }, telemetry)

  return (
    <section class="card chart" aria-label={title}>
      <div class="title"><h2>{title}</h2>
        <div class="key" ref={key}>
          {lines.map((l) => <span key={`${l.object ?? ''} ${l.metric}`}><i class={`key${l.colour}`} />{l.text} <b /></span>)}
          {mark && <span title="Of its size, as its source prints it">- - {mark.text}<span class="beyond" /></span>}
        </div>
      </div>
      <div ref={box} />
    </section>
  )
}
