import { randomUUID } from 'node:crypto';
import type { Home } from '../home.ts';
import type { DatabasePlaces } from '../home-databases.ts';
import { readPrivateFile, writePrivateFile } from '../private-files.ts';

/** How far the bootstrap has got, so that the next start can finish an interrupted one. */
export interface BootstrapState {
  readonly tenantId: string;
  /** Chosen by the first start. Principals are bound to it, so a later start on another port must not change it. */
  issuer: string;
  /** The administrator as a principal of identity. */
  principalId?: string;
  /** The idempotency key of a token that has been requested but not stored yet. */
  tokenKey?: string;
  /** The administrator as a principal of coordination. */
  adminPrincipalId?: string;
  /** Absent in files from older versions. */
  databases?: DatabasePlaces;
}

/** Reads the state; the first start chooses the tenant's id and the issuer. */
export function openState(home: Home, firstIssuer: string): BootstrapState {
  const text = readPrivateFile(home.path('state.json'));
  if (text !== undefined) return JSON.parse(text) as BootstrapState;
  const state: BootstrapState = { tenantId: randomUUID(), issuer: firstIssuer };
  saveState(home, state);
  return state;
}

export function saveState(home: Home, state: BootstrapState): void {
  writePrivateFile(home.path('state.json'), `${JSON.stringify(state, undefined, 2)}\n`);
}
