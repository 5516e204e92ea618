import { age } from '../api/format'

const words: Record<string, string> = {
  up: 'up', degraded: 'degraded', down: 'down', unknown: 'unknown', disabled: 'disabled', pending: 'pending', revoked: 'revoked',
}

function Shape({ state }: { state: string }) {
  return (
    <svg viewBox="0 0 12 12" aria-hidden="true">
      {state === 'up' && <circle cx="6" cy="6" r="5" fill="currentColor" />}
      {state === 'degraded' && <><circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" /><path d="M6 1.5a4.5 4.5 0 0 0 0 9z" fill="currentColor" /></>}
      {state === 'down' && <circle cx="6" cy="6" r="4.3" fill="none" stroke="currentColor" stroke-width="1.6" />}
      {!['up', 'degraded', 'down'].includes(state) && <><circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" stroke-dasharray="2 2" /><circle cx="6" cy="6" r="1" fill="currentColor" /></>}
    </svg>
  )
}

export interface Seen {
  state: string
  reason?: string
  observer?: string | null
  observed_at?: string | null
  age_seconds?: number | null
}

/** A state as a shape, a word and a colour; on hover why, and who saw it. */
export function State({ state, status, text }: { state?: string; status?: Seen; text?: string }) {
  const s = state ?? status?.state ?? 'unknown'
  const seen = status?.observer ? `seen by ${status.observer}${status.age_seconds != null ? ` ${age(status.age_seconds)} ago` : ''}` : ''
  const why = [status?.reason, seen].filter(Boolean).join('; ')
  return <span class={`state ${s}`} title={why || undefined}><Shape state={s} />{text ?? words[s] ?? s}</span>
}

const badness = ['down', 'degraded', 'unknown', 'pending', 'revoked', 'up', 'disabled']
/** For sorting: the worst first. */
export const rank = (state: string) => badness.indexOf(state)
