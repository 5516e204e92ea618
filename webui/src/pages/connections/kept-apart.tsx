import { useState } from 'preact/hooks'
import { del, may, serves } from '../../api/client'
import type { Fleet } from '../../api/fleet'
import { refresh, useList } from '../../api/live'
import type { Separation } from '../../api/types'
import { Age } from '../../parts/age'
import { Confirm } from '../../parts/confirm'
import { ProblemBox } from '../../parts/messages'
import { Table } from '../../parts/table'

const PATH = '/api/v1/separations'

function Pairs({ fleet, site }: { fleet: Fleet; site?: string }) {
  const pairs = useList<Separation>(site ? `${PATH}?site_id=${site}` : PATH, 15_000)
  const [passing, setPassing] = useState<Separation>()
  const name = (id: string) => fleet.site.get(id)?.name ?? id
  const pair = (s: Separation) => `${name(s.site_a_id)} and ${name(s.site_b_id)}`
  if (pairs.problem && !pairs.data) return <ProblemBox problem={pairs.problem} />
  if (!pairs.data?.length) return null
  return (
    <>
      <h2>Kept apart</h2>
      <p class="muted">Joined once and no longer: their gateways answer “unreachable”, so that nothing leaves in plain. Join them again, or an admin lets packets pass outside of Hawser.</p>
      <Table prefix="s-" name="sites kept apart" rows={pairs.data} rowKey={(s) => s.id} sort="a" empty={null}
        columns={[
          { id: 'a', title: 'Site a', value: (s) => name(s.site_a_id), show: (s) => <a href={`/sites/${s.site_a_id}`}>{name(s.site_a_id)}</a> },
          { id: 'b', title: 'Site b', value: (s) => name(s.site_b_id), show: (s) => <a href={`/sites/${s.site_b_id}`}>{name(s.site_b_id)}</a> },
          { id: 'since', title: 'Since', num: true, value: (s) => Date.parse(s.updated_at), text: (s) => s.updated_at, show: (s) => <Age at={s.updated_at} /> },
          ...(may('DELETE', `/separations/${'0'.repeat(36)}`) ? [{ id: 'pass', title: '', num: true, value: () => '', show: (s: Separation) => <button type="button" class="quiet small" aria-label={`Let packets pass between ${pair(s)}`} onClick={() => setPassing(s)}>Let packets pass</button> }] : []),
        ]} />
      {passing && <Confirm title={`Let packets pass between ${pair(passing)}?`} action="Let packets pass" close={() => setPassing(undefined)} writes={[{ method: 'DELETE', path: `${PATH}/${passing.id}` }]}
        text="What they send to each other then leaves in plain, unencrypted, where a route of the gateway’s machine leads there."
        run={async () => {
          await del(`${PATH}/${passing.id}`)
          refresh()
        }} />}
    </>
  )
}

/** Pairs of sites that were joined and are no longer, all or those of one site; nothing where there is none. */
export const KeptApart = (props: { fleet: Fleet; site?: string }) => (serves('/separations') ? <Pairs {...props} /> : null)
