/** Calls of the controller: the session's CSRF header, problems as exceptions, entity tags, and which paths it serves. */
import type { ProblemBody, Session, WhoAmI } from './types'

export class Problem extends Error {
  constructor(readonly body: ProblemBody) {
    super(body.detail || body.title)
  }
  /** The message for a form's field, when the problem is about it or about an element of it. */
  at(field: string): string | undefined {
    const f = this.body.field
    return f === field || f?.startsWith(field + '[') || f?.startsWith(field + '.') ? this.body.detail : undefined
  }
}

let csrf = ''
let signedOut: () => void = () => {}
const etags = new Map<string, string>()
/** Milliseconds by which the controller's clock is ahead of this machine's. */
let skew = 0

export const now = () => Date.now() + skew
export const onSignedOut = (f: () => void) => { signedOut = f }

function unreachable(detail: string): Problem {
  return new Problem({ type: 'urn:hawser:problem:unreachable', title: 'The controller does not answer', status: 599, detail, field: null, request_id: '' })
}

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const all: Record<string, string> = { Accept: 'application/json', ...headers }
  if (body !== undefined) all['Content-Type'] = 'application/json'
  if (method !== 'GET' && csrf) all['Hawser-Csrf'] = csrf
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), 20_000)
  try {
    const init: RequestInit = { method, headers: all, signal: stop.signal, credentials: 'same-origin', redirect: 'error' }
    if (body !== undefined) init.body = JSON.stringify(body)
    return await fetch(path, init)
  } catch {
    throw unreachable('No answer came from the controller. It may be restarting, or the network between it and this browser is cut. Gateways go on forwarding without it.')
  } finally {
    clearTimeout(timer)
  }
}

async function refuse(reply: Response): Promise<never> {
  const text = await reply.text()
  let body: ProblemBody
  try {
    body = JSON.parse(text) as ProblemBody
  } catch {
    throw unreachable(`The answer ${reply.status} is not the controller's. Is a proxy in between?`)
  }
  if (reply.status === 401 && csrf) {
    csrf = ''
    signedOut()
  }
  throw new Problem(body)
}

async function call<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  const reply = await send(method, path, body, headers)
  const date = Date.parse(reply.headers.get('Date') ?? '')
  if (date) skew = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0
  if (!reply.ok) await refuse(reply)
  const tag = reply.headers.get('ETag')
  if (tag && method === 'GET') etags.set(path, tag)
  return (reply.status === 204 ? undefined : await reply.json()) as T
}

export const get = <T>(path: string) => call<T>('GET', path)

/** The same POST sent twice makes one object. */
export const post = <T>(path: string, body: unknown = {}) => call<T>('POST', path, body, { 'Idempotency-Key': crypto.randomUUID() })

/** The version of an object as it is now. */
export async function versionOf(path: string): Promise<string | undefined> {
  await get(path)
  return etags.get(path)
}

/** Writes say which version they mean: the one given, which a form began with, or the one last read. A lost update is refused, not made. */
async function guarded<T>(method: string, path: string, body?: unknown, version?: string): Promise<T> {
  const tag = version ?? etags.get(path) ?? await versionOf(path)
  etags.delete(path)
  return call<T>(method, path, body, tag ? { 'If-Match': tag } : {})
}
export const patch = <T>(path: string, body: unknown, version?: string) => guarded<T>('PATCH', path, body, version)
export const put = <T>(path: string, body: unknown, version?: string) => guarded<T>('PUT', path, body, version)
export const del = (path: string) => guarded<void>('DELETE', path)

/** All pages of a list. */
export async function list<T>(path: string): Promise<T[]> {
  const items: T[] = []
  let cursor: string | null = null
  do {
    const more: string = (path.includes('?') ? '&' : '?') + 'limit=1000' + (cursor ? `&cursor=${encodeURIComponent(cursor)}` : '')
    const page: { items: T[]; next_cursor: string | null } = await get(path + more)
    items.push(...page.items)
    cursor = page.next_cursor
  } while (cursor)
  return items
}

export async function signIn(token: string): Promise<void> {
  csrf = (await call<Session>('POST', '/api/v1/sessions', { token })).csrf_token
}

export async function signOut(): Promise<void> {
  await call<void>('DELETE', '/api/v1/sessions/current')
  csrf = ''
}

export async function whoAmI(): Promise<WhoAmI> {
  const me = await get<WhoAmI>('/api/v1/whoami')
  csrf = me.csrf_token ?? ''
  role = roles.indexOf(me.role)
  return me
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

const roles = ['viewer', 'operator', 'admin']
let role = 0

/** Operations that this controller serves, and the least role for each: what it lacks is not shown, what the role may not do is not offered. */
let served = new Map<string, number>()
export async function learnPaths(): Promise<void> {
  const document = await get<{ paths: Record<string, Record<string, { 'x-hawser-role'?: string }>> }>('/api/v1/openapi.json')
  const least = (method: string, stated: string | undefined) => Math.max(0, roles.indexOf(stated ?? (method === 'get' ? 'viewer' : 'operator')))
  served = new Map(Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item).map(([m, o]) => [`${m.toUpperCase()} ${path}`, least(m, o['x-hawser-role'])])))
}
export const serves = (path: string, method: Method = 'GET') => served.has(`${method} /api/v1${path}`)

/** Whether who is signed in may do it; ids stand for themselves. */
export function may(method: Method, path: string): boolean {
  const form = path.replace(/^\/api\/v1/, '').split('/').map((part) => (/^[0-9a-f-]{36}$/.test(part) ? '{id}' : part)).join('/')
  const least = served.get(`${method} /api/v1${form}`) ?? served.get(`${method} /api/v1${form.replace(/\{id\}$/, '{rule_id}')}`)
  return least !== undefined && role >= least
}
