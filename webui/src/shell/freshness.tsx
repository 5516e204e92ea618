import { useEffect, useReducer } from 'preact/hooks'
import { refresh, status } from '../api/live'
import { age } from '../api/format'
import { useTick } from '../parts/tick'

function useFreshness() {
  const [, draw] = useReducer((n: number) => n + 1, 0)
  useTick()
  useEffect(() => {
    const f = () => draw(undefined as never)
    status.watchers.add(f)
    return () => { status.watchers.delete(f) }
  }, [])
  const s = status.read()
  const seconds = s.at && Number.isFinite(s.at) ? (Date.now() - s.at) / 1000 : null
  return { seconds, old: seconds != null && s.interval > 0 && seconds > (3 * s.interval) / 1000, lost: s.lost }
}

/** "updated 3 s ago" */
export function Updated() {
  const { seconds, old } = useFreshness()
  return <button type="button" class={`quiet ${old ? 'stale' : ''}`} onClick={refresh} title="Read everything anew">{seconds == null ? 'reading…' : `updated ${age(seconds)} ago`}</button>
}

export function StaleBanner() {
  const { seconds, old, lost } = useFreshness()
  if (!lost && !old) return null
  return (
    <div class="banner bad" role="alert">
      <strong>{lost ? lost.body.title : 'This page is out of date'}.</strong>
      <span>{seconds == null ? '' : `What you see is ${age(seconds)} old. `}{lost?.body.status === 599 ? 'Gateways go on forwarding without the controller. ' : ''}Trying again every 5 s.</span>
      <span class="grow" />
      <button type="button" class="small" onClick={refresh}>Try now</button>
    </div>
  )
}
