/** The address bar as state: paths are pages, the query holds filters, tabs, sorting. */
import { useEffect, useReducer } from 'preact/hooks'

const watchers = new Set<() => void>()
const changed = () => { for (const f of [...watchers]) f() }
window.addEventListener('popstate', changed)

/** The time range goes along from page to page. */
function carried(to: string): string {
  const target = new URL(to, location.origin)
  const names = ['range', 'since', 'until']
  if (target.pathname === location.pathname || names.some((n) => target.searchParams.has(n))) return to
  const here = new URLSearchParams(location.search)
  for (const name of names) if (here.has(name)) target.searchParams.set(name, here.get(name)!)
  return target.pathname + target.search
}

export function navigate(address: string, replace = false) {
  const to = carried(address)
  if (to === location.pathname + location.search) return
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  if (!replace) window.scrollTo(0, 0)
  changed()
}

/** Links of the console stay in it; others, and those opened in a new tab, are the browser's. */
document.addEventListener('click', (e) => {
  const a = (e.target as Element | null)?.closest?.('a')
  if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.target || a.origin !== location.origin || a.hasAttribute('download')) return
  if (a.pathname.startsWith('/api/') || (a.hash && a.pathname === location.pathname)) return
  e.preventDefault()
  navigate(a.pathname + a.search)
})

export function useLocation() {
  const [, draw] = useReducer((n: number) => n + 1, 0)
  useEffect(() => {
    const f = () => draw(undefined as never)
    watchers.add(f)
    return () => { watchers.delete(f) }
  }, [])
  return { path: location.pathname, query: new URLSearchParams(location.search) }
}

/** One value of the query; the default does not stand in it. */
export function useQuery(name: string, fallback = ''): [string, (v: string, push?: boolean) => void] {
  const { query } = useLocation()
  return [query.get(name) ?? fallback, (v, push = false) => {
    const q = new URLSearchParams(location.search)
    if (v === fallback) q.delete(name)
    else q.set(name, v)
    const text = q.toString()
    navigate(location.pathname + (text ? `?${text}` : ''), !push)
  }]
}
