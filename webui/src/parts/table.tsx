import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Problem } from '../api/client'
import { useQuery } from '../shell/location'
import { ProblemBox } from './messages'

export interface Column<T> {
  id: string
  title: string
  /** For sorting, and for the filter unless `text` is there. */
  value: (row: T) => string | number | null | undefined
  text?: (row: T) => string
  show?: (row: T) => ComponentChildren
  num?: boolean
  clip?: boolean
  width?: string
}

interface Props<T> {
  name: string
  rows: T[] | undefined
  columns: Column<T>[]
  rowKey: (row: T) => string
  problem?: Problem | undefined
  empty: ComponentChildren
  /** Column id, with a minus in front for the largest first. */
  sort: string
  /** Prefix of its names in the query, where a page has several tables. */
  prefix?: string
  tools?: ComponentChildren
  /** Cells of a last row that no filter or sorting touches. */
  foot?: ComponentChildren
}

const FIRST = 200

/** Every word must be there: `field:value` in that column, other words in any. */
function matches<T>(row: T, columns: Column<T>[], filter: string): boolean {
  const text = (c: Column<T>) => String(c.text ? c.text(row) : c.value(row) ?? '').toLowerCase()
  return filter.toLowerCase().split(/\s+/).filter(Boolean).every((word) => {
    const colon = word.indexOf(':')
    const column = colon > 0 ? columns.find((c) => c.id === word.slice(0, colon) || c.title.toLowerCase() === word.slice(0, colon)) : undefined
    return column ? text(column).includes(word.slice(colon + 1)) : columns.some((c) => text(c).includes(word))
  })
}

const Arrow = ({ down }: { down: boolean }) => <span class="arrow" aria-hidden="true">{down ? '↓' : '↑'}</span>

function compare(a: string | number | null | undefined, b: string | number | null | undefined): number {
  if (a == null || b == null) return (a == null ? 1 : 0) - (b == null ? 1 : 0)
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true })
}

export function Table<T>({ name, rows, columns, rowKey, problem, empty, sort, prefix = '', tools, foot }: Props<T>) {
  const [filter, setFilter] = useQuery(prefix + 'q')
  const [by, setBy] = useQuery(prefix + 'sort', sort)
  const [all, setAll] = useState(false)

  if (!rows && problem) return <div class="card"><div class="body"><ProblemBox problem={problem} /></div></div>
  if (rows && !rows.length) return <div class="card">{empty}</div>

  const down = by.startsWith('-')
  const column = columns.find((c) => c.id === by.replace('-', '')) ?? columns[0]!
  const found = (rows ?? []).filter((r) => matches(r, columns, filter))
    .sort((a, b) => {
      const x = column.value(a)
      const y = column.value(b)
      const order = compare(x, y)
      return (x == null || y == null || !down ? order : -order) || rowKey(a).localeCompare(rowKey(b))
    })
  const shown = all ? found : found.slice(0, FIRST)

  return (
    <div class="card">
      <div class="table-tools">
        <input type="search" value={filter} placeholder={prefix ? 'Filter' : 'Filter: text or field:value'} aria-label={`Filter ${name}`}
          onInput={(e) => setFilter(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === 'Escape') setFilter('') }} />
        {tools}
        <span class="count" role="status">{rows ? (filter ? `${found.length} of ${rows.length}` : rows.length) : ''}</span>
      </div>
      <div class="table-scroll tall" tabIndex={-1}>
        <table aria-label={name} aria-busy={!rows}>
          <thead>
            <tr>
              {columns.map((c) => {
                const on = c === column
                return (
                  <th key={c.id} scope="col" class={c.num ? 'num' : ''} aria-sort={on ? (down ? 'descending' : 'ascending') : undefined} style={c.width ? { width: c.width } : undefined}>
                    {!c.title ? <span class="visually-hidden">Actions</span> : <button type="button" onClick={() => setBy(on && !down ? '-' + c.id : c.id)}>{on && c.num && <Arrow down={down} />}{c.title}{on && !c.num && <Arrow down={down} />}</button>}
                  </th>
                )
              })}
            </tr>
          </thead>
          <tbody>
            {!rows && [0, 1, 2, 3].map((i) => <tr key={i} class="skeleton">{columns.map((c) => <td key={c.id}><span /></td>)}</tr>)}
            {shown.map((r) => (
              <tr key={rowKey(r)}>
                {columns.map((c) => <td key={c.id} class={`${c.num ? 'num' : ''} ${c.clip ? 'clip' : ''}`} title={c.clip ? String(c.text ? c.text(r) : c.value(r) ?? '') : undefined}>{c.show ? c.show(r) : c.value(r) ?? '–'}</td>)}
              </tr>
            ))}
            {rows && !found.length && <tr><td colSpan={columns.length} class="muted">Nothing matches “{filter}”. <button type="button" class="quiet small" onClick={() => setFilter('')}>Clear the filter</button></td></tr>}
          </tbody>
          {foot && <tfoot><tr>{foot}</tr></tfoot>}
        </table>
      </div>
      {found.length > shown.length && <div class="table-tools"><button type="button" onClick={() => setAll(true)}>Show all {found.length}</button></div>}
    </div>
  )
}
