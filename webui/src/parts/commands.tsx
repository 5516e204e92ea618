import { Copy } from './messages'

export interface Write {
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  path: string
  body?: Record<string, unknown>
  /** Names for ids that are not there yet; curl cannot say those. */
  names?: Record<string, string>
}

const nouns: Record<string, string> = { sites: 'site', gateways: 'gateway', connections: 'connection', 'enrolment-tokens': 'token', rulesets: 'ruleset', 'address-groups': 'address-group', 'api-keys': 'api-key' }

const quote = (s: string) => (/^[A-Za-z0-9_.,:@/=-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`)

function flag(key: string, value: unknown, names: Record<string, string>): string {
  const one = (v: unknown) => names[String(v)] ?? String(v)
  return `--${key.replace(/_(id|seconds)$/, '').replaceAll('_', '-')} ${quote(Array.isArray(value) ? value.map(one).join(',') : one(value))}`
}

/** Members as flags say them: a rule's sides are two each, a list of one rule is that rule. */
function members(body: Record<string, unknown>): [string, unknown][] {
  return Object.entries(body).flatMap(([k, v]): [string, unknown][] => {
    if (k === 'rules' && Array.isArray(v) && v.length === 1) return members(v[0] as Record<string, unknown>)
    if (k !== 'source' && k !== 'destination') return [[k, v]]
    const side = v as { prefixes: string[]; group_ids: string[] }
    return [[k, side.prefixes], [`${k}_groups`, side.group_ids]]
  })
}

interface Words { noun: string; verb: string; id?: string | undefined; more?: string }

/** Which noun and verb write to a path; undefined for what hawserctl has none for. */
function words(method: Write['method'], path: string): Words | undefined {
  const [, kind, id, part, inner] = path.match(/^\/api\/v1\/([a-z-]+)(?:\/([0-9a-f-]{36}))?(?:\/([a-z-]+))?(?:\/([0-9a-f-]{36}))?$/) ?? []
  const noun = nouns[kind ?? '']
  const verb = { POST: 'create', PATCH: 'set', PUT: undefined, DELETE: 'delete' }[method]
  if (part === 'rules') return verb ? { noun: 'rule', verb: verb === 'create' ? 'add' : verb, id: inner, more: `--ruleset ${id}` } : undefined
  if (part === 'encryption-policy') return { noun: 'connection', verb: method === 'PUT' ? 'permit' : 'encrypt', id }
  if (part === 'revoke') return { noun: 'gateway', verb: 'revoke', id }
  return noun && verb && !part ? { noun, verb, id } : undefined
}

function hawserctl({ method, path, body = {}, names = {} }: Write): string | undefined {
  const w = words(method, path)
  if (!w) return undefined
  // A place is another verb than the rest of a rule: both at once are two commands, which curl says as one.
  if (w.noun === 'rule' && w.verb === 'set' && 'position' in body) {
    if (Object.keys(body).length > 1) return undefined
    w.verb = 'move'
  }
  const said = (v: unknown) => method === 'PATCH' || !(v === null || (Array.isArray(v) && !v.length))
  const flags = members(body).filter(([, v]) => said(v)).map(([k, v]) => flag(k, v, names))
  return ['hawserctl', w.noun, w.verb, ...(w.id ? [w.id] : []), ...(w.more ? [w.more] : []), ...flags].join(' ')
}

function curl(w: Write): string | undefined {
  if (w.names) return undefined
  return [
    `curl -sS --fail-with-body -X ${w.method} -H "Authorization: Bearer $(cat token)"`,
    ...(w.body === undefined ? [] : [`  -H 'Content-Type: application/json' -d ${quote(JSON.stringify(w.body))}`]),
    `  ${location.origin}${w.path}`,
  ].join(' \\\n')
}

/** The same change for automation, ready to copy; a form that says only a part of it is left out. */
export function Commands({ writes }: { writes: Write[] }) {
  const forms = [['hawserctl', writes.map(hawserctl), '\n'], ['curl', writes.map(curl), '\n\n']] as const
  const whole = forms.filter(([, lines]) => lines.length && lines.every((l) => l !== undefined))
  if (!whole.length) return null
  return (
    <details>
      <summary>The same as commands</summary>
      <div class="stack-s" style={{ marginTop: '8px' }}>
        {whole.map(([name, lines, between]) => <Copy key={name} label={`commands with ${name}`} text={lines.join(between)} />)}
      </div>
    </details>
  )
}
