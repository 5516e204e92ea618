import { useState } from 'preact/hooks'
import { del, may, now, serves, type Problem } from '../../api/client'
import type { ConnectionView } from '../../api/fleet'
import { age, time } from '../../api/format'
import { refresh, useGet } from '../../api/live'
import type { EncryptionPolicy, PolicyCondition } from '../../api/types'
import { Until } from '../../parts/age'
import { Confirm } from '../../parts/confirm'
import { Choose, Text } from '../../parts/form'
import { Card, Facts, ProblemBox } from '../../parts/messages'
import { weakText } from '../../parts/weak'
import { WriteForm } from '../../parts/write-form'

/** What must be done on purpose before encryption may go; where it is done. */
function Conditions({ conditions, view }: { conditions: PolicyCondition[]; view: ConnectionView }) {
  const where = (code: string) => (code === 'site-a-trusted' ? view.a : code === 'site-b-trusted' ? view.b : undefined)
  return (
    <ul class="conditions" aria-label="conditions">
      {conditions.map((c) => (
        <li key={c.code} class={c.met ? 'met' : 'unmet'}>
          <span class="mark">{c.met ? '✓ met' : '✕ not met'}</span> {c.detail}
          {!c.met && where(c.code) && <> – <a href={`/sites/${where(c.code)!.id}`}>change {where(c.code)!.name}</a></>}
          {!c.met && c.code === 'path-resiliency' && <> – Change, “Path resiliency”</>}
        </li>
      ))}
    </ul>
  )
}

const Alternatives = ({ list }: { list: string[] }) => (list.length ? <div><strong>Faster and still encrypted</strong><ul class="plan-links">{list.map((t) => <li key={t}>{t}</li>)}</ul></div> : null)

/** 409: every condition that is not met, and what would be better. */
function Refused({ problem, view }: { problem: Problem; view: ConnectionView }) {
  const { conditions, alternatives } = problem.body as unknown as Partial<EncryptionPolicy>
  if (!conditions) return <ProblemBox problem={problem} />
  return (
    <div class="problem" role="alert">
      <strong>{problem.body.title}</strong>
      <span>{problem.body.detail}</span>
      <Conditions conditions={conditions} view={view} />
      <Alternatives list={alternatives ?? []} />
      <span class="id">Request {problem.body.request_id}</span>
    </div>
  )
}

const HOUR = 3600
const lives = [HOUR, 8 * HOUR, 24 * HOUR, 7 * 24 * HOUR, 30 * 24 * HOUR, 90 * 24 * HOUR]
const endsAt = (seconds: string) => new Date(Math.floor(now() / 60_000) * 60_000 + Number(seconds) * 1000).toISOString().replace('.000Z', 'Z')

function PermissionForm({ path, view, policy, close }: { path: string; view: ConnectionView; policy: EncryptionPolicy; close: () => void }) {
  return (
    <WriteForm title={`Permit ${view.connection.name} to go without encryption`} start={{ suite: 'none', reason: '', ends_at: String(24 * HOUR) }} method="PUT" path={path} action="Permit it" cancel={close} done={close}
      body={(f) => ({ suite: f.suite, reason: f.reason.trim(), ends_at: endsAt(f.ends_at) })} refused={(problem) => <Refused problem={problem} view={view} />}>
      {(of, form) => (
        <>
          <div class="wide stack-s">
            <p>Whoever is on the path between the sites reads this traffic. All of this must hold; encryption returns by itself at the end.</p>
            <Conditions conditions={policy.conditions.filter((c) => !['reason-given', 'end-date'].includes(c.code))} view={view} />
            <Alternatives list={policy.alternatives} />
          </div>
          <Choose {...of('suite')} label="Permit" options={[{ value: 'none', text: 'none: plaintext' }, { value: 'aes-256-gmac', text: 'AES-256-GMAC: readable, but not to be changed' }]} help="In place of the connection’s suites" />
          <Choose {...of('ends_at')} label="Ends" options={lives.map((s) => ({ value: String(s), text: `in ${age(s)}` }))} help={`${time(endsAt(form.ends_at))}; at most 90 days`} />
          <Text {...of('reason')} label="Reason" wide required placeholder="bulk copy inside the vault’s own fibre, ticket 4711" help="At least 10 characters; it is shown on every page and kept with the changes" />
        </>
      )}
    </WriteForm>
  )
}

/** What a connection runs by, and what it is permitted besides. */
export function Encryption({ view }: { view: ConnectionView }) {
  const c = view.connection
  const path = `/api/v1/connections/${c.id}/encryption-policy`
  const live = useGet<EncryptionPolicy>(serves('/connections/{id}/encryption-policy') ? path : null)
  const [asking, ask] = useState(false)
  const [ending, end] = useState(false)
  const policy = live.data
  const p = policy?.permission
  const used = [...new Set(view.links.flatMap((l) => (l.link.status.suite ? [l.link.status.suite] : [])))]
  if (!policy) return <ProblemBox problem={live.problem} />
  return (
    <>
      <h2>Encryption</h2>
      {asking ? <PermissionForm path={path} view={view} policy={policy} close={() => ask(false)} /> : (
        <Card>
          <div class="stack">
            {p && (
              <div class="permission plain">
                <strong>{p.in_effect ? 'UNENCRYPTED' : 'UNENCRYPTED is permitted'}: {weakText(p.suite)}</strong>
                <span>until {time(p.ends_at)}, ends <Until at={p.ends_at} />. {p.in_effect ? 'In effect' : 'Not in effect'}{p.in_effect_reason ? `: ${p.in_effect_reason}` : ''}.</span>
                <span>{p.reason} – {p.created_by}, {time(p.created_at)}</span>
              </div>
            )}
            <Facts rows={[
              ['Suites', c.suites.join(', ')], ['In use', used.join(', ') || <span class="muted">not reported yet</span>],
              ['Path resiliency', c.path_resiliency ? 'on: each link has at least 2 tunnels on distinct ports' : 'off'],
              ['Without encryption', p ? 'permitted, see above' : 'not permitted'],
            ]} />
            <div class="actions">
              {p && may('DELETE', path) && <button type="button" class="primary" onClick={() => end(true)}>Encrypt again now</button>}
              {may('PUT', path) && <button type="button" onClick={() => ask(true)}>{p ? 'Change the permission' : 'Permit to go without encryption…'}</button>}
            </div>
          </div>
        </Card>
      )}
      {ending && <Confirm title={`Encrypt ${c.name} again?`} action="Encrypt again" close={() => end(false)} writes={[{ method: 'DELETE', path }]}
        text="The permission ends; both ends key anew at once. Traffic goes on."
        run={async () => {
          await del(path)
          refresh()
        }} />}
    </>
  )
}
