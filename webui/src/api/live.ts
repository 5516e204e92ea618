/** Polled data, shared by all who look at the same thing, kept while it is refreshed, at rest while the tab is hidden. */
import { useEffect, useReducer } from 'preact/hooks'
import { Problem, get, list } from './client'

export interface Live<T> {
  data: T | undefined
  problem: Problem | undefined
  /** When the data came (this machine's clock). */
  at: number
  reload: () => void
}

class Entry {
  data: unknown = undefined
  problem: Problem | undefined
  at = 0
  interval = Infinity
  readonly watchers = new Map<() => void, number>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private running = false
  private again = false

  constructor(private readonly fetch: () => Promise<unknown>) {}

  watch(f: () => void, interval: number) {
    this.watchers.set(f, interval)
    this.interval = Math.min(...this.watchers.values())
    const due = this.at + this.interval - Date.now()
    if (due <= 0 || this.data === undefined) this.load()
    else this.schedule(due)
  }

  leave(f: () => void) {
    this.watchers.delete(f)
    this.interval = Math.min(...this.watchers.values())
    if (!this.watchers.size) clearTimeout(this.timer)
  }

  private schedule(ms: number) {
    clearTimeout(this.timer)
    if (Number.isFinite(ms)) this.timer = setTimeout(() => this.load(), Math.max(0, ms))
  }

  load = async () => {
    if (this.running) {
      this.again = true
      return
    }
    if (document.hidden && this.data !== undefined) return
    this.running = true
    clearTimeout(this.timer)
    try {
      this.data = await this.fetch()
      this.at = Date.now()
      this.problem = undefined
    } catch (e) {
      this.problem = e instanceof Problem ? e : new Problem({ type: '', title: 'The console failed', status: 598, detail: String(e), field: null, request_id: '' })
    }
    this.running = false
    for (const f of this.watchers.keys()) f()
    status.changed()
    if (this.again) {
      this.again = false
      this.load()
    } else if (this.watchers.size) {
      this.schedule(this.problem ? Math.min(this.interval, 5000) : this.interval)
    }
  }
}

const entries = new Map<string, Entry>()

document.addEventListener('visibilitychange', () => {
  if (document.hidden) return
  for (const e of entries.values()) if (e.watchers.size && Date.now() - e.at >= e.interval) e.load()
})

/** How fresh the page is: the oldest of what it polls often; what is asked once in a while says nothing about now. */
export const status = {
  watchers: new Set<() => void>(),
  changed() {
    for (const f of this.watchers) f()
  },
  read() {
    const polled = [...entries.values()].filter((e) => e.watchers.size && Number.isFinite(e.interval))
    const often = 2 * Math.min(...polled.map((e) => e.interval))
    const used = polled.filter((e) => e.interval <= often)
    const lost = polled.find((e) => e.problem && e.problem.body.status >= 500)
    return {
      at: used.reduce((oldest, e) => (e.at ? Math.min(oldest, e.at) : oldest), used.length ? Infinity : 0),
      interval: used.reduce((slowest, e) => Math.max(slowest, e.interval), 0),
      lost: lost?.problem,
    }
  },
}

/** Everything is read anew, after a write: once the page that it leads to is drawn, so that nobody asks for what was deleted. */
export function refresh() {
  setTimeout(() => {
    for (const e of entries.values()) {
      e.at = 0
      if (e.watchers.size) e.load()
    }
  })
}

export function forget() {
  entries.clear()
}

function useLive<T>(key: string | null, fetch: () => Promise<T>, interval: number): Live<T> {
  const [, draw] = useReducer((n: number) => n + 1, 0)
  let entry = key === null ? undefined : entries.get(key)
  if (key !== null && !entry) {
    entry = new Entry(fetch)
    entries.set(key, entry)
  }
  useEffect(() => {
    if (!entry) return
    const watcher = () => draw(undefined as never)
    entry.watch(watcher, interval)
    return () => entry.leave(watcher)
  }, [key, interval])
  return {
    data: entry?.data as T | undefined,
    problem: entry?.problem,
    at: entry?.at ?? 0,
    reload: () => { entry?.load() },
  }
}

/** `path` null: nothing is asked. `interval` Infinity: once. */
export const useGet = <T>(path: string | null, interval = 5000) => useLive<T>(path, () => get<T>(path!), interval)
export const useList = <T>(path: string | null, interval = 5000) => useLive<T[]>(path && `list ${path}`, () => list<T>(path!), interval)
