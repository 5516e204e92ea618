import { Copy } from './messages'

export interface Write {
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  path: string
  body?: unknown
}

const quote = (s: string) => `'${s.replaceAll("'", `'\\''`)}'`

export const curl = (w: Write) => [
  `curl -sS --fail-with-body -X ${w.method} -H "Authorization: Bearer $(cat token)"`,
  ...(w.body === undefined ? [] : [`  -H 'Content-Type: application/json' -d ${quote(JSON.stringify(w.body))}`]),
  `  ${location.origin}${w.path}`,
].join(' \\\n')

/** The same change for automation, ready to copy. */
export function Commands({ writes }: { writes: Write[] }) {
  if (!writes.length) return null
  return (
    <details>
      <summary>The same with curl</summary>
      <div class="stack-s" style={{ marginTop: '8px' }}>
        <Copy label="commands with curl" text={writes.map(curl).join('\n\n')} />
      </div>
    </details>
  )
}
