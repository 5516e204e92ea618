import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { del, may } from '../api/client'
import type { Problem } from '../api/client'
import { refresh } from '../api/live'
import { navigate } from '../shell/location'
import { Confirm } from './confirm'
import { Empty, PageHead, ProblemBox } from './messages'

interface Place { href: string; text: string }

/** In place of an object that is being read, cannot be read, or is gone. */
export function Missing({ live, noun, home }: { live: { data: unknown; problem: Problem | undefined }; noun: string; home: Place }) {
  if (live.data) return <Empty page title={`There is no such ${noun}`} action={{ href: home.href, text: `All ${home.text.toLowerCase()}` }} />
  return live.problem ? <ProblemBox problem={live.problem} /> : <div class="card skeleton-card" aria-busy="true" />
}

interface Props {
  title: string
  noun: string
  home: Place
  /** Where it hangs, when that is not the list. */
  crumb?: Place
  /** Of the API: asked before Change and Delete are offered. */
  path: string
  state?: ComponentChildren
  actions?: ComponentChildren
  editor?: (done: () => void) => ComponentChildren
  removal?: { text: ComponentChildren }
  /** `editor` stands in place of what it changes. */
  children: (editor: ComponentChildren) => ComponentChildren
}

/** One object: its head with what can be done with it, the form that changes it, the question before it goes. */
export function ObjectPage({ title, noun, home, crumb, path, state, actions, editor, removal, children }: Props) {
  const [editing, setEditing] = useState(false)
  const [removing, setRemoving] = useState(false)
  return (
    <>
      <PageHead title={title} crumb={crumb ?? home}>
        {state}
        {actions}
        {editor && may('PATCH', path) && <button type="button" aria-pressed={editing} onClick={() => setEditing(!editing)}>Change</button>}
        {removal && may('DELETE', path) && <button type="button" class="danger" onClick={() => setRemoving(true)}>Delete</button>}
      </PageHead>
      {children(editing && editor ? editor(() => setEditing(false)) : undefined)}
      {removing && removal && <Confirm title={`Delete ${noun} ${title}?`} action="Delete" close={() => setRemoving(false)} text={removal.text} writes={[{ method: 'DELETE', path }]}
        run={async () => {
          await del(path)
          navigate(home.href)
          refresh()
        }} />}
    </>
  )
}
