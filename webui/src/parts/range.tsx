import { useEffect, useReducer } from 'preact/hooks'
import { time } from '../api/format'
import { navigate, useLocation } from '../shell/location'

/** What every chart of the console shows, as the address says: `range` up to now, or `since` and `until`. */
const ranges = [['5m', '5 minutes'], ['15m', '15 minutes'], ['1h', 'hour'], ['6h', '6 hours'], ['24h', '24 hours'], ['7d', '7 days'], ['30d', '30 days']] as const
const FALLBACK = '1h'

/** The control is there while something on the page follows it. */
let followers = 0
const watchers = new Set<() => void>()

export interface Range {
  /** For the API's query. */
  query: string
  /** Milliseconds until it is worth asking anew. */
  interval: number
}

const iso = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

function read(query: URLSearchParams) {
  const [from, to] = [Date.parse(query.get('since') ?? ''), Date.parse(query.get('until') ?? '')]
  const chosen = query.get('range') ?? ''
  return { range: ranges.some(([r]) => r === chosen) ? chosen : FALLBACK, span: from < to ? { from, to } : undefined }
}

export function useRange(): Range {
  const { query } = useLocation()
  useEffect(() => {
    followers++
    for (const f of watchers) f()
    return () => {
      followers--
      for (const f of watchers) f()
    }
  }, [])
  const { range, span } = read(query)
  if (span) return { query: `from=${iso(span.from)}&to=${iso(span.to)}`, interval: Infinity }
  return { query: `range=${range}`, interval: /m$|^1h$/.test(range) ? 10_000 : 60_000 }
}

function go(change: Record<string, string | undefined>) {
  const query = new URLSearchParams(location.search)
  for (const name of ['range', 'since', 'until']) query.delete(name)
  for (const [name, value] of Object.entries(change)) if (value) query.set(name, value)
  navigate(location.pathname + (query.toString() ? `?${query}` : ''))
}

/** Two moments, in seconds: all charts show what lies between. */
export const zoomTo = (from: number, to: number) => go({ since: iso(Math.floor(from) * 1000), until: iso(Math.ceil(Math.max(to, from + 10)) * 1000) })

export function RangeControl() {
  const { query } = useLocation()
  const [, draw] = useReducer((n: number) => n + 1, 0)
  useEffect(() => {
    const f = () => draw(undefined as never)
    watchers.add(f)
    f()
    return () => { watchers.delete(f) }
  }, [])
  if (!followers) return null
  const { range, span } = read(query)
  const day = (ms: number) => time(iso(ms))
  const text = span && (day(span.from).slice(0, 10) === day(span.to).slice(0, 10) ? `${day(span.from)} – ${day(span.to).slice(11)}` : `${day(span.from)} – ${day(span.to)}`)
  return (
    <select class="range" aria-label="Time range" value={span ? 'span' : range} onChange={(e) => go({ range: e.currentTarget.value === FALLBACK ? undefined : e.currentTarget.value })}>
      {text && <option value="span">{text}</option>}
      {ranges.map(([r, words]) => <option key={r} value={r}>Last {words}</option>)}
    </select>
  )
}
