import { now } from '../api/client'
import { age, time } from '../api/format'
import { useTick } from './tick'

/** "12 s ago", with the exact time on hover; grey when older than it should be. */
export function Age({ at, stale = Infinity }: { at: string | null | undefined; stale?: number }) {
  useTick()
  if (!at) return <span class="muted">never</span>
  const seconds = (now() - Date.parse(at)) / 1000
  return <time dateTime={at} title={time(at)} class={seconds > stale ? 'stale' : 'nowrap'}>{age(seconds)} ago</time>
}

/** "in 3 h", or how long it has been over. */
export function Until({ at }: { at: string }) {
  useTick()
  const seconds = (Date.parse(at) - now()) / 1000
  return <time dateTime={at} title={time(at)} class="nowrap">{seconds > 0 ? `in ${age(seconds)}` : `ended ${age(-seconds)} ago`}</time>
}
