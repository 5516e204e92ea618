import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Problem } from '../api/client'

interface FieldProps {
  label: string
  help?: ComponentChildren
  /** Name of the API's member, by which a refusal finds its field. */
  name: string
  problem?: Problem | undefined
  wide?: boolean
  children: (attributes: { id: string; name: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ComponentChildren
}

export function Field({ label, help, name, problem, wide, children }: FieldProps) {
  const id = useId()
  const error = problem?.at(name)
  return (
    <div class={`field ${wide ? 'wide' : ''}`}>
      <label for={id}>{label}</label>
      {children({ id, name, 'aria-describedby': `${id}-help`, 'aria-invalid': !!error })}
      <div id={`${id}-help`} class={error ? 'error' : 'help'} role={error ? 'alert' : undefined}>{error ?? help}</div>
    </div>
  )
}

interface TextProps extends Omit<FieldProps, 'children'> {
  value: string
  set: (v: string) => void
  placeholder?: string
  type?: string
  required?: boolean
  lines?: boolean
  options?: string[]
}

export function Text({ value, set, placeholder, type = 'text', required, lines, options, ...field }: TextProps) {
  return (
    <Field {...field}>
      {(a) => lines
        ? <textarea {...a} value={value} placeholder={placeholder} required={required} spellcheck={false} onInput={(e) => set(e.currentTarget.value)} />
        : <>
            <input {...a} type={type} value={value} placeholder={placeholder} required={required} spellcheck={false} autocomplete="off" list={options ? `${a.id}-list` : undefined} onInput={(e) => set(e.currentTarget.value)} />
            {options && <datalist id={`${a.id}-list`}>{options.map((o) => <option key={o} value={o} />)}</datalist>}
          </>}
    </Field>
  )
}

interface ChooseProps extends Omit<FieldProps, 'children'> {
  value: string
  set: (v: string) => void
  options: { value: string; text: string; disabled?: boolean }[]
}

export function Choose({ value, set, options, ...field }: ChooseProps) {
  return (
    <Field {...field}>
      {(a) => <select {...a} value={value} onChange={(e) => set(e.currentTarget.value)}>{options.map((o) => <option key={o.value} value={o.value} disabled={o.disabled}>{o.text}</option>)}</select>}
    </Field>
  )
}

/** One write at a time, with its problem. */
export function useSubmit() {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  const run = async (f: () => Promise<void>) => {
    if (busy) return false
    setBusy(true)
    setProblem(undefined)
    try {
      await f()
      return true
    } catch (e) {
      if (!(e instanceof Problem)) throw e
      setProblem(e)
      return false
    } finally {
      setBusy(false)
    }
  }
  return { busy, problem, setProblem, run }
}

/** Refusals that no field of the form shows. */
export function loose(problem: Problem | undefined, fields: string[]): Problem | undefined {
  return problem && !fields.some((f) => problem.at(f)) ? problem : undefined
}

/** Prefixes as people type them: lines, blanks or commas between. */
export const split = (text: string) => text.split(/[\s,]+/).filter(Boolean)
