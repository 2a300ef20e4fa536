import { useSyncExternalStore } from 'react';
import { createClient, fetchTransport } from '@baton/sdk';
import { baton } from '../client.ts';
import { queries } from '../queries.ts';

/** Identity's administration, opened by the admin secret, which nothing outside of this file holds. */
export interface Administration {
  readonly identity: ReturnType<typeof createClient>['identity'];
  /** Whom access tokens name, for those that are admitted to coordination. */
  readonly issuer: string;
  readonly tenantId: string;
  /** @returns what the call answers, with the cursor of the next page that stands in its Link header */
  withNext<Item>(
    call: (identity: Administration['identity']) => Promise<readonly Item[]>,
  ): Promise<{ items: readonly Item[]; next: string | undefined }>;
}

const idleMsMax = 15 * 60_000;
const lookEveryMs = 10_000;
const signsOfLife = ['pointerdown', 'keydown', 'wheel'] as const;

let current: Administration | undefined;
let stop: () => void = () => undefined;
const listeners = new Set<() => void>();

function set(next: Administration | undefined): void {
  stop();
  stop = () => undefined;
  current = next;
  // What was read under the secret goes with it.
  if (next === undefined) queries.removeQueries({ queryKey: ['administration'] });
  for (const listener of listeners) listener();
}

/** The secret is forgotten, and with it all that was read under it. */
export function forgetAdministration(): void {
  if (current !== undefined) set(undefined);
}

/**
 * Opens the administration with this secret, once identity has taken it. It is forgotten after 15 minutes without a sign of
 * life, when the page is left, and as soon as identity refuses it.
 * @throws BatonError where identity refuses the secret
 */
export async function openAdministration(secret: string): Promise<void> {
  const { iss, tenant_id: tenantId } = claimsIn((await baton.accessToken?.get()) ?? '');
  const clientOf = (onLink: (link: string | null) => void) =>
    createClient({
      url: location.origin,
      adminSecret: secret,
      transport: async (request) => {
        const answer = await fetchTransport(request);
        onLink(answer.headers.get('link'));
        if (answer.status === 401) forgetAdministration();
        return answer;
      },
    }).identity;
  const identity = clientOf(() => undefined);
  await identity.tenants.get(tenantId, { attempts: 1, deadlineMs: 15_000 });
  set({
    identity,
    tenantId,
    issuer: iss,
    async withNext(call) {
      let next: string | undefined;
      const items = await call(
        clientOf((link) => {
          next = new URLSearchParams(/^<\?([^>]*)>/.exec(link ?? '')?.[1]).get('after') ?? undefined;
        }),
      );
      return { items, next };
    },
  });
  stop = forgetWhenIdle();
}

/** The clock goes on while a computer sleeps, timers may not: both are looked at. */
function forgetWhenIdle(): () => void {
  let seenAtMs = Date.now();
  const isIdle = () => Date.now() - seenAtMs >= idleMsMax;
  const look = () => isIdle() && forgetAdministration();
  const seen = () => {
    if (isIdle()) forgetAdministration();
    else seenAtMs = Date.now();
  };
  const timer = setInterval(look, lookEveryMs);
  for (const sign of signsOfLife) addEventListener(sign, seen, { capture: true, passive: true });
  document.addEventListener('visibilitychange', look);
  addEventListener('pagehide', forgetAdministration);
  return () => {
    clearInterval(timer);
    for (const sign of signsOfLife) removeEventListener(sign, seen, { capture: true });
    document.removeEventListener('visibilitychange', look);
    removeEventListener('pagehide', forgetAdministration);
  };
}

/** The administration while it is open. */
export function useAdministration(): Administration | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

/** What an access token says; the services check it, a page only reads it. */
function claimsIn(token: string): { readonly iss: string; readonly tenant_id: string } {
  const part = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  return JSON.parse(atob(part));
}
