import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { post, serves, type Problem } from '../api/client'
import { gatewayState, useFleet, type Fleet } from '../api/fleet'
import { refresh } from '../api/live'
import type { Connection, EnrolmentTokenCreated, Plan, Site } from '../api/types'
import { ActionLink } from '../parts/action-link'
import { Commands, type Write } from '../parts/commands'
import { Choose, Text, loose, useSubmit } from '../parts/form'
import { Card, Facts, PageHead, ProblemBox } from '../parts/messages'
import { PlanBox } from '../parts/plan'
import { State } from '../parts/state'
import { TokenLines } from '../parts/token-lines'
import { useQuery } from '../shell/location'
import { HostRoutes } from './sites/routes'
import { SiteFields, emptySite, providerName, siteBody, siteFields, type SiteForm } from './sites'

/** One end: a site that is there, or one to be made; and the gateway that shall enrol. */
interface End {
  existing: string
  form: SiteForm
  gateway: string
}

interface Wish {
  ends: [End, End]
  name: string
  suites: string
}

interface Token { site: string; name: string; token: string | null }

const steps = ['First site', 'Second site', 'Connection', 'Check and apply', 'Gateways']
const fresh = (role: string): End => ({ existing: '', form: emptySite(role), gateway: '' })

/** What is there is taken: the site that the address names, and the first transit to join it with. */
function begin(fleet: Fleet, named: string): Wish {
  const first: End = fleet.site.has(named) ? { ...fresh('spoke'), existing: named } : fresh('spoke')
  const transit = fleet.sites.filter((s) => s.role === 'transit' && s.id !== named).sort((a, b) => a.name.localeCompare(b.name))[0]
  return { ends: [first, transit ? { ...fresh('transit'), existing: transit.id } : fresh('transit')], name: '', suites: 'aes-256-gcm' }
}

const siteName = (e: End, fleet: Fleet) => fleet.site.get(e.existing)?.name ?? e.form.name.trim()
const siteRole = (e: End, fleet: Fleet) => fleet.site.get(e.existing)?.role ?? e.form.role
const hasGateway = (e: End, fleet: Fleet) => !!e.existing && fleet.gateways.some((g) => g.site_id === e.existing)
const gatewayName = (e: End, fleet: Fleet) => e.gateway.trim() || `${siteName(e, fleet)}-gw1`.slice(-63)
const connectionName = (w: Wish, fleet: Fleet) => w.name.trim() || `${siteName(w.ends[0], fleet)}-${siteName(w.ends[1], fleet)}`.slice(0, 63).replace(/-$/, '')

const connectionBody = (w: Wish, fleet: Fleet, a: string, b: string) => ({ name: connectionName(w, fleet), site_a_id: a, site_b_id: b, suites: w.suites.split(' ') })

/** The writes in order; an object of an earlier one is named by its place, as /plan takes it. */
function writes(w: Wish, fleet: Fleet): Write[] {
  const list: Write[] = []
  const names: Record<string, string> = {}
  const ids = w.ends.map((e) => {
    if (e.existing) names[e.existing] = siteName(e, fleet)
    if (e.existing) return e.existing
    names[`@${list.length}`] = siteName(e, fleet)
    list.push({ method: 'POST', path: '/api/v1/sites', body: siteBody(e.form) })
    return `@${list.length - 1}`
  })
  list.push({ method: 'POST', path: '/api/v1/connections', body: connectionBody(w, fleet, ids[0]!, ids[1]!), names })
  return list
}

/** For the plan: the gateways that will enrol, as if they had been made before. */
function gatewaysToCome(w: Wish, fleet: Fleet) {
  let made = 0
  return w.ends.map((e) => ({ e, id: e.existing || `@${made++}` })).filter(({ e }) => !hasGateway(e, fleet))
    .map(({ e, id }) => ({ method: 'POST', path: '/api/v1/gateways', body: { name: gatewayName(e, fleet), site_id: id } }))
}

function SiteStep({ end, set, other, fleet, problem }: { end: End; set: (e: End) => void; other: End | undefined; fleet: Fleet; problem: Problem | undefined }) {
  const taken = other?.existing
  return (
    <div class="stack">
      {fleet.sites.length > 0 && (
        <Choose label="Site" name="existing" value={end.existing} set={(v) => set({ ...end, existing: v })}
          options={[{ value: '', text: 'A new site' }, ...fleet.sites.map((s) => ({ value: s.id, text: `${s.name} (${s.role})`, disabled: s.id === taken }))]}
          help={other ? 'Which one it is joined with: one that is there, or a new one' : 'The site that joins: a new one, or one that is there'} />
      )}
      {!end.existing && <div class="fields"><SiteFields of={(k) => ({ value: end.form[k], set: (v) => set({ ...end, form: { ...end.form, [k]: v } }), name: k, problem })} /></div>}
      {!hasGateway(end, fleet) && (
        <div class="fields">
          <Text label="Gateway" name="gateway_name" value={end.gateway} set={(v) => set({ ...end, gateway: v })} placeholder={siteName(end, fleet) ? gatewayName(end, fleet) : 'name-gw1'}
            help="Name of its first gateway; a token for it is made in the last step" />
        </div>
      )}
      <ProblemBox problem={loose(problem, siteFields)} />
    </div>
  )
}

