import { useEffect, useState } from 'preact/hooks'
import { may, post } from '../../api/client'
import { ms, percent, time } from '../../api/format'
import { useGet, useList } from '../../api/live'
import type { Gateway, Operation, PingResult, TcpConnectResult, TracePathResult } from '../../api/types'
import { Age } from '../../parts/age'
import { useSubmit } from '../../parts/form'
import { Card, Facts, PageHead, ProblemBox } from '../../parts/messages'
import { State } from '../../parts/state'
import { Table } from '../../parts/table'
import type { PageProps } from '..'
import { Staircase } from './staircase'

const looks: Record<string, string> = { succeeded: 'up', failed: 'down', running: 'pending', queued: 'pending', cancelled: 'disabled', expired: 'unknown' }
export const OperationState = ({ state }: { state: string }) => <State state={looks[state] ?? 'unknown'} text={state} />

export const kinds: Record<string, string> = { 'trace-path': 'Trace path', ping: 'Ping', 'tcp-connect': 'TCP connect' }
export const over = (o: Operation) => !['queued', 'running'].includes(o.state)

export function target(o: Operation, gateways: Map<string, Gateway>): string {
  const r = o.request as { target_gateway_id?: string | null; target_address?: unknown; port?: number }
  const to = r.target_gateway_id ? gateways.get(r.target_gateway_id)?.name ?? r.target_gateway_id : String(r.target_address ?? '')
  return o.kind === 'tcp-connect' ? `${to} port ${r.port}` : to
}

function Trace({ title, trace, verdict }: { title: string; trace: TracePathResult['outward']; verdict: string }) {
  return (
    <Card title={title} extra={<span class="muted">{String(trace.source_address)} to {String(trace.destination_address)}, {trace.protocol.toUpperCase()}, path MTU {trace.path_mtu ?? 'not known'}{trace.reached ? '' : ', not reached'}</span>}>
      <div class="stack">
        {trace.verdict !== verdict && <p>{trace.verdict}</p>}
        <Staircase trace={trace} />
        <details>
          <summary>Hops as a table</summary>
          <table aria-label={`hops ${title}`}>
            <thead><tr><th class="num">Hop</th><th>Address</th><th>Gateway</th><th class="num">MTU</th><th>MTU from</th><th class="num">RTT ms</th><th class="num">Answered</th><th>Note</th></tr></thead>
            <tbody>{trace.hops.map((h) => (
              <tr key={h.hop}><td class="num">{h.hop}</td><td class="mono">{h.addresses.map(String).join(', ') || '–'}</td><td>{h.name ?? ''}</td><td class="num">{h.mtu ?? '–'}</td><td>{h.mtu_source ?? ''}</td>
                <td class="num">{h.rtt_ms.avg?.toFixed(2) ?? '–'}</td><td class="num">{h.answered} of {h.sent}</td><td>{h.note ?? ''}</td></tr>
            ))}</tbody>
          </table>
        </details>
      </div>
    </Card>
  )
}

function Ping({ result }: { result: PingResult }) {
  return (
    <>
      <Card><Facts rows={[
        ['From, to', <span class="mono">{String(result.source_address)} – {String(result.destination_address)}</span>],
        ['Answered', `${result.received} of ${result.sent}, loss ${percent(result.loss_ratio)}`],
        ['RTT', `${ms(result.rtt_ms.avg)} on average, ${ms(result.rtt_ms.min)} to ${ms(result.rtt_ms.max)}, deviation ${ms(result.stddev_ms)}`],
      ]} /></Card>
      <Table prefix="r-" name="replies" rows={result.replies} rowKey={(r) => String(r.sequence).padStart(3, '0')} sort="sequence" empty={null} columns={[
        { id: 'sequence', title: 'Probe', num: true, value: (r) => r.sequence },
        { id: 'rtt', title: 'RTT ms', num: true, value: (r) => r.rtt_ms, show: (r) => r.rtt_ms?.toFixed(2) ?? 'lost' },
        { id: 'ttl', title: 'TTL', num: true, value: (r) => r.ttl },
        { id: 'from', title: 'From', value: (r) => (r.from ? String(r.from) : '') },
        { id: 'error', title: 'Error', value: (r) => r.error ?? '' },
      ]} />
    </>
  )
}

function Tcp({ result }: { result: TcpConnectResult }) {
  return (
    <Table prefix="r-" name="attempts" rows={result.attempts.map((a, i) => ({ ...a, n: i + 1 }))} rowKey={(a) => String(a.n)} sort="n" empty={null} columns={[
      { id: 'n', title: 'Attempt', num: true, value: (a) => a.n },
      { id: 'outcome', title: 'Outcome', value: (a) => a.outcome },
      { id: 'took', title: 'Took ms', num: true, value: (a) => a.duration_ms, show: (a) => a.duration_ms.toFixed(2) },
      { id: 'error', title: 'Error', value: (a) => a.error ?? '' },
    ]} />
  )
}

function Result({ o }: { o: Operation }) {
  if (!o.result) return null
  if (o.kind === 'ping') return <Ping result={o.result as PingResult} />
  if (o.kind === 'tcp-connect') return <Tcp result={o.result as TcpConnectResult} />
  const r = o.result as TracePathResult
  return <>{r.outward && <Trace title="Outward" trace={r.outward} verdict={r.verdict} />}{r.back && <Trace title="Back" trace={r.back} verdict={r.verdict} />}</>
}

export function OperationPage({ id }: PageProps) {
  const [done, setDone] = useState(false)
  const live = useGet<Operation>(`/api/v1/operations/${id}`, done ? Infinity : 1000)
  const ended = !!live.data && over(live.data)
  useEffect(() => { if (ended) setDone(true) }, [ended])
  const gateways = useList<Gateway>('/api/v1/gateways', 30_000)
  const cancel = useSubmit()
  const o = live.data
  if (!o) return <ProblemBox problem={live.problem} />
  const byId = new Map((gateways.data ?? []).map((g) => [g.id, g]))
  return (
    <>
      <PageHead title={`${kinds[o.kind] ?? o.kind} from ${byId.get(o.gateway_id)?.name ?? '…'} to ${target(o, byId)}`} crumb={{ href: '/diagnostics', text: 'Diagnostics' }}>
        <OperationState state={o.state} />
        {!ended && may('POST', `/operations/${id}/cancel`) && <button type="button" disabled={cancel.busy} onClick={() => cancel.run(async () => {
          await post(`/api/v1/operations/${id}/cancel`)
          live.reload()
        })}>Cancel</button>}
      </PageHead>
      <div class="stack">
        <ProblemBox problem={cancel.problem} />
        {o.result && <p class="verdict" role="status">{o.result.verdict}</p>}
        {o.error && <div class="problem" role="alert"><strong>{o.error.code}</strong><span>{o.error.text}</span></div>}
        {!ended && (
          <Card title="Progress">
            <ul class="progress" aria-live="polite">
              {o.progress.steps.map((s) => <li key={s.name}><OperationState state={s.state} /> {s.name} <span class="muted">{s.text}</span></li>)}
              <li class="muted">{o.progress.text || 'waits for the gateway to take it'}{o.progress.total ? `, ${o.progress.done} of ${o.progress.total}` : ''}</li>
            </ul>
          </Card>
        )}
        <Result o={o} />
        <p class="muted">Asked at {time(o.created_at)}{o.finished_at ? <>, over <Age at={o.finished_at} /></> : ''}. Kept for 7 days.</p>
      </div>
    </>
  )
}
