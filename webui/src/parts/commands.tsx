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

/** Undefined for what hawserctl has no noun for. */
function hawserctl({ method, path, body = {}, names = {} }: Write): string | undefined {
  const [, kind, id] = path.match(/^\/api\/v1\/([a-z-]+)(?:\/([0-9a-f-]{36}))?$/) ?? []
  const noun = nouns[kind ?? '']
  const verb = { POST: 'create', PATCH: 'set', PUT: undefined, DELETE: 'delete' }[method]
  if (!noun || !verb) return undefined
  const flags = Object.entries(body).filter(([, v]) => method === 'PATCH' || v !== null).map(([k, v]) => flag(k, v, names))
  return ['hawserctl', noun, verb, ...(id ? [id] : []), ...flags].join(' ')
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