function Review({ wish, fleet }: { wish: Wish; fleet: Fleet }) {
  const site = (e: End) => {
    const s: Pick<Site, 'name' | 'role' | 'provider' | 'cidrs'> = fleet.site.get(e.existing) ?? (siteBody(e.form) as unknown as Site)
    return <>{s.name} <span class="muted">{fleet.site.has(e.existing) ? 'is there' : 'new'}; {s.role}, {providerName(s.provider)}, {s.cidrs.join(', ') || 'no networks'}</span></>
  }
  const tokens = wish.ends.filter((e) => !hasGateway(e, fleet)).map((e) => gatewayName(e, fleet))
  return (
    <Facts rows={[
      ['First site', site(wish.ends[0])], ['Second site', site(wish.ends[1])],
      ['Connection', <>{connectionName(wish, fleet)} <span class="muted">{wish.suites.split(' ').join(', ')}</span></>],
      ['Gateways', tokens.length ? <>{tokens.join(', ')} <span class="muted">enrol with tokens that are made now</span></> : <span class="muted">are there</span>],
    ]} />
  )
}

function Progress({ connectionId, tokens }: { connectionId: string; tokens: Token[] }) {
  const fleet = useFleet()
  const view = fleet.data?.connections.find((c) => c.connection.id === connectionId)
  const gateway = (name: string) => fleet.data?.gateways.find((g) => g.name === name)
  const done = view?.state === 'up'
  return (
    <div class="stack">
      <Card title="Progress" extra={done ? <ActionLink primary href="/topology">See it on the map</ActionLink> : undefined}>
        <ul class="progress" aria-live="polite">
          {tokens.map((t) => {
            const g = gateway(t.name)
            const enrolled = g && g.state === 'enrolled'
            return <li key={t.name}><State state={enrolled ? gatewayState(g) : 'pending'} text={enrolled ? `${t.name} is enrolled` : `${t.name} waits for its machine to enrol`} /></li>
          })}
          <li>{view ? <State state={view.state} text={done ? `${view.connection.name} is up: ${view.tunnelsUp} of ${view.tunnelsTotal} tunnels` : `${view.connection.name}: ${view.reason || view.state}`} /> : <State state="pending" text="connection" />}</li>
        </ul>
        {done && (
          <div class="stack-s" style={{ marginTop: '16px' }}>
            <p>Last step, outside of Hawser: the hosts’ network must send the other sites’ prefixes to the gateway.</p>
            <Facts rows={[view.a, view.b].flatMap((s) => (s ? [[`In ${s.name}`, <HostRoutes fleet={fleet.data!} site={s} />] as [string, ComponentChildren]] : []))} />
          </div>
        )}
      </Card>
      {tokens.map((t) => (
        <Card key={t.name} title={`Token for ${t.name} of ${t.site}`}><div class="stack-s">
          <TokenLines token={t.token} name={t.name} />
          <p class="muted">Its cloud’s firewall must let through UDP 4510–4559 and TCP 4510 from and to the other site’s gateways, and TCP out to the controller’s port for agents (8444 where it is not set). Once it is enrolled, its page lists them one by one under Openings.</p>
        </div></Card>
      ))}
    </div>
  )
}

export function CreatePage() {
  const live = useFleet()
  const [first] = useQuery('first')
  return (
    <>
      <PageHead title="Join two sites" />
      {live.data ? <Assistant fleet={live.data} first={first} /> : <ProblemBox problem={live.problem} />}
    </>
  )
}

