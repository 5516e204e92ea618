import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { get } from '../api/client'
import { time } from '../api/format'
import { useGet, useList } from '../api/live'
import type { ApiKey, AuditList, AuditRecord } from '../api/types'
import { Age } from '../parts/age'
import { useSubmit } from '../parts/form'
import { Card, Empty, Facts, PageHead, ProblemBox } from '../parts/messages'
import { useQuery } from '../shell/location'

const PAGE = 100

/** Objects that have a page here. */
const places: Record<string, string> = { sites: 'sites', gateways: 'gateways', connections: 'connections', links: 'links', rulesets: 'firewall', operations: 'diagnostics' }

/** Names of what is there now. */
function useNames(): Map<string, string> {
  const lists = [useList<Named>('/api/v1/sites', 60_000), useList<Named>('/api/v1/gateways', 60_000), useList<Named>('/api/v1/connections', 60_000), useList<Named>('/api/v1/rulesets', 60_000)]
  return new Map(lists.flatMap((l) => (l.data ?? []).map((x) => [x.id, x.name])))
}

type Named = { id: string; name: string }

function whoOf(r: AuditRecord, names: Map<string, string>): string {
  return r.actor.name ?? names.get(r.actor.id ?? '') ?? { key: 'a key', gateway: 'a gateway', controller: 'the controller', command: 'a command on the controller', nobody: 'nobody known' }[r.actor.kind]
}

const text = (v: unknown) => (v === undefined ? '–' : v === null ? 'none' : typeof v === 'string' ? v : JSON.stringify(v))

/** What was and what is, member by member. */
function Difference({ r }: { r: AuditRecord }) {
  const members = [...new Set([...Object.keys(r.before ?? {}), ...Object.keys(r.after ?? {})])]
  if (!members.length) return <p class="muted">No member of the object is recorded.</p>
  return (
    <table aria-label="what changed">
      <thead><tr><th>Member</th><th>Before</th><th>After</th></tr></thead>
      <tbody>{members.map((m) => <tr key={m}><td class="mono">{m}</td><td class="long">{text(r.before?.[m])}</td><td class="long">{text(r.after?.[m])}</td></tr>)}</tbody>
    </table>
  )
}

function Detail({ r, what, who, close }: { r: AuditRecord; what: string; who: string; close: () => void }) {
  const place = r.object?.id && places[r.object.type] ? `/${places[r.object.type]}/${r.object.id}` : undefined
  return (
    <Card title={`Record ${r.sequence}: ${r.action} ${what}`} extra={<button type="button" class="small" onClick={close}>Close</button>}>
      <div class="stack">
        <Facts rows={[
          ['When', time(r.time)], ['Who', `${who}${r.actor.role ? `, ${r.actor.role}` : ''}${r.actor.session ? ', in the console' : ''}`],
          ...(r.request ? [['Request', <span class="mono">{r.request.method} {r.request.path}</span>], ['From', <span class="mono">{String(r.request.client)}</span>], ['Request id', <span class="mono">{r.request.id}</span>]] as [string, ComponentChildren][] : []),
          ['Answer', `${r.outcome}${r.status ? ` (${r.status})` : ''}`],
          ...(place ? [['Object', <a href={place}>{what}</a>] as [string, ComponentChildren]] : []),
          ['Hash', <span class="mono">{r.hash}</span>], ['Before it', <span class="mono">{r.previous_hash}</span>],
        ]} />
        <Difference r={r} />
      </div>
    </Card>
  )
}

