import { randomUUID } from 'node:crypto';
import type { Home } from '../home.ts';
import { readPrivateFile, writePrivateFile } from '../private-files.ts';

/** What the founding has reached so far: a start that was killed in the middle is finished by the next one. */
export interface FoundingState {
  readonly tenantId: string;
  /** Decided once: people and agents are bound to it, so a later start on another port must not change it. */
  issuer: string;
  /** The administrator as a principal of identity. */
  principalId?: string;
  /** The idempotency key of a token that is being issued and has not been stored yet. */
  tokenKey?: string;
  /** The administrator as a principal of coordination. */
  adminPrincipalId?: string;
}

/** Reads the state, deciding tenant and issuer at the first start. */
export function openState(home: Home, firstIssuer: string): FoundingState {
  const text = readPrivateFile(home.path('state.json'));
  if (text !== undefined) return JSON.parse(text) as FoundingState;
  const state: FoundingState = { tenantId: randomUUID(), issuer: firstIssuer };
  saveState(home, state);
  return state;
}

export function saveState(home: Home, state: FoundingState): void {
  writePrivateFile(home.path('state.json'), `${JSON.stringify(state, undefined, 2)}\n`);
}