function Assistant({ fleet, first }: { fleet: Fleet; first: string }) {
  const [step, setStep] = useState(0)
  const [wish, setWish] = useState<Wish>(() => begin(fleet, first))
  const [plan, setPlan] = useState<Plan>()
  const [made, setMade] = useState<{ connection: string; tokens: Token[] }>()
  const submit = useSubmit()

  const setEnd = (i: 0 | 1, e: End) => setWish({ ...wish, ends: i ? [wish.ends[0], e] : [e, wish.ends[1]] })
  const two = siteRole(wish.ends[0], fleet) === 'spoke' && siteRole(wish.ends[1], fleet) === 'spoke'

  /** A site that was made stays made when a later write is refused: the next try goes on from there. */
  const makeSite = async (i: 0 | 1, ends: [End, End]) => {
    if (ends[i].existing) return ends[i].existing
    try {
      const s = await post<Site>('/api/v1/sites', siteBody(ends[i].form))
      ends[i] = { ...ends[i], existing: s.id }
      return s.id
    } catch (e) {
      setStep(i)
      throw e
    } finally {
      setWish((w) => ({ ...w, ends: [...ends] as [End, End] }))
    }
  }

  const apply = async () => {
    const names = wish.ends.map((e) => ({ site: siteName(e, fleet), name: gatewayName(e, fleet), needed: !hasGateway(e, fleet) }))
    const body = connectionBody(wish, fleet, '', '')
    const ends: [End, End] = [...wish.ends]
    const a = await makeSite(0, ends)
    const b = await makeSite(1, ends)
    const connection = await post<Connection>('/api/v1/connections', { ...body, site_a_id: a, site_b_id: b }).catch((e) => {
      setStep(2)
      throw e
    })
    const tokens: Token[] = []
    for (const [i, n] of names.entries()) {
      if (!n.needed) continue
      const t = await post<EnrolmentTokenCreated>('/api/v1/enrolment-tokens', { site_id: i ? b : a, gateway_name: n.name })
      tokens.push({ site: n.site, name: n.name, token: t.token })
    }
    setMade({ connection: connection.id, tokens })
    setStep(4)
    refresh()
  }

  const next = () => submit.run(async () => {
    if (step === 3) return apply()
    if (step === 2 && serves('/plan', 'POST')) setPlan(await post<Plan>('/api/v1/plan', { changes: [...writes(wish, fleet).map(({ method, path, body }) => ({ method, path, body })), ...gatewaysToCome(wish, fleet)] }))
    setStep(step + 1)
  })

  const complete = step > 1 || !!wish.ends[step as 0 | 1].existing || !!wish.ends[step as 0 | 1].form.name.trim()
  const joined = wish.ends.every((e) => e.existing) && fleet.connections.find(({ connection: c }) => wish.ends.every((e) => e.existing === c.site_a_id || e.existing === c.site_b_id))
  return (
    <div class="stack" style={{ maxWidth: '840px' }}>
      <ol class="steps" aria-label="Steps">{steps.map((s, i) => <li key={s} class={i < step ? 'done' : ''} aria-current={i === step ? 'step' : undefined}>{s}</li>)}</ol>
      {step === 4 && made ? <Progress connectionId={made.connection} tokens={made.tokens} /> : (
        <Card>
          <form class="stack" onSubmit={(e) => {
            e.preventDefault()
            next()
          }}>
            {step < 2 && <SiteStep key={step} end={wish.ends[step as 0 | 1]} set={(e) => setEnd(step as 0 | 1, e)} other={step ? wish.ends[0] : undefined} fleet={fleet} problem={submit.problem} />}
            {step === 2 && (
              <>
                {two && <div class="problem" role="alert"><strong>Two spokes cannot be joined directly</strong><span>They reach each other through a transit: connect each of them with one. Go back and choose a transit as the second site.</span></div>}
                {joined && <div class="problem" role="alert"><strong>These two are joined already</strong><span>See connection <a href={`/connections/${joined.connection.id}`}>{joined.connection.name}</a>, or go back and choose another site.</span></div>}
                <div class="fields">
                  <Text label="Name" name="name" value={wish.name} set={(v) => setWish({ ...wish, name: v })} placeholder={connectionName(wish, fleet)} problem={submit.problem} help="Of the connection; empty: as shown" />
                  <Choose label="Encryption" name="suites" value={wish.suites} set={(v) => setWish({ ...wish, suites: v })} problem={submit.problem}
                    options={[{ value: 'aes-256-gcm', text: 'AES-256-GCM' }, { value: 'aes-128-gcm', text: 'AES-128-GCM' }]} help="Both are safe; AES-128-GCM is a little faster" />
                </div>
                <ProblemBox problem={loose(submit.problem, ['name', 'suites'])} />
              </>
            )}
            {step === 3 && (
              <>
                <Review wish={wish} fleet={fleet} />
                {plan && <PlanBox plan={plan} />}
                <ProblemBox problem={submit.problem} />
                <Commands writes={writes(wish, fleet)} />
              </>
            )}
            <div class="actions">
              {step > 0 && <button type="button" onClick={() => {
                submit.setProblem(undefined)
                setStep(step - 1)
              }}>Back</button>}
              <button class="primary" disabled={submit.busy || !complete || (step === 2 && (two || !!joined)) || (step === 3 && plan?.feasible === false)}>{step === 3 ? 'Apply' : 'Next'}</button>
            </div>
          </form>
        </Card>
      )}
    </div>
  )
}
