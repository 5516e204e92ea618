import type { WhoAmI } from '../api/types'

let me: WhoAmI | undefined

/** Whose session this is. */
export const whoIsHere = () => me
export const setWhoIsHere = (who: WhoAmI | undefined) => { me = who }
