// Who is signed in, and what they may do. The server checks it all again: buttons are hidden for calm, not for safety.
import { api } from "./api.js";
import { shared } from "./store.js";

const me = shared(/** @type {Api.Session | null} */ (null));

/** Ask the server who this is; before the first screen is shown. */
export async function loadSession() {
  me.set(await api.get("/tokens/self"));
}

/** Who this is, once `loadSession` has ended; a tenant of `*` is all of them. */
export const useSession = () => /** @type {Api.Session} */ (me.use());

/**
 * Whether the scope is given.
 * @param {Api.Scope} scope
 */
export function useMay(scope) {
  return me.use()?.may.includes(scope) ?? false;
}
