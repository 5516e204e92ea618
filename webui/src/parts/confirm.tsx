import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Commands, type Write } from './commands'
import { useSubmit } from './form'
import { ProblemBox } from './messages'
import { PlanNote, usePlan } from './plan'

interface Props {
  title: string
  text: ComponentChildren
  action: string
  /** What `run` will send: its plan is shown first. */
  writes?: Write[]
  run: () => Promise<void>
  close: () => void
}

/** Says what will happen before it does. */
export function Confirm({ title, text, action, writes = [], run, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const submit = useSubmit()
  const foresight = usePlan(writes)
  useEffect(() => { dialog.current?.showModal() }, [])
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title">
      <div>
        <h2 id="confirm-title">{title}</h2>
        <p>{text}</p>
        <PlanNote foresight={foresight} />
        <ProblemBox problem={submit.problem} />
        <div class="actions">
          <button type="button" class="danger" disabled={submit.busy || !foresight.ready || foresight.plan?.feasible === false} onClick={async () => { if (await submit.run(run)) dialog.current?.close() }}>{action}</button>
          <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
        </div>
        <Commands writes={writes} />
      </div>
    </dialog>
  )
}
