import { useState } from 'preact/hooks'
import { del, may } from '../api/client'
import { age } from '../api/format'
import { refresh, useList } from '../api/live'
import type { EnrolmentToken, EnrolmentTokenCreated, Site } from '../api/types'
import { Until } from '../parts/age'
import { Confirm } from '../parts/confirm'
import { Choose, Text } from '../parts/form'
import { Card, Empty, PageHead } from '../parts/messages'
import { Table } from '../parts/table'
import { TokenLines } from '../parts/token-lines'
import { WriteForm } from '../parts/write-form'
import { useQuery } from '../shell/location'
import { useSizeNames } from './instance-sizes'

const lives = [3600, 86400, 7 * 86400, 30 * 86400]

function NewToken({ sites, made }: { sites: Site[]; made: (t: EnrolmentTokenCreated) => void }) {
  const [site] = useQuery('site')
  const [name] = useQuery('name')
  const sizes = useSizeNames()
  const start = { site_id: sites.some((s) => s.id === site) ? site : sites[0]!.id, gateway_name: name, size: '', max_uses: '1', expires_in_seconds: '86400' }
  return (
    <WriteForm<typeof start, EnrolmentTokenCreated> title="New token" start={start} method="POST" path="/api/v1/enrolment-tokens" action="Make token" done={made}
      body={(f) => ({
        site_id: f.site_id, gateway_name: f.gateway_name.trim() || null, size: f.size.trim() || null, max_uses: f.gateway_name.trim() ? 1 : Number(f.max_uses),
        expires_in_seconds: Number(f.expires_in_seconds),
      })}>
      {(of, form) => (
        <>
          <Choose {...of('site_id')} label="Site" options={sites.map((s) => ({ value: s.id, text: s.name }))} help="Who enrols with it becomes a gateway of this site" />
          <Text {...of('gateway_name')} label="Gateway name" placeholder="any" help="Only this gateway may enrol; empty: the machine says its name" />
          <Text {...of('size')} label="Size" placeholder="c6in.8xlarge" options={sizes} help="The machine's instance size; may be empty" />
          <Choose {...of('expires_in_seconds')} label="Ends" options={lives.map((s) => ({ value: String(s), text: `in ${age(s)}` }))} help="Nobody enrols with it afterwards" />
          {!form.gateway_name.trim() && <Text {...of('max_uses')} label="Uses" type="number" help="How many machines may enrol with it" />}
        </>
      )}
    </WriteForm>
  )
}

export function EnrolmentPage() {
  const tokens = useList<EnrolmentToken>('/api/v1/enrolment-tokens')
  const sites = useList<Site>('/api/v1/sites')
  const [made, setMade] = useState<EnrolmentTokenCreated>()
  const [removing, setRemoving] = useState<EnrolmentToken>()
  const site = new Map((sites.data ?? []).map((s) => [s.id, s]))
  const who = (t: EnrolmentToken) => t.gateway_name ?? 'any'
  if (sites.data && !sites.data.length) {
    return <><PageHead title="Enrolment" /><div class="card"><Empty title="No site yet" action={{ href: '/create', text: 'Join two sites' }}>A token makes a machine a gateway of a site; begin with the sites.</Empty></div></>
  }
  return (
    <>
      <PageHead title="Enrolment" />
      <div class="stack">
        {made && (
          <Card title={`Token for ${made.gateway_name ?? 'a gateway'} of ${site.get(made.site_id)?.name}`} extra={<button type="button" class="small" onClick={() => setMade(undefined)}>Done</button>}>
            <TokenLines token={made.token} name={made.gateway_name ?? 'the gateway'} />
          </Card>
        )}
        {!made && sites.data && may('POST', '/enrolment-tokens') && <NewToken sites={sites.data} made={setMade} />}
        <h2>Tokens</h2>
        <Table name="tokens" rows={tokens.data} problem={tokens.problem} rowKey={(t) => t.id} sort="-expires"
          columns={[
            { id: 'site', title: 'Site', value: (t) => site.get(t.site_id)?.name ?? '', show: (t) => <a href={`/sites/${t.site_id}`}>{site.get(t.site_id)?.name}</a> },
            { id: 'gateway', title: 'Gateway', value: who },
            { id: 'size', title: 'Size', value: (t) => t.size ?? '' },
            { id: 'uses', title: 'Used', num: true, value: (t) => t.uses, show: (t) => `${t.uses} of ${t.max_uses}` },
            { id: 'expires', title: 'Ends', num: true, value: (t) => Date.parse(t.expires_at), text: (t) => t.expires_at, show: (t) => <Until at={t.expires_at} /> },
            { id: 'id', title: 'Id', value: (t) => t.id, show: (t) => <span class="mono muted">{t.id.slice(0, 8)}</span> },
            ...(may('DELETE', `/enrolment-tokens/${'0'.repeat(36)}`) ? [{ id: 'remove', title: '', num: true, value: () => '', show: (t: EnrolmentToken) => <button type="button" class="quiet small" aria-label={`Delete the token for ${who(t)}`} onClick={() => setRemoving(t)}>Delete</button> }] : []),
          ]}
          empty={<Empty title="No token yet">Make one above; a machine enrols with it by itself.</Empty>} />
      </div>
      {removing && <Confirm title="Delete this token?" action="Delete" close={() => setRemoving(undefined)}
        text={`Nobody enrols with it any more. Gateways that did stay.`}
        run={async () => {
          await del(`/api/v1/enrolment-tokens/${removing.id}`)
          refresh()
        }} />}
    </>
  )
}
