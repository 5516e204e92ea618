import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { list, serves } from '../api/client'
import type { Connection, Gateway, Ruleset, Site } from '../api/types'
import { navigate } from './location'

interface Hit { href: string; name: string; kind: string; more: string }

const MOST = 8

/** Read when somebody begins to search; a network of thousands is one request a kind. */
async function everything(): Promise<Hit[]> {
  const [sites, gateways, connections, rulesets] = await Promise.all([
    list<Site>('/api/v1/sites'), list<Gateway>('/api/v1/gateways'), list<Connection>('/api/v1/connections'), serves('/rulesets') ? list<Ruleset>('/api/v1/rulesets') : [],
  ])
  return [
    ...gateways.map((g) => ({ href: `/gateways/${g.id}`, name: g.name, kind: 'gateway', more: g.endpoints.map((e) => String(e.address)).join(' ') })),
    ...sites.map((s) => ({ href: `/sites/${s.id}`, name: s.name, kind: 'site', more: s.cidrs.join(' ') })),
    ...connections.map((c) => ({ href: `/connections/${c.id}`, name: c.name, kind: 'connection', more: '' })),
    ...rulesets.map((r) => ({ href: `/firewall/${r.id}`, name: r.name, kind: 'ruleset', more: r.description ?? '' })),
  ]
}

/** Names, addresses and prefixes of everything; "/" goes there from anywhere. */
export function Search() {
  const [text, setText] = useState('')
  const [all, setAll] = useState<Hit[]>([])
  const [at, setAt] = useState(0)
  const [open, setOpen] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const hits = words.length ? all.filter((h) => words.every((w) => `${h.name} ${h.kind} ${h.more}`.toLowerCase().includes(w))).slice(0, MOST) : []

  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key !== '/' || e.ctrlKey || e.metaKey || (e.target as Element).closest('input, textarea, select')) return
      e.preventDefault()
      input.current?.focus()
    }
    document.addEventListener('keydown', key)
    return () => document.removeEventListener('keydown', key)
  }, [])

  const go = (h: Hit | undefined) => {
    if (!h) return
    navigate(h.href)
    setText('')
    setOpen(false)
    input.current?.blur()
  }
  const shown = open && words.length > 0
  return (
    <div class="search" role="search">
      <input ref={input} type="text" value={text} placeholder="Search  /" aria-label="Search sites, gateways, connections, rulesets" autocomplete="off" spellcheck={false}
        role="combobox" aria-expanded={shown} aria-controls={id} aria-activedescendant={shown && hits.length ? `${id}-${at}` : undefined}
        onFocus={() => {
          setOpen(true)
          everything().then(setAll).catch(() => {})
        }}
        onBlur={() => setOpen(false)}
        onInput={(e) => {
          setText(e.currentTarget.value)
          setAt(0)
          setOpen(true)
        }}
        onKeyDown={(e) => {
          if (e.key === 'Escape') setText('')
          else if (e.key === 'ArrowDown') setAt(Math.min(at + 1, hits.length - 1))
          else if (e.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
          else if (e.key === 'Enter') go(hits[at])
          else return
          e.preventDefault()
        }} />
      <ul id={id} role="listbox" aria-label="Found" hidden={!shown}>
        {hits.map((h, i) => (
          <li key={h.href} id={`${id}-${i}`} role="option" aria-selected={i === at} onMouseDown={(e) => {
            e.preventDefault()
            go(h)
          }}><span>{h.name}</span><span class="muted">{h.kind}</span></li>
        ))}
        {!hits.length && <li class="muted" role="option" aria-selected="false" aria-disabled="true">Nothing found</li>}
      </ul>
    </div>
  )
}
