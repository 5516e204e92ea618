import { Fragment, type ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Problem } from '../api/client'
import { ActionLink } from './action-link'

/** What happened, what it means, and the id under which the controller's log has it. */
export function ProblemBox({ problem }: { problem: Problem | undefined }) {
  if (!problem) return null
  const { title, detail, field, status, request_id } = problem.body
  return (
    <div class="problem" role="alert">
      <strong>{title}</strong>
      <span>{detail}{field ? ` (${field})` : ''}</span>
      {status === 409 && <span class="muted">Nothing was changed.</span>}
      {status === 412 && <span class="muted">Somebody changed it meanwhile. Look at it again and repeat the change.</span>}
      {request_id && <span class="id">Request {request_id}</span>}
    </div>
  )
}

/** Says the next step. */
export function Empty({ title, children, action, page }: { title: string; page?: boolean; children?: ComponentChildren; action?: { href: string; text: string } }) {
  return (
    <div class="empty">
      {page ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children && <p>{children}</p>}
      {action && <ActionLink primary href={action.href}>{action.text}</ActionLink>}
    </div>
  )
}

/** Text to take away by one press. */
export function Copy({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      const area = document.createElement('textarea')
      area.value = text
      document.body.append(area)
      area.select()
      document.execCommand('copy')
      area.remove()
    }
    setDone(true)
    setTimeout(() => setDone(false), 2000)
  }
  return (
    <div class="copy">
      <pre tabIndex={0} aria-label={label}>{text}</pre>
      <button type="button" class="small" onClick={copy} aria-label={`Copy: ${label}`}>{done ? 'Copied' : 'Copy'}</button>
    </div>
  )
}

export function Card({ title, extra, children, pad = true }: { title?: ComponentChildren; extra?: ComponentChildren; children?: ComponentChildren; pad?: boolean }) {
  return (
    <section class="card">
      {title && <header><h2 class="grow">{title}</h2>{extra}</header>}
      {pad ? <div class="body">{children}</div> : children}
    </section>
  )
}

export function PageHead({ title, crumb, children }: { title: ComponentChildren; crumb?: { href: string; text: string }; children?: ComponentChildren }) {
  return (
    <div class="page-head">
      {crumb && <><a class="crumb" href={crumb.href}>{crumb.text}</a><span class="muted" aria-hidden="true">/</span></>}
      <h1>{title}</h1>
      <span class="spacer" />
      {children}
    </div>
  )
}

export function Tabs({ base, now, tabs }: { base: string; now: string; tabs: { id: string; text: string }[] }) {
  return (
    <nav class="tabs" aria-label="Parts of this page">
      {tabs.map((t, i) => (
        <a key={t.id} href={i ? `${base}?tab=${t.id}` : base} aria-current={t.id === now ? 'page' : undefined}>{t.text}</a>
      ))}
    </nav>
  )
}

export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return <dl class="facts">{rows.map(([k, v]) => <Fragment key={k}><dt>{k}</dt><dd>{v}</dd></Fragment>)}</dl>
}
