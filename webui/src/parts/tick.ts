import { useEffect, useReducer } from 'preact/hooks'

const watchers = new Set<() => void>()
setInterval(() => { for (const f of watchers) f() }, 1000)

/** Draws anew each second: for ages. */
export function useTick() {
  const [, draw] = useReducer((n: number) => n + 1, 0)
  useEffect(() => {
    const f = () => draw(undefined as never)
    watchers.add(f)
    return () => { watchers.delete(f) }
  }, [])
}
