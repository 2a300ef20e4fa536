import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from '../../context.ts';

/** The client as it is shown to people. */
export interface ShownClient {
  readonly id: string;
  readonly name: string;
  readonly uri: string | null;
}

/** An access token that was signed for the request. */
export interface MintedToken {
  readonly accessToken: string;
  readonly expiresIn: number;
  readonly scope: readonly string[];
}

/** What a request passes to the callbacks of the provider library, and gets from them. */
export interface ProviderState {
  readonly context: Context;
  /** The authorization request: written when one begins, present when one is resumed. */
  interaction?: { readonly uid: string; readonly payload: Record<string, unknown> };
  client?: ShownClient;
  /** The client's document couldn't be fetched now; the client may still publish it. */
  isDocumentMissing?: boolean;
  /** The code or refresh token that was found last. */
  found?: Record<string, unknown>;
  /** The scopes that a refresh requests; all of the grant by default. */
  scopes?: readonly string[];
  /** The resource that the token request names; undefined if it names none. */
  resource?: string;
  minted?: MintedToken;
  /** One of our refusals, which the library would turn into a server error. */
  failure?: unknown;
}

export const providerState = new AsyncLocalStorage<ProviderState>();

export function currentState(): ProviderState {
  const state = providerState.getStore();
  if (state === undefined) throw new Error('The provider library was called outside of a request.');
  return state;
}
