import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem, patch, post, put, versionOf } from '../api/client'
import { refresh } from '../api/live'
import { Commands, type Write } from './commands'
import { loose, useSubmit } from './form'
import { Card, ProblemBox } from './messages'
import { PlanNote, refusalOf, usePlan } from './plan'

/** What a field of the form needs, by its name in the form and in the API. */
export type Of<F> = (name: keyof F & string) => { value: string; set: (v: string) => void; name: string; problem: Problem | undefined }

interface Props<F extends Record<string, string>, A> {
  title: string
  start: F
  /** The request's members; a PATCH sends those that the user changed. */
  body: (form: F) => Record<string, unknown>
  method: 'POST' | 'PATCH' | 'PUT'
  path: string
  action: string
  children: (of: Of<F>, form: F, set: (form: F) => void) => ComponentChildren
  /** The write is of another shape than the form: what is sent. */
  wrap?: (body: Record<string, unknown>) => Record<string, unknown>
  done: (answer: A) => void
  cancel?: (() => void) | undefined
  /** Said when the API refuses, in place of the problem's box. */
  refused?: (problem: Problem) => ComponentChildren
}

const differs = (a: Record<string, unknown>, b: Record<string, unknown>) => Object.fromEntries(Object.entries(a).filter(([k, v]) => JSON.stringify(v) !== JSON.stringify(b[k])))

/** A refusal of `rules[0].source` is about the form's `source`. */
function ofForm(problem: Problem | undefined): Problem | undefined {
  const field = problem?.body.field
  return problem && field ? new Problem({ ...problem.body, field: field.replace(/^[a-z_]+\[0\]\./, '') }) : problem
}

/** Makes or changes one object: fields, the plan as soon as they rest, Apply, and the same as commands. */
export function WriteForm<F extends Record<string, string>, A = unknown>(p: Props<F, A>) {
  // What the user changed is told from what the form began with, whatever others do to the object meanwhile.
  const [start] = useState(p.start)
  const [form, setForm] = useState(start)
  const version = useRef<string>()
  const submit = useSubmit()
  const element = useRef<HTMLFormElement>(null)
  // Opened by a press somewhere else on the page: it comes into view, ready to type in.
  useEffect(() => { if (p.method === 'PATCH') versionOf(p.path).then((v) => { version.current = v }, () => {}) }, [])
  useEffect(() => { if (p.cancel) element.current?.querySelector<HTMLElement>('input, select, textarea')?.focus() }, [])
  const content = p.method === 'PATCH' ? differs(p.body(form), p.body(start)) : p.body(form)
  const body = p.wrap ? p.wrap(content) : content
  const some = p.method !== 'PATCH' || Object.keys(content).length > 0
  const writes: Write[] = some ? [{ method: p.method, path: p.path, body }] : []
  // A new object is planned once it has what it must have: nobody is told off for an empty form.
  const complete = p.method !== 'POST' || !!element.current?.checkValidity()
  const foresight = usePlan(complete ? writes : [])
  const problem = ofForm(submit.problem ?? refusalOf(foresight.plan))
  const of: Of<F> = (name) => ({ value: form[name]!, set: (v) => {
    submit.setProblem(undefined)
    setForm({ ...form, [name]: v })
  }, name, problem })
  const shown = loose(problem, Object.keys(start))
  return (
    <Card title={p.title}>
      <form ref={element} class="stack" onSubmit={(e) => {
        e.preventDefault()
        submit.run(async () => {
          const answer = p.method === 'POST' ? await post<A>(p.path, body) : p.method === 'PUT' ? await put<A>(p.path, body) : await patch<A>(p.path, body, version.current)
          refresh()
          p.done(answer)
        })
      }}>
        <div class="fields">{p.children(of, form, setForm)}</div>
        {submit.problem && p.refused ? p.refused(submit.problem) : foresight.plan && !submit.problem ? null : <ProblemBox problem={shown} />}
        <PlanNote foresight={foresight} />
        <div class="actions">
          <button class="primary" disabled={submit.busy || !some || !foresight.ready || foresight.plan?.feasible === false}>{p.action}</button>
          {p.cancel && <button type="button" onClick={p.cancel}>Cancel</button>}
        </div>
        {some && <Commands writes={writes} />}
      </form>
    </Card>
  )
}