/** Every write, newest first; older pages are fetched when asked for. */
export function ChangesPage() {
  const [outcome, setOutcome] = useQuery('outcome')
  const [actor, setActor] = useQuery('actor')
  const [object, setObject] = useQuery('object')
  const [kind, setKind] = useQuery('kind')
  const [open, setOpen] = useQuery('record')
  const keys = useList<ApiKey>('/api/v1/api-keys', 60_000)
  const query = new URLSearchParams({ limit: String(PAGE), ...(outcome ? { outcome } : {}), ...(actor ? { actor_id: actor } : {}), ...(object ? { object_id: object } : {}), ...(kind ? { object_type: kind } : {}) })
  const names = useNames()
  const who = (r: AuditRecord) => whoOf(r, names)
  // What is gone has its name in its last record.
  const what = (r: AuditRecord) => String(r.after?.name ?? r.before?.name ?? (r.object?.id ? names.get(r.object.id) ?? r.object.id.slice(0, 8) : ''))
  const first = useGet<AuditList>(`/api/v1/audit?${query}`)
  const [older, setOlder] = useState<{ query: string; items: AuditRecord[]; cursor: string | null }>()
  const more = useSubmit()
  const behind = older?.query === String(query) ? older : undefined
  const seen = new Set<number>()
  const records = [...(first.data?.items ?? []), ...(behind?.items ?? [])].filter((r) => !seen.has(r.sequence) && seen.add(r.sequence))
  const cursor = behind ? behind.cursor : first.data?.next_cursor ?? null
  const shown = records.find((r) => String(r.sequence) === open)
  const filtered = !!(outcome || actor || object || kind)

  const fetchOlder = () => more.run(async () => {
    const page = await get<AuditList>(`/api/v1/audit?${query}&cursor=${encodeURIComponent(cursor!)}`)
    setOlder({ query: String(query), items: [...records, ...page.items], cursor: page.next_cursor })
  })

  return (
    <>
      <PageHead title="Changes" />
      <div class="stack">
        <div class="row wrap">
          <select aria-label="Kind" class="range" value={kind} onChange={(e) => setKind(e.currentTarget.value)}>
            <option value="">Everything</option>
            {['sites', 'gateways', 'connections', 'links', 'rulesets', 'rules', 'address-groups', 'enrolment-tokens', 'api-keys', 'sessions', 'operations'].map((k) => <option key={k} value={k}>{k}</option>)}
          </select>
          <select aria-label="Outcome" class="range" value={outcome} onChange={(e) => setOutcome(e.currentTarget.value)}>
            <option value="">Done and refused</option><option value="done">Done</option><option value="refused">Refused</option>
          </select>
          <select aria-label="By" class="range" value={actor} onChange={(e) => setActor(e.currentTarget.value)}>
            <option value="">By anybody</option>
            {actor && !keys.data?.some((k) => k.id === actor) && <option value={actor}>by {actor.slice(0, 8)}</option>}
            {keys.data?.map((k) => <option key={k.id} value={k.id}>by {k.name}</option>)}
          </select>
          {object && <button type="button" class="small" onClick={() => setObject('')}>Object {object.slice(0, 8)} ×</button>}
          <span class="grow" />
          {first.data && <span class="muted" title={`Newest record's hash: ${first.data.head.hash}. Kept elsewhere, it shows later whether the end of the chain was cut off.`}>{first.data.head.sequence} records, chain head <span class="mono">{first.data.head.hash.slice(0, 12)}…</span></span>}
        </div>
        {shown && <Detail r={shown} what={what(shown)} who={who(shown)} close={() => setOpen('')} />}
        {!first.data && <ProblemBox problem={first.problem} />}
        {first.data && (
          <div class="card">
            {records.length ? (
              <div class="table-scroll">
                <table aria-label="changes">
                  <thead><tr><th>When</th><th>Who</th><th>Did</th><th>To</th><th style={{ width: '36%' }}>What changed</th><th>Answer</th><th class="num">Record</th></tr></thead>
                  <tbody>{records.map((r) => (
                    <tr key={r.sequence}>
                      <td><Age at={r.time} /></td>
                      <td class="nowrap" title={r.request ? `from ${String(r.request.client)}` : undefined}>{who(r)}</td>
                      <td class="nowrap">{r.action}</td>
                      <td>{r.object?.id ? <button type="button" class="quiet small" title="Only what was done to this" aria-label={`Only ${what(r)}`} onClick={() => setObject(r.object!.id!)}>{what(r)}</button> : ''}</td>
                      <td class="clip" title={summary(r)}>{summary(r)}</td>
                      <td class={r.outcome === 'refused' ? 'verdict-deny' : ''}>{r.outcome}{r.outcome === 'refused' && r.status ? ` ${r.status}` : ''}{r.omitted > 0 && <span class="muted"> and {r.omitted} more</span>}</td>
                      <td class="num"><button type="button" class="quiet small" aria-label={`Record ${r.sequence}`} onClick={() => setOpen(String(r.sequence), true)}>{r.sequence}</button></td>
                    </tr>
                  ))}</tbody>
                </table>
              </div>
            ) : <Empty title={filtered ? 'Nothing matches' : 'Nothing was changed yet'}>{filtered ? 'No record fits these filters.' : 'Every write leaves a record here.'}</Empty>}
            {cursor && <div class="table-tools"><button type="button" disabled={more.busy} onClick={fetchOlder}>Older</button></div>}
          </div>
        )}
        <ProblemBox problem={more.problem} />
      </div>
    </>
  )
}

/** Of a change its members in a line; of what was made or deleted nothing, for its name stands beside. */
function summary(r: AuditRecord): string {
  if (!r.before || !r.after) return ''
  return Object.keys(r.after).filter((m) => !['updated_at', 'revision'].includes(m)).map((m) => `${m}: ${text(r.before![m])} → ${text(r.after![m])}`).join(', ')
}
