import { useEffect, useRef, useState } from 'preact/hooks'
import { signIn } from '../api/client'
import { Text, loose, useSubmit } from '../parts/form'
import { ProblemBox } from '../parts/messages'
import { Mark } from './mark'

export function SignIn({ done }: { done: () => Promise<void> }) {
  const [token, setToken] = useState('')
  const submit = useSubmit()
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    document.title = 'Sign in – Hawser'
    form.current?.querySelector('input')?.focus()
  }, [])
  return (
    <main class="sign-in">
      <form ref={form} class="card" onSubmit={(e) => {
        e.preventDefault()
        submit.run(async () => {
          await signIn(token.trim())
          await done()
        })
      }}>
        <h1 class="brand"><Mark />Hawser</h1>
        <Text label="API token" name="token" type="password" value={token} set={setToken} required problem={submit.problem}
          help={<>An API key: the first is printed by <code>hawser-controller bootstrap</code>, others are made under Settings. It begins with <code>hwa1.</code></>} />
        <ProblemBox problem={loose(submit.problem, ['token'])} />
        <button class="primary" disabled={submit.busy || !token.trim()}>{submit.busy ? 'Signing in…' : 'Sign in'}</button>
      </form>
    </main>
  )
}
