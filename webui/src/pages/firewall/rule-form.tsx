import type { AddressGroup, Rule, Site } from '../../api/types'
import { Choose, Text, split } from '../../parts/form'
import { WriteForm, type Of } from '../../parts/write-form'
import { emptyRule, formOf, hasPorts, ruleBody, siteNetworks, type RuleForm } from './model'

/** One side of a rule: prefixes and groups, with those at hand by a press. */
function SideField({ label, value, set, name, problem, site, groups }: ReturnType<Of<RuleForm>> & { label: string; site: Site | undefined; groups: AddressGroup[] }) {
  const add = (text: string) => set([...new Set([...split(value), ...split(text)])].join('\n'))
  return (
    <div class="stack-s">
      <Text label={label} value={value} set={set} name={name} problem={problem} lines placeholder="any" help="Prefixes, addresses or names of groups, one a line; empty: any" />
      <div class="row wrap">
        {siteNetworks(site) && <button type="button" class="small" aria-label={`${label}: add the networks of ${site!.name}`} onClick={() => add(siteNetworks(site))}>+ {site!.name}</button>}
        {groups.map((g) => <button key={g.id} type="button" class="small" aria-label={`${label}: add ${g.name}`} title={g.prefixes.join(', ')} onClick={() => add(g.name)}>+ {g.name}</button>)}
      </div>
    </div>
  )
}

interface Props {
  rulesetId: string
  rule: Rule | undefined
  /** Where a new one goes; behind the last when it is one more than there are. */
  position: number
  total: number
  site: Site | undefined
  groups: AddressGroup[]
  done: () => void
}

export function RuleEditor({ rulesetId, rule, position, total, site, groups, done }: Props) {
  const body = ruleBody(groups)
  const path = `/api/v1/rulesets/${rulesetId}/rules`
  const place = (f: RuleForm) => Math.max(1, Math.round(Number(f.position)) || 1)
  // For a new rule, what the API takes is a list and a place; for one that is there, its members.
  const how = rule
    ? { method: 'PATCH' as const, path: `${path}/${rule.id}`, start: formOf(rule, groups), body: (f: RuleForm) => ({ ...body(f), position: place(f) }) }
    : { method: 'POST' as const, path, start: emptyRule(String(position)), body: (f: RuleForm) => ({ position: place(f) > total ? null : place(f), rules: [body(f)] }) }
  return (
    <WriteForm<RuleForm> {...how} title={rule ? `Change rule ${rule.name}` : 'New rule'} action={rule ? 'Apply' : 'Add rule'} done={done} cancel={done}>
      {(of, form) => (
        <>
          <Text {...of('name')} label="Name" required placeholder="web-in" help="Unique in this ruleset" />
          <Text {...of('position')} label="Position" type="number" help={`The first rule that fits decides; ${rule ? '' : `${total + 1} is the end. `}1 is the first`} />
          <Choose {...of('action')} label="Action" options={[{ value: 'allow', text: 'allow' }, { value: 'deny', text: 'deny' }]} help="allow: the connection and its answers pass" />
          <Choose {...of('protocol')} label="Protocol" options={[{ value: 'any', text: 'any' }, { value: 'tcp', text: 'TCP' }, { value: 'udp', text: 'UDP' }, { value: 'icmp', text: 'ICMP and ICMPv6' }, { value: 'other', text: 'another, by its number' }]} help="Ports are for TCP and UDP" />
          {form.protocol === 'other' && <Text {...of('number')} name="protocol" label="Protocol number" help="0 to 255, such as 47 for GRE" />}
          <SideField {...of('source')} label="Source" site={site} groups={groups} />
          <SideField {...of('destination')} label="Destination" site={site} groups={groups} />
          {hasPorts(form) && <Text {...of('source_ports')} label="Source ports" placeholder="any" help="Mostly any" />}
          {hasPorts(form) && <Text {...of('destination_ports')} label="Destination ports" placeholder="any" help="Such as 443, 8000-8099; empty: any" />}
          <Choose {...of('enabled')} label="Enabled" options={[{ value: 'yes', text: 'yes' }, { value: 'no', text: 'no: kept, but decides nothing' }]} help="A rule that is off keeps its place" />
          <Choose {...of('log')} label="Log" options={[{ value: 'no', text: 'no' }, { value: 'yes', text: 'first packet of each connection' }]} help="To the gateway's kernel log" />
          <Text {...of('description')} label="Description" wide help="May be empty" />
        </>
      )}
    </WriteForm>
  )
}
