import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ProblemBox } from './messages'
import { useSubmit } from './form'

interface Props {
  title: string
  text: ComponentChildren
  action: string
  run: () => Promise<void>
  close: () => void
}

/** Says what will happen before it does. */
export function Confirm({ title, text, action, run, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const submit = useSubmit()
  useEffect(() => { dialog.current?.showModal() }, [])
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title">
      <div>
        <h2 id="confirm-title">{title}</h2>
        <p>{text}</p>
        <ProblemBox problem={submit.problem} />
        <div class="actions">
          <button type="button" class="danger" disabled={submit.busy} onClick={async () => { if (await submit.run(run)) dialog.current?.close() }}>{action}</button>
          <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
        </div>
      </div>
    </dialog>
  )
}
