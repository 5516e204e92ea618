import type { ComponentChildren } from 'preact'
import { may } from '../api/client'

/** What a page is for, where it is for writing. */
const writes: [string, string][] = [['/create', '/connections'], ['/enrolment', '/enrolment-tokens']]

/** A link in the form of a button; not there for who may not do what it leads to. */
export function ActionLink({ href, primary, children }: { href: string; primary?: boolean; children: ComponentChildren }) {
  const write = writes.find(([page]) => href === page || href.startsWith(`${page}?`))
  if (write && !may('POST', write[1])) return null
  return <a class={`button ${primary ? 'primary' : ''}`} href={href}>{children}</a>
}
