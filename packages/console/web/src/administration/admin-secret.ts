import { useSyncExternalStore } from 'react';
import { type ClientOptions, createClient, fetchTransport } from '@baton/sdk';
import { baton } from '../client.ts';
import { withFreshSignIn } from '../passkeys/fresh-sign-in.ts';
import { queries } from '../queries.ts';
import { serverNow } from '../server-clock.ts';

/**
 * The identity service's administration, unlocked with the person's own sign-in or with the admin secret. Only this
 * file holds the token or the secret.
 */
export interface Administration {
  /** Unlocked with the admin secret, which also covers what is reserved for the operator. */
  readonly isOperator: boolean;
  readonly identity: ReturnType<typeof createClient>['identity'];
  /** The issuer of access tokens, needed to admit principals to the coordination service. */
  readonly issuer: string;
  readonly tenantId: string;
  /** Whether a request needs no new token. One that needs a token may lock the administration or prompt the person. */
  isReady(): boolean;
  /** @returns the response and the cursor of the next page, from its Link header */
  withNext<Item>(
    call: (identity: Administration['identity']) => Promise<readonly Item[]>,
  ): Promise<{ items: readonly Item[]; next: string | undefined }>;
}

const idleMsMax = 15 * 60_000;
const idleCheckMs = 10_000;
const signsOfLife = ['pointerdown', 'keydown', 'wheel'] as const;

let current: Administration | undefined;
let stop: () => void = () => undefined;
const listeners = new Set<() => void>();

function set(next: Administration | undefined): void {
  stop();
  stop = () => undefined;
  current = next;
  // Cached responses that required the secret are removed together with it.
  if (next === undefined) queries.removeQueries({ queryKey: ['administration'] });
  for (const listener of listeners) listener();
}

let isLockKept = false;

/** Discards the admin secret or the token, and every response that required it. */
export function lockAdministration(): void {
  isLockKept = false;
  if (current !== undefined) set(undefined);
}

/** Locks the administration at the person's request. Their recent sign-in doesn't unlock it again automatically. */
export function keepAdministrationLocked(): void {
  isLockKept = true;
  if (current !== undefined) set(undefined);
}

/** Whether the person has locked the administration since it was last unlocked. */
export const isKeptLocked = (): boolean => isLockKept;

/**
 * Locks the administration only if `opened` still unlocks it: in the meantime, it may have been unlocked in the other
 * way.
 */
function lockOne(opened: Administration | undefined): void {
  if (opened !== undefined && opened === current) set(undefined);
}

/**
 * Unlocks the administration once the identity service has accepted the secret. The secret is discarded after 15
 * minutes of inactivity, when the page is left, and as soon as the identity service rejects it.
 * @throws BatonError if the identity service rejects the secret
 */
export async function openAdministration(adminSecret: string): Promise<void> {
  await open({ adminSecret }, () => true, lockOne);
}

let opening: Promise<void> | undefined;

/**
 * Unlocks the administration for an administrator who has signed in within the last five minutes. The token is renewed
 * while that sign-in is recent; then the administration is locked again, unless the person confirms it. Several gates
 * of a page share one pending request.
 * @param renew runs the first request for a token; by default it lets the person sign in again if that is necessary
 * @throws BatonError `fresh_sign_in_required` and the other refusals of the request
 */
export function openOwnAdministration(renew: Renew = withFreshSignIn): Promise<void> {
  opening ??= openByToken(renew).finally(() => {
    opening = undefined;
  });
  return opening;
}

/** A list may be read again at any time, so only a change, which a person has begun, opens the passkey dialog. */
const renewForActs: Renew = (request) => (queries.isMutating() > 0 ? withFreshSignIn(request) : request());

async function openByToken(renew: Renew): Promise<void> {
  let run = renew;
  let opened: Administration | undefined;
  // The clients for all lists share one token.
  let held: HeldToken | undefined;
  let requested: Promise<HeldToken> | undefined;
  function request(): Promise<HeldToken> {
    requested ??= run(requestToken)
      .catch((error: unknown) => {
        lockOne(opened);
        throw error;
      })
      .finally(() => {
        requested = undefined;
      });
    return requested;
  }
  const own = {
    async administrationToken() {
      if (held === undefined || held.endsAtMs <= serverNow()) held = await request();
      return { accessToken: held.token, expiresIn: (held.endsAtMs - serverNow()) / 1000 };
    },
  };
  const isReady = () => held !== undefined && held.endsAtMs > serverNow();
  opened = await open(own, isReady, () => {
    held = undefined;
  });
  run = renewForActs;
}

interface HeldToken {
  readonly token: string;
  readonly endsAtMs: number;
}

export type Renew = (request: () => Promise<HeldToken>) => Promise<HeldToken>;

async function requestToken(): Promise<HeldToken> {
  const { token, expiresAt } = await baton.identityAdministrationTokens.create();
  return { token, endsAtMs: Date.parse(expiresAt) };
}

/**
 * @returns undefined if the administration has been unlocked meanwhile with the admin secret, which covers more than
 * a token does
 */
async function open(
  credential: Pick<ClientOptions, 'adminSecret' | 'administrationToken'>,
  isReady: () => boolean,
  onRejected: (opened: Administration | undefined) => void,
): Promise<Administration | undefined> {
  const isOperator = credential.adminSecret !== undefined;
  let opened: Administration | undefined;
  const { iss, tenant_id: tenantId } = claimsIn((await baton.accessToken?.get()) ?? '');
  const clientOf = (onLink: (link: string | null) => void) =>
    createClient({
      url: location.origin,
      ...credential,
      transport: async (request) => {
        const answer = await fetchTransport(request);
        onLink(answer.headers.get('link'));
        if (answer.status === 401) onRejected(opened);
        return answer;
      },
    }).identity;
  const identity = clientOf(() => undefined);
  await identity.tenants.get(tenantId, { attempts: 1, deadlineMs: 15_000 });
  if (current?.isOperator && !isOperator) return undefined;
  opened = {
    isOperator,
    identity,
    tenantId,
    issuer: iss,
    isReady,
    async withNext(call) {
      let next: string | undefined;
      const items = await call(
        clientOf((link) => {
          next = new URLSearchParams(/^<\?([^>]*)>/.exec(link ?? '')?.[1]).get('after') ?? undefined;
        }),
      );
      return { items, next };
    },
  };
  isLockKept = false;
  set(opened);
  stop = lockWhenIdle();
  return opened;
}

/** Timers may stop while a computer sleeps, so each one compares the clock too. */
function lockWhenIdle(): () => void {
  let seenAtMs = Date.now();
  const isIdle = () => Date.now() - seenAtMs >= idleMsMax;
  const check = () => isIdle() && lockAdministration();
  const seen = () => {
    if (isIdle()) lockAdministration();
    else seenAtMs = Date.now();
  };
  const timer = setInterval(check, idleCheckMs);
  for (const sign of signsOfLife) addEventListener(sign, seen, { capture: true, passive: true });
  document.addEventListener('visibilitychange', check);
  addEventListener('pagehide', lockAdministration);
  return () => {
    clearInterval(timer);
    for (const sign of signsOfLife) removeEventListener(sign, seen, { capture: true });
    document.removeEventListener('visibilitychange', check);
    removeEventListener('pagehide', lockAdministration);
  };
}

/** The administration while it is unlocked. */
export function useAdministration(): Administration | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

/** Decodes the claims of an access token. The services verify the token; the page only reads it. */
function claimsIn(token: string): { readonly iss: string; readonly tenant_id: string } {
  const part = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  return JSON.parse(atob(part));
}
