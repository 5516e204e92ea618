import { useState } from 'preact/hooks'
import { del, may } from '../api/client'
import { refresh, useList } from '../api/live'
import type { ApiKey, ApiKeyCreated, Role } from '../api/types'
import { Age, Until } from '../parts/age'
import { Confirm } from '../parts/confirm'
import { Choose, Text } from '../parts/form'
import { Card, Copy, Empty, PageHead } from '../parts/messages'
import { State } from '../parts/state'
import { Table } from '../parts/table'
import { WriteForm } from '../parts/write-form'
import { whoIsHere } from '../shell/me'

const PATH = '/api/v1/api-keys'
const does: Record<Role, string> = {
  viewer: 'viewer: reads everything but keys and changes',
  operator: 'operator: also writes sites, gateways, connections, rules, tokens, and asks gateways',
  admin: 'admin: also keys, changes, and permissions to go without encryption',
}
const lives = ['1', '7', '30', '90', '180', '400']

function NewKey({ made, close }: { made: (k: ApiKeyCreated) => void; close: () => void }) {
  return (
    <WriteForm<Record<string, string>, ApiKeyCreated> title="New API key" start={{ name: '', role: 'viewer', expires_in_days: '90' }} method="POST" path={PATH} action="Make the key" cancel={close} done={made}
      body={(f) => ({ name: f.name!.trim(), role: f.role, expires_in_days: Number(f.expires_in_days) })}>
      {(of) => (
        <>
          <Text {...of('name')} label="Name" required placeholder="monitoring" help="Who or what uses it: it stands beside every change made with it" />
          <Choose {...of('role')} label="Role" options={Object.entries(does).map(([value, text]) => ({ value, text }))} help="The least that does the job" />
          <Choose {...of('expires_in_days')} label="Ends" options={lives.map((d) => ({ value: d, text: `in ${d} ${d === '1' ? 'day' : 'days'}` }))} help="It is refused afterwards; make its successor before" />
        </>
      )}
    </WriteForm>
  )
}

/** The only sight of a key. */
function Made({ made, close }: { made: ApiKeyCreated; close: () => void }) {
  return (
    <Card title={`Key ${made.name}`} extra={<button type="button" class="small" onClick={close}>I have kept it</button>}>
      {made.key ? (
        <div class="stack-s" role="status">
          <p>This is shown once; the controller keeps only its hash. Put it into a file that only its user reads, never on a command line.</p>
          <Copy label={`key ${made.name}`} text={made.key} />
          <p class="muted">hawserctl: <code>token_file</code> in its settings or <code>HAWSER_TOKEN_FILE</code>. HTTP: <code>Authorization: Bearer</code>. Here: the sign-in page.</p>
        </div>
      ) : <p>This key was shown before and is not shown again. Revoke it and make another one.</p>}
    </Card>
  )
}

const state = { valid: 'up', expiring: 'degraded', expired: 'down' } as const

export function SettingsPage() {
  const keys = useList<ApiKey>(PATH, 30_000)
  const [asking, ask] = useState(false)
  const [made, setMade] = useState<ApiKeyCreated>()
  const [removing, setRemoving] = useState<ApiKey>()
  const mine = whoIsHere()?.token_prefix
  return (
    <>
      <PageHead title="Settings">{!asking && !made && may('POST', PATH) && <button type="button" class="primary" onClick={() => ask(true)}>New API key</button>}</PageHead>
      <div class="stack">
        {made && <Made made={made} close={() => setMade(undefined)} />}
        {asking && <NewKey close={() => ask(false)} made={(k) => {
          setMade(k)
          ask(false)
        }} />}
        <h2>API keys</h2>
        <Table name="API keys" rows={keys.data} problem={keys.problem} rowKey={(k) => k.id} sort="name"
          columns={[
            { id: 'name', title: 'Key', value: (k) => k.name, show: (k) => <>{k.name}{k.prefix === mine && <> <span class="chip">yours</span></>}</> },
            { id: 'prefix', title: 'Begins with', value: (k) => k.prefix, show: (k) => <span class="mono">{k.prefix}…</span> },
            { id: 'role', title: 'Role', value: (k) => k.role },
            { id: 'state', title: 'State', value: (k) => k.state, show: (k) => <State state={state[k.state]} text={k.state} /> },
            { id: 'used', title: 'Last used', num: true, value: (k) => (k.last_used_at ? Date.parse(k.last_used_at) : null), text: (k) => k.last_used_at ?? 'never', show: (k) => <Age at={k.last_used_at} /> },
            { id: 'ends', title: 'Ends', num: true, value: (k) => (k.expires_at ? Date.parse(k.expires_at) : null), text: (k) => k.expires_at ?? 'never', show: (k) => (k.expires_at ? <Until at={k.expires_at} /> : <span class="muted">never</span>) },
            { id: 'by', title: 'Made by', value: (k) => k.created_by ?? 'bootstrap' },
            { id: 'made', title: 'Made', num: true, value: (k) => Date.parse(k.created_at), show: (k) => <Age at={k.created_at} /> },
            ...(may('DELETE', `${PATH}/${'0'.repeat(36)}`) ? [{ id: 'do', title: '', num: true, value: () => '', show: (k: ApiKey) => <button type="button" class="quiet small" aria-label={`Revoke ${k.name}`} onClick={() => setRemoving(k)}>Revoke</button> }] : []),
          ]}
          empty={<Empty title="No key yet" />} />
      </div>
      {removing && <Confirm title={`Revoke the key ${removing.name}?`} action="Revoke" close={() => setRemoving(undefined)} writes={[{ method: 'DELETE', path: `${PATH}/${removing.id}` }]}
        text={<>It is refused at once, with every session that was begun with it.{removing.prefix === mine && <strong> It is the key that you are signed in with: you will be signed out.</strong>}</>}
        run={async () => {
          await del(`${PATH}/${removing.id}`)
          refresh()
        }} />}
    </>
  )
}
