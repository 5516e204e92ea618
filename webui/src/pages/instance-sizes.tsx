import { useState } from 'preact/hooks'
import { get, serves } from '../api/client'
import { rate } from '../api/format'
import { useList } from '../api/live'
import type { InstanceSize, Recommendation } from '../api/types'
import { Choose, Text, loose, useSubmit } from '../parts/form'
import { Card, Empty, PageHead, ProblemBox } from '../parts/messages'
import { Table } from '../parts/table'
import { providerName, providers } from './sites'

type Figure = InstanceSize['figures'][number]

/** What a size does with encryption on; a figure that is no rate says nothing here. */
const best = (s: InstanceSize) => s.figures.filter((f) => f.throughput_bps != null && f.encryption !== 'none').sort((a, b) => b.throughput_bps! - a.throughput_bps!)[0]

/** For forms that ask for a size; any other text is taken too. */
export function useSizeNames(): string[] {
  const sizes = useList<InstanceSize>(serves('/instance-sizes') ? '/api/v1/instance-sizes' : null, Infinity)
  return [...new Set((sizes.data ?? []).map((s) => s.size))].sort()
}

const gib = (b: number | null) => (b == null ? null : Math.round(b / 2 ** 30))

function figure(f: Figure): string {
  return [`${f.value} ${f.unit}`, f.mtu ? `MTU ${f.mtu}` : '', f.tcp_streams ? `${f.tcp_streams} streams` : '', f.encryption ?? '', f.role ?? ''].filter(Boolean).join(', ')
}

function Recommend() {
  const [gbps, setGbps] = useState('10')
  const [mtu, setMtu] = useState('1500')
  const [provider, setProvider] = useState('')
  const [answer, setAnswer] = useState<Recommendation>()
  const submit = useSubmit()
  return (
    <Card title="What size?">
      <form class="stack" onSubmit={(e) => {
        e.preventDefault()
        submit.run(async () => setAnswer(await get<Recommendation>(`/api/v1/instance-sizes/recommend?gbps=${encodeURIComponent(gbps)}&mtu=${encodeURIComponent(mtu)}${provider ? `&provider=${provider}` : ''}`)))
      }}>
        <div class="fields">
          <Text label="Goodput, Gbit/s" name="gbps" value={gbps} set={setGbps} problem={submit.problem} help="That the site shall reach" />
          <Text label="MTU" name="mtu" type="number" value={mtu} set={setMtu} problem={submit.problem} help="Of the underlay" />
          <Choose label="Provider" name="provider" value={provider} set={setProvider} problem={submit.problem} options={[{ value: '', text: 'any' }, ...providers.map((p) => ({ value: p.value, text: p.text }))]} help="Or all of them" />
        </div>
        <ProblemBox problem={loose(submit.problem, ['gbps', 'mtu', 'provider'])} />
        <div class="actions"><button class="primary" disabled={submit.busy}>Ask</button></div>
      </form>
      {answer && (
        <div class="stack-s" style={{ marginTop: '16px' }} role="status">
          <p>{answer.explanation}</p>
          {answer.items.length > 0 && (
            <table aria-label="recommended sizes">
              <thead><tr><th>Size</th><th>Provider</th><th class="num">Gateways</th><th class="num">vCPUs each</th><th class="num">Expected</th><th>Why</th></tr></thead>
              <tbody>{answer.items.map((i) => (
                <tr key={`${i.provider} ${i.size}`}><td>{i.size}</td><td>{providerName(i.provider)}</td><td class="num">{i.gateways}</td><td class="num">{i.vcpus ?? '–'}</td><td class="num">{rate(i.expected_bps)}</td><td>{i.reason}</td></tr>
              ))}</tbody>
            </table>
          )}
        </div>
      )}
    </Card>
  )
}

function Figures({ size, close }: { size: InstanceSize; close: () => void }) {
  return (
    <Card title={`Figures of ${size.size}, as their sources print them`} extra={<button type="button" class="small" onClick={close}>Close</button>} pad={false}>
      <div class="table-scroll">
        <table aria-label={`figures of ${size.size}`}>
          <thead><tr><th>Figure</th><th>Of</th><th>Origin</th><th>Source</th><th>Note</th></tr></thead>
          <tbody>{size.figures.map((f) => <tr key={f.id}><td class="nowrap">{figure(f)}</td><td>{f.metric}</td><td>{f.origin}</td><td>{f.source}</td><td>{f.note ?? f.method ?? ''}</td></tr>)}</tbody>
        </table>
      </div>
    </Card>
  )
}

export function InstanceSizesPage() {
  const sizes = useList<InstanceSize>('/api/v1/instance-sizes', 300_000)
  const [open, setOpen] = useState<string>()
  const shown = sizes.data?.find((s) => s.id === open)
  return (
    <>
      <PageHead title="Instance sizes" />
      <div class="stack">
        <Recommend />
        {shown && <Figures size={shown} close={() => setOpen(undefined)} />}
        <Table name="instance sizes" rows={sizes.data} problem={sizes.problem} rowKey={(s) => `${s.provider} ${s.size}`} sort="provider"
          columns={[
            { id: 'provider', title: 'Provider', value: (s) => providerName(s.provider) },
            { id: 'size', title: 'Size', value: (s) => s.size },
            { id: 'vcpus', title: 'vCPUs', num: true, value: (s) => s.vcpus },
            { id: 'memory', title: 'Memory GiB', num: true, value: (s) => gib(s.memory_bytes) },
            { id: 'nic', title: 'NIC Gbit/s', num: true, value: (s) => (s.nic_bps == null ? null : s.nic_bps / 1e9) },
            { id: 'best', title: 'Highest figure, encrypted', num: true, value: (s) => best(s)?.throughput_bps, show: (s) => { const b = best(s); return b ? <span title={`${figure(b)}; ${b.source}`}>{rate(b.throughput_bps)}{b.mtu ? <span class="muted"> at MTU {b.mtu}</span> : ''}</span> : '–' } },
            { id: 'tunnels', title: 'Tunnels', num: true, value: (s) => s.tunnels },
            { id: 'figures', title: 'Figures', num: true, value: (s) => s.figures.length, show: (s) => s.figures.length ? <button type="button" class="quiet small" aria-label={`${s.figures.length} figures of ${s.size}`} onClick={() => setOpen(s.id)}>{s.figures.length}</button> : 0 },
          ]}
          empty={<Empty title="No size known" />} />
      </div>
    </>
  )
}
