import { useState } from 'preact/hooks'
import { del, may } from '../../api/client'
import { refresh, type Live } from '../../api/live'
import type { AddressGroup, Site } from '../../api/types'
import { Confirm } from '../../parts/confirm'
import { Choose, Text, split } from '../../parts/form'
import { Empty } from '../../parts/messages'
import { Table } from '../../parts/table'
import { WriteForm } from '../../parts/write-form'

function GroupForm({ group, sites, close }: { group: AddressGroup | undefined; sites: Site[]; close: () => void }) {
  const start = { name: group?.name ?? '', site_id: group?.site_id ?? sites[0]!.id, prefixes: group?.prefixes.join('\n') ?? '', description: group?.description ?? '' }
  return (
    <WriteForm title={group ? `Change ${group.name}` : 'New address group'} start={start} action={group ? 'Apply' : 'Create'} done={close} cancel={close}
      method={group ? 'PATCH' : 'POST'} path={`/api/v1/address-groups${group ? `/${group.id}` : ''}`}
      body={(f) => ({ name: f.name.trim(), site_id: f.site_id, prefixes: split(f.prefixes), description: f.description.trim() || null })}>
      {(of) => (
        <>
          <Text {...of('name')} label="Name" required placeholder="partners" help="Rules name it in place of its prefixes" />
          <Choose {...of('site_id')} label="Site" options={sites.map((s) => ({ value: s.id, text: s.name }))} help="Only rules of this site use it" />
          <Text {...of('prefixes')} label="Prefixes" lines wide required placeholder={'203.0.113.0/24\n2001:db8:7::/48'} help="Of both families, one a line; overlaps are joined" />
          <Text {...of('description')} label="Description" wide help="May be empty" />
        </>
      )}
    </WriteForm>
  )
}

/** Names for sets of prefixes; a change of one reaches every rule that uses it. */
export function Groups({ groups, sites }: { groups: Live<AddressGroup[]>; sites: Site[] }) {
  const [open, setOpen] = useState<AddressGroup | 'new'>()
  const [removing, setRemoving] = useState<AddressGroup>()
  const site = new Map(sites.map((s) => [s.id, s]))
  const writable = may('POST', '/address-groups')
  const add = writable && sites.length > 0 && <button type="button" class={groups.data?.length ? '' : 'primary'} onClick={() => setOpen('new')}>New address group</button>
  return (
    <div class="stack">
      {open && <GroupForm key={open === 'new' ? '' : open.id} group={open === 'new' ? undefined : open} sites={sites} close={() => setOpen(undefined)} />}
      <Table name="address groups" rows={groups.data} problem={groups.problem} rowKey={(g) => g.id} sort="name" tools={!open && add}
        columns={[
          { id: 'name', title: 'Group', value: (g) => g.name },
          { id: 'site', title: 'Site', value: (g) => site.get(g.site_id)?.name ?? '', show: (g) => <a href={`/sites/${g.site_id}`}>{site.get(g.site_id)?.name}</a> },
          { id: 'prefixes', title: 'Prefixes', clip: true, width: '36%', value: (g) => g.prefixes.join(', '), show: (g) => <span class="mono">{g.prefixes.join(', ') || 'none'}</span> },
          { id: 'used', title: 'Rules using it', num: true, value: (g) => g.rules_using },
          { id: 'description', title: 'Description', clip: true, width: '20%', value: (g) => g.description ?? '' },
          ...(writable ? [{ id: 'do', title: '', num: true, value: () => '', show: (g: AddressGroup) => (
            <>
              <button type="button" class="quiet small" aria-label={`Change ${g.name}`} onClick={() => setOpen(g)}>Change</button>
              <button type="button" class="quiet small" aria-label={`Delete ${g.name}`} onClick={() => setRemoving(g)}>Delete</button>
            </>
          ) }] : []),
        ]}
        empty={<Empty title="No address group yet">A group is a name for prefixes that several rules share, such as partners or offices.{add && !open && <><br /><span style={{ display: 'inline-block', marginTop: '12px' }}>{add}</span></>}</Empty>} />
      {removing && <Confirm title={`Delete address group ${removing.name}?`} action="Delete" close={() => setRemoving(undefined)} writes={[{ method: 'DELETE', path: `/api/v1/address-groups/${removing.id}` }]}
        text={removing.rules_using ? `${removing.rules_using} ${removing.rules_using === 1 ? 'rule uses' : 'rules use'} it: it can go when none does.` : 'No rule uses it.'}
        run={async () => {
          await del(`/api/v1/address-groups/${removing.id}`)
          refresh()
        }} />}
    </div>
  )
}
