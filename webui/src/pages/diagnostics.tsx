import { useState } from 'preact/hooks'
import { may, post } from '../api/client'
import { useList } from '../api/live'
import type { Gateway, Operation } from '../api/types'
import { Age } from '../parts/age'
import { Commands } from '../parts/commands'
import { Choose, Text, loose, useSubmit } from '../parts/form'
import { Card, Empty, PageHead, ProblemBox } from '../parts/messages'
import { Table } from '../parts/table'
import { navigate, useQuery } from '../shell/location'
import { OperationState, kinds, target } from './diagnostics/operation'

const fields = ['gateway_id', 'target_gateway_id', 'target_address', 'network', 'family', 'protocol', 'port', 'count', 'size_bytes']

function Ask({ gateways }: { gateways: Gateway[] }) {
  const there = Object.keys(kinds).filter((k) => may('POST', `/diagnostics/${k}`))
  const [kind, setKind] = useQuery('kind', there[0])
  const [from, setFrom] = useQuery('from')
  const [to, setTo] = useQuery('to')
  const [address, setAddress] = useState('')
  const [network, setNetwork] = useState('underlay')
  const [family, setFamily] = useState('')
  const [protocol, setProtocol] = useState('udp')
  const [port, setPort] = useState('443')
  const [count, setCount] = useState('5')
  const [size, setSize] = useState('84')
  const submit = useSubmit()
  const problem = submit.problem
  const gateway = gateways.some((g) => g.id === from) ? from : gateways[0]!.id
  const others = gateways.filter((g) => g.id !== gateway)
  const peer = to === 'address' ? '' : others.some((g) => g.id === to) ? to : others[0]?.id ?? ''
  const body = {
    gateway_id: gateway, ...(peer ? { target_gateway_id: peer } : { target_address: address.trim() }), network, family: family ? Number(family) : null,
    ...(kind === 'trace-path' ? { protocol } : {}), ...(kind === 'tcp-connect' ? { port: Number(port) } : {}), ...(kind === 'ping' ? { count: Number(count), size_bytes: Number(size) } : {}),
  }
  const path = `/api/v1/diagnostics/${kind}`
  return (
    <Card title="Ask a gateway">
      <form class="stack" onSubmit={(e) => {
        e.preventDefault()
        submit.run(async () => {
          const o = await post<Operation>(path, body)
          navigate(`/diagnostics/${o.id}`)
        })
      }}>
        <div class="seg" role="group" aria-label="What to ask">{there.map((k) => <button key={k} type="button" aria-pressed={k === kind} onClick={() => setKind(k)}>{kinds[k]}</button>)}</div>
        <div class="fields">
          <Choose label="From" name="gateway_id" value={gateway} set={setFrom} problem={problem} options={gateways.map((g) => ({ value: g.id, text: g.name }))} help="The gateway that sends the probes" />
          <Choose label="To" name="target_gateway_id" value={peer || 'address'} set={setTo} problem={problem} options={[...others.map((g) => ({ value: g.id, text: g.name })), { value: 'address', text: 'an address' }]} help="Another gateway, or any address" />
          {!peer && <Text label="Address" name="target_address" value={address} set={setAddress} problem={problem} required placeholder="10.2.1.10" help="IPv4 or IPv6" />}
          <Choose label="Network" name="network" value={network} set={setNetwork} problem={problem} options={[{ value: 'underlay', text: 'underlay: outside of every tunnel' }, { value: 'overlay', text: 'overlay: through the tunnels' }]} help="Which way the probes take" />
          <Choose label="IP version" name="family" value={family} set={setFamily} problem={problem} options={[{ value: '', text: 'auto' }, { value: '4', text: 'IPv4' }, { value: '6', text: 'IPv6' }]} help="auto: of the address, or the first that both have" />
          {kind === 'trace-path' && <Choose label="Probes" name="protocol" value={protocol} set={setProtocol} problem={problem} options={[{ value: 'udp', text: 'UDP' }, { value: 'icmp', text: 'ICMP echo' }]} help="Some networks answer only one of them" />}
          {kind === 'tcp-connect' && <Text label="Port" name="port" type="number" value={port} set={setPort} problem={problem} help="Closed as soon as it stands; no byte is sent" />}
          {kind === 'ping' && <Text label="Probes" name="count" type="number" value={count} set={setCount} problem={problem} help="1 to 100, one a second" />}
          {kind === 'ping' && <Text label="Size" name="size_bytes" type="number" value={size} set={setSize} problem={problem} help="Of the whole IP packet, in bytes" />}
        </div>
        <ProblemBox problem={loose(problem, fields)} />
        <div class="actions"><button class="primary" disabled={submit.busy}>{kinds[kind]}</button></div>
        <Commands writes={[{ method: 'POST', path, body }]} />
      </form>
    </Card>
  )
}

export function DiagnosticsPage() {
  const gateways = useList<Gateway>('/api/v1/gateways', 15_000)
  const operations = useList<Operation>('/api/v1/operations')
  const byId = new Map((gateways.data ?? []).map((g) => [g.id, g]))
  const enrolled = gateways.data?.filter((g) => g.state === 'enrolled')
  if (enrolled && !enrolled.length) {
    return <><PageHead title="Diagnostics" /><div class="card"><Empty title="No gateway to ask yet" action={{ href: '/enrolment', text: 'Make an enrolment token' }}>Gateways trace paths, ping and try connections themselves, from where they are.</Empty></div></>
  }
  return (
    <>
      <PageHead title="Diagnostics" />
      <div class="stack">
        {enrolled && Object.keys(kinds).some((k) => may('POST', `/diagnostics/${k}`)) && <Ask gateways={enrolled} />}
        <h2>Asked before</h2>
        <Table prefix="o-" name="operations" rows={operations.data} problem={operations.problem} rowKey={(o) => o.id} sort="-asked"
          columns={[
            { id: 'kind', title: 'What', value: (o) => kinds[o.kind] ?? o.kind, show: (o) => <a href={`/diagnostics/${o.id}`}>{kinds[o.kind] ?? o.kind}</a> },
            { id: 'state', title: 'State', value: (o) => o.state, show: (o) => <OperationState state={o.state} /> },
            { id: 'from', title: 'From', value: (o) => byId.get(o.gateway_id)?.name ?? '' },
            { id: 'to', title: 'To', value: (o) => target(o, byId) },
            { id: 'text', title: 'Said', clip: true, width: '36%', value: (o) => o.error?.text ?? o.progress.text },
            { id: 'asked', title: 'Asked', num: true, value: (o) => Date.parse(o.created_at), show: (o) => <Age at={o.created_at} /> },
          ]}
          empty={<Empty title="Nothing asked yet">Answers are kept for 7 days.</Empty>} />
      </div>
    </>
  )
}
